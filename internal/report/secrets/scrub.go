package secrets

import (
	"unicode/utf8"

	"github.com/redoubt/redoubt/internal/model"
	"github.com/redoubt/redoubt/internal/redact"
	"github.com/redoubt/redoubt/internal/report/read"
)

// Cleaner cleans all external strings of a report. Names include paths, ids and addresses; texts
// are longer.
type Cleaner struct {
	redactor *Redactor
	// ID cleans identifiers, which may contain words that are secrets elsewhere.
	ID, Name, Text func(limit int, s *string)
	containsSecret func(code string) bool     // reports whether code contains a definite secret; nil: always
	label          func(limit int, s *string) // cleans rule names, as policies serve them; nil: Name
	Rules          map[*model.Rule]bool       // rules that were already cleaned
}

func (c Cleaner) ids(fields ...*string) {
	c.each(uncut, c.ID, fields)
}

func (c Cleaner) names(limit int, fields ...*string) {
	c.each(limit, c.Name, fields)
}

func (c Cleaner) texts(limit int, fields ...*string) {
	c.each(limit, c.Text, fields)
}

// each cleans strings.
func (c Cleaner) each(limit int, clean func(int, *string), fields []*string) {
	for _, s := range fields {
		clean(limit, s)
	}
}

func (c Cleaner) lists(limit int, lists ...[]string) {
	for _, list := range lists {
		for i := range list {
			c.Name(limit, &list[i])
		}
	}
}

func (c Cleaner) report(rep *model.Report) {
	for _, rule := range rep.Rules {
		c.Rule(rule)
	}
	for i := range rep.Results {
		c.result(&rep.Results[i])
		c.Rule(rep.Results[i].Rule)
	}
	for i := range rep.Inventories {
		c.inventory(&rep.Inventories[i])
	}
	for i := range rep.VEX {
		c.vex(&rep.VEX[i])
	}
	for i := range rep.Refused {
		c.names(read.MaxName, &rep.Refused[i].Item)
		c.texts(read.MaxName, &rep.Refused[i].Reason)
	}
	for i := range rep.Gaps {
		c.names(uncut, &rep.Gaps[i].What, &rep.Gaps[i].Rule)
	}
	for i := range rep.Partial {
		c.names(uncut, &rep.Partial[i].Path)
	}
	c.ids(&rep.Tool)
	c.names(read.MaxName, &rep.ToolVersion, &rep.Category, &rep.Image, &rep.Commit)
	c.lists(read.MaxName, rep.RulesRun)
	c.lists(uncut, rep.Searched, rep.Skipped, rep.Unresolved)
}

func (c Cleaner) inventory(inventory *model.Inventory) {
	c.names(uncut, &inventory.Lockfile)
	for i := range inventory.Dependencies {
		c.ids(&inventory.Dependencies[i].Ecosystem, &inventory.Dependencies[i].Via.Ecosystem)
		cleanDependency(&inventory.Dependencies[i], func(s string) string {
			c.Name(read.MaxName, &s)
			return s
		})
	}
}

func (c Cleaner) vex(d *model.VEXDocument) {
	c.names(read.MaxName, &d.Name, &d.Author, &d.File)
	for i := range d.Statements {
		s := &d.Statements[i]
		c.lists(read.MaxName, s.Names, s.Product)
		for k := range s.Packages {
			c.names(read.MaxName, &s.Packages[k].Key, &s.Packages[k].Version)
		}
		c.names(read.MaxName, &s.Justification)
		c.texts(read.MaxBlock, &s.Detail)
		if s.Own != nil {
			c.texts(read.MaxBlock, &s.Own.Comment)
		}
	}
}

func (c Cleaner) result(res *model.Result) {
	code := res.Code
	c.texts(read.MaxBlock, &res.Message, &res.Code)
	if res.Code != code && (c.containsSecret == nil || c.containsSecret(code)) {
		c.redactor.hideHash(res)
	}
	c.names(uncut, &res.Path)
	c.ids(&res.Item, &res.SyntacticID, &res.CodeHash, &res.PatternHash, &res.StartHash, &res.EndHash)
	c.names(read.MaxName, &res.MatchBasedID, &res.Fingerprint)
	for i := range res.DataFlow {
		c.names(uncut, &res.DataFlow[i].Path)
		c.texts(read.MaxBlock, &res.DataFlow[i].Content)
	}
	if res.Secret != nil {
		c.names(read.MaxName, &res.Secret.Commit)
	}
	if d := res.Dependency; d != nil {
		c.ids(&d.Ecosystem)
		c.names(uncut, &d.Lockfile)
		c.names(read.MaxName, &d.Package, &d.Version, &d.Vulnerability, &d.Condition)
		for i := range d.Fixes {
			c.names(read.MaxName, &d.Fixes[i].Package, &d.Fixes[i].Version)
		}
	}
}

// Rule removes secrets from the texts of a rule.
func (c Cleaner) Rule(rule *model.Rule) {
	if c.Rules[rule] {
		return
	}
	c.Rules[rule] = true
	if c.label != nil {
		c.Name = c.label
	}
	name := rule.Name
	c.texts(read.MaxBlock, &rule.Message)
	c.names(read.MaxName, &rule.Name, &rule.Category, &rule.URL, &rule.SecretType)
	c.lists(
		read.MaxName, rule.Subcategories, rule.VulnerabilityClasses, rule.CWE, rule.OWASP, rule.Technologies,
		rule.Languages, rule.References, rule.Rulesets,
	)
	if rule.Name != name && rule.SecretType != "" {
		rule.SecretType = SecretTypeOf(rule.Name) // the secret type contains a part of the name
	}
}

// uncut is the limit of strings that are refused instead of truncated.
const uncut = 1 << 30

// redacting returns a function that removes phrases from strings, which may be truncated at a
// limit. The end of a truncated string may be a partial secret, so up to MaxPiece bytes are
// removed.
func redacting(p *redact.Known) func(limit int, s *string) {
	return func(limit int, s *string) {
		reached := len(*s) > limit-utf8.UTFMax
		*s = redact.Joined(p.Redact(*s))
		if reached {
			*s = model.CutBytes(*s, max(len(*s)-MaxPiece, 0)) + Redacted
		}
	}
}
