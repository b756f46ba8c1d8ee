package ingest

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/redoubt/redoubt"
)

// Reading is what was read of an upload and freed of secrets, by what was known
// before the transaction: the store may tell of more rules that look for them
// (semantics §16).
type Reading interface {
	// Reports returns a report for each source. Known tells which rules of a tool
	// look for secrets, beyond what was known when the reading was cleaned.
	Reports(known func(tool, rule string) bool) []*redoubt.Report
	// Conceal turns results of a tool's rules that were findings of code into
	// what they are now that the rules look for secrets. Codes are the hashes of
	// their code, as stored.
	Conceal(tool string, results []redoubt.Result, codes []redoubt.Digest)
}

// SecretRuleStore tells which rules look for secrets, by tool and name, and whether
// what is stored of their findings was rewritten since that is known.
type SecretRuleStore interface {
	SecretRules(ctx context.Context) (map[redoubt.SecretRule]bool, error)
}

// KnownSecretRules asks which rules look for secrets, for cleaning an upload before
// the transaction that takes it in.
func KnownSecretRules(ctx context.Context, s SecretRuleStore) (known func(tool, rule string) bool, err error) {
	rules, err := s.SecretRules(ctx)
	return isAmong(rules), err
}

func isAmong(rules map[redoubt.SecretRule]bool) func(tool, rule string) bool {
	return func(tool, rule string) bool {
		_, ok := rules[redoubt.SecretRule{Tool: canonicalTool(tool), Name: rule}]
		return ok
	}
}

// ResolveSecrets returns the reports of a reading by what is known of rules, and rewrites what is stored
// by what it tells of them: findings of code of a rule that proves to look for
// secrets become secrets, with their ids, dates and triage, and nothing that
// could be guessed from stays of them. Every upload is read through it, in the
// transaction that takes it in; what takes long of it was done before.
func ResolveSecrets(ctx context.Context, s Store, reading Reading) ([]*redoubt.Report, error) {
	known, err := s.SecretRules(ctx)
	if err != nil {
		return nil, err
	}
	reports := reading.Reports(isAmong(known))
	c := concealment{s: s, reading: reading, told: map[redoubt.SecretRule]*redoubt.Rule{}}
	var fresh []redoubt.SecretRule
	for _, report := range reports {
		for _, rule := range rulesOf(report) {
			key := redoubt.SecretRule{Tool: canonicalTool(report.Tool), Name: rule.Name}
			if rule.IssueType == redoubt.Secrets && c.told[key] == nil {
				c.told[key] = rule
				if _, again := known[key]; !again {
					fresh = append(fresh, key)
				}
			}
		}
	}
	for key, settled := range known {
		if !settled {
			fresh = append(fresh, key)
		}
	}
	if len(fresh) == 0 {
		return reports, nil
	}
	slices.SortFunc(fresh, func(a, b redoubt.SecretRule) int {
		return cmp.Or(strings.Compare(a.Tool, b.Tool), strings.Compare(a.Name, b.Name))
	})
	if err := c.run(ctx, fresh); err != nil {
		return nil, fmt.Errorf("rewrite findings of rules that look for secrets: %w", err)
	}
	return reports, s.PutSecretRules(ctx, fresh)
}

func rulesOf(report *redoubt.Report) []*redoubt.Rule {
	if report == nil {
		return nil
	}
	return slices.DeleteFunc(slices.Clone(report.Rules), func(r *redoubt.Rule) bool { return r == nil || !redoubt.IsStorable(r.Name) || r.Name == "" })
}

// concealment makes secrets of stored findings of code.
type concealment struct {
	s       Store
	reading Reading
	told    map[redoubt.SecretRule]*redoubt.Rule // as the upload describes them
}

// concealed is a stored finding on its way to be one of a secret.
type concealed struct {
	*redoubt.FindingWrite
	was      redoubt.Identity // of the code
	secret   redoubt.Identity // of the secret, which another row may have
	body     redoubt.Body
	evidence Evidence
	result   redoubt.Result
}

func (c *concealment) run(ctx context.Context, rules []redoubt.SecretRule) error {
	rows, err := c.s.CodeFindings(ctx, rules)
	if err != nil || len(rows) == 0 {
		return err
	}
	type stream struct {
		project     int64
		ref, source string
	}
	byProject, streams := map[int64][]*concealed{}, map[stream][]*concealed{}
	for i := range rows {
		f, err := c.read(ctx, &rows[i])
		if err != nil {
			return err
		}
		on := stream{f.ProjectID, f.Ref, f.Source}
		streams[on] = append(streams[on], f)
		byProject[on.project] = append(byProject[on.project], f)
	}
	for on, list := range streams {
		beside, err := c.s.Findings(ctx, on.project, on.ref, on.source)
		if err != nil {
			return err
		}
		if err := c.identify(list, beside); err != nil {
			return err
		}
	}
	for project, list := range byProject {
		if err := c.write(ctx, project, list); err != nil {
			return err
		}
	}
	return nil
}

