package report

import (
	"strings"
	"unicode/utf8"

	"github.com/redoubt/redoubt"
	"github.com/redoubt/redoubt/internal/report/read"
)

// cleaner takes secrets out of what a report holds.
type cleaner struct {
	redactor     *redactor
	names, texts *strings.Replacer
	rules        map[*redoubt.Rule]bool // cleaned already
}

func (c cleaner) report(rep *redoubt.Report) {
	for _, rule := range rep.Rules {
		c.rule(rule)
	}
	for i := range rep.Results {
		c.result(&rep.Results[i])
		c.rule(rep.Results[i].Rule)
	}
	for i := range rep.Inventories {
		c.inventory(&rep.Inventories[i])
	}
	for i := range rep.VEX {
		c.vex(&rep.VEX[i])
	}
	for i := range rep.Refused {
		clean(c.texts, read.MaxName, &rep.Refused[i].Reason)
	}
	for i := range rep.Gaps {
		clean(c.names, uncut, &rep.Gaps[i].What, &rep.Gaps[i].Rule)
	}
	clean(c.names, read.MaxName, &rep.ToolVersion, &rep.Category, &rep.Commit)
	cleanAll(c.names, read.MaxName, rep.RulesRun)
	cleanAll(c.names, uncut, rep.Searched, rep.Skipped, rep.Unresolved)
}

func (c cleaner) inventory(inventory *redoubt.Inventory) {
	clean(c.names, uncut, &inventory.Lockfile)
	for i := range inventory.Dependencies {
		cleanDependency(&inventory.Dependencies[i], func(s string) string {
			clean(c.names, read.MaxName, &s)
			return s
		})
	}
}

func (c cleaner) vex(d *redoubt.VEXDocument) {
	clean(c.names, read.MaxName, &d.Author)
	for i := range d.Statements {
		s := &d.Statements[i]
		clean(c.texts, read.MaxBlock, &s.Detail)
		if s.Own != nil {
			clean(c.texts, read.MaxBlock, &s.Own.Comment)
		}
	}
}

func (c cleaner) result(res *redoubt.Result) {
	code := res.Code
	clean(c.texts, read.MaxBlock, &res.Message, &res.Code)
	if res.Code != code {
		c.redactor.hideHash(res)
	}
	clean(c.names, uncut, &res.Path)
	clean(c.names, read.MaxName, &res.MatchBasedID, &res.Fingerprint)
	for i := range res.DataFlow {
		clean(c.names, uncut, &res.DataFlow[i].Path)
		clean(c.texts, read.MaxBlock, &res.DataFlow[i].Content)
	}
	if res.Secret != nil {
		clean(c.names, read.MaxName, &res.Secret.Commit)
	}
	if d := res.Dependency; d != nil {
		clean(c.names, uncut, &d.Lockfile)
		clean(c.names, read.MaxName, &d.Package, &d.Version, &d.Vulnerability, &d.Condition)
		for i := range d.Fixes {
			clean(c.names, read.MaxName, &d.Fixes[i].Package, &d.Fixes[i].Version)
		}
	}
}

func (c cleaner) rule(rule *redoubt.Rule) {
	if c.rules[rule] {
		return
	}
	c.rules[rule] = true
	name := rule.Name
	clean(c.names, read.MaxBlock, &rule.Message)
	clean(c.names, read.MaxName, &rule.Name, &rule.Category, &rule.URL, &rule.SecretType)
	cleanAll(
		c.names, read.MaxName, rule.Subcategories, rule.VulnerabilityClasses, rule.CWE, rule.OWASP, rule.Technologies,
		rule.Languages, rule.References, rule.Rulesets,
	)
	if rule.Name != name && rule.SecretType != "" {
		rule.SecretType = secretTypeOf(rule.Name) // which was made of a part of the name
	}
}

// uncut is the limit of strings that are refused rather than cut.
const uncut = 1 << 30

// clean takes secrets out of strings that were cut at a limit. One that reaches
// the limit may end inside of a secret, so that no piece of it is found there:
// as much as a piece goes from its end.
func clean(r *strings.Replacer, limit int, fields ...*string) {
	for _, s := range fields {
		reached := len(*s) > limit-utf8.UTFMax
		*s = joined(r.Replace(*s))
		if reached {
			*s = read.Cut(*s, max(len(*s)-maxPiece, 0)) + redacted
		}
	}
}

// joined makes one mark of those of the pieces of a secret.
func joined(s string) string {
	for strings.Contains(s, redacted+redacted) {
		s = strings.ReplaceAll(s, redacted+redacted, redacted)
	}
	return s
}

func cleanAll(r *strings.Replacer, limit int, lists ...[]string) {
	for _, list := range lists {
		for i := range list {
			clean(r, limit, &list[i])
		}
	}
}