// read gathers what is stored of a finding into the result that it came as.
func (c *concealment) read(ctx context.Context, w *redoubt.FindingWrite) (*concealed, error) {
	f := &concealed{FindingWrite: w}
	if err := json.Unmarshal([]byte("{"+string(w.Body)+"}"), &f.body); err != nil {
		return nil, fmt.Errorf("the body of finding %d: %w", w.ID, err)
	}
	if len(w.Evidence) > 0 {
		if err := json.Unmarshal(w.Evidence, &f.evidence); err != nil {
			return nil, fmt.Errorf("the evidence of finding %d: %w", w.ID, err)
		}
	}
	key := redoubt.SecretRule{Tool: toolOf(w.Source), Name: w.RuleName}
	rule := c.told[key]
	if rule == nil {
		rule = &redoubt.Rule{Name: w.RuleName, IssueType: redoubt.Secrets, Severity: w.Severity, Confidence: w.Confidence}
		c.told[key] = rule
	}
	ids, err := c.s.PutRules(ctx, []*redoubt.Rule{rule})
	if err != nil {
		return nil, err
	}
	w.RuleID = ids[0]
	at := f.body.Location
	f.result = redoubt.Result{
		Rule: rule, Path: w.Path, Severity: w.Severity, Confidence: w.Confidence, Code: f.evidence.Code,
		Location: redoubt.Location{Line: at.Line, Column: at.Column, EndLine: at.EndLine, EndColumn: at.EndColumn},
		Muted:    w.State == redoubt.Muted, Blocking: f.evidence.Blocking,
	}
	if f.body.RuleMessage != nil {
		f.result.Message = *f.body.RuleMessage
	}
	return f, nil
}

func toolOf(source string) string {
	tool, _, _ := strings.Cut(source, ":")
	return tool
}

// identify gives the findings of one stream the identities that their next
// report will have. Several that prove to be one secret become one: the first,
// or the one that is there already; the others are removed.
func (c *concealment) identify(list []*concealed, beside []redoubt.Finding) error {
	results, codes := make([]redoubt.Result, len(list)), make([]redoubt.Digest, len(list))
	for i, f := range list {
		results[i], codes[i] = f.result, f.CodeHash
	}
	c.reading.Conceal(toolOf(list[0].Source), results, codes)
	for i, f := range list {
		f.result = results[i]
	}
	o := observer{tool: toolOf(list[0].Source), ordinals: map[redoubt.Digest]int64{}}
	slices.SortFunc(list, func(a, b *concealed) int {
		return cmp.Or(compareFlags(live(b.State), live(a.State)),
			byPosition(digestedResult{&a.result, redoubt.Digest{}}, digestedResult{&b.result, redoubt.Digest{}}), cmp.Compare(a.ID, b.ID))
	})
	taken := make(map[redoubt.Identity]bool, len(beside))
	for i := range beside {
		taken[beside[i].Identity] = true
	}
	for _, f := range list {
		id := o.identity(&f.result, o.codeHash(&f.result))
		if taken[id] {
			f.State = redoubt.StateRemoved
		}
		if err := f.rewriteAs(&o, id, taken[id]); err != nil {
			return err
		}
		taken[id] = true
	}
	return nil
}

func compareFlags(a, b bool) int {
	switch {
	case a == b:
		return 0
	case a:
		return 1
	}
	return -1
}

// rewriteAs rewrites the row and what readers see of it. The identity of one that
// another row has stays with that, and the row gets one of its own.
func (f *concealed) rewriteAs(o *observer, id redoubt.Identity, again bool) error {
	next := o.row(digestedResult{&f.result, o.d.content(&f.result)}, id, o.codeHash(&f.result))
	was := &f.Finding
	next.ID, next.ProjectID, next.Ref, next.Source, next.State = was.ID, was.ProjectID, was.Ref, was.Source, was.State
	next.LineageID, next.RuleID, next.FirstScanID, next.SeenByFull = was.LineageID, was.RuleID, was.FirstScanID, was.SeenByFull
	next.CreatedAt, next.RelevantSince, next.StateUpdatedAt = was.CreatedAt, was.RelevantSince, was.StateUpdatedAt
	s := Sighting{Result: &f.result, Finding: next}
	f.was, f.secret = was.Identity, id
	f.body.RuleMessage, f.body.SyntacticID, f.body.MatchBasedID = nonEmpty(message(&s)), "", s.shownID()
	if again {
		next.Identity.Hash = o.d.start("secret again 1").num(was.ID).sum()
	}
	f.Finding = next
	var err error
	if f.Body, err = f.body.Members(); err != nil {
		return err
	}
	text, err := toJSON(Evidence{Blocking: f.evidence.Blocking})
	f.Evidence = []byte(text)
	return err
}
