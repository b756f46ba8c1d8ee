package ingest

import (
	"cmp"
	"encoding/json"
	"fmt"
	"path"
	"regexp"
	"slices"
	"strings"

	"github.com/redoubt/redoubt"
	"github.com/redoubt/redoubt/internal/align"
)

// pair is a stored finding and the sighting that it is now.
type pair struct {
	row      *redoubt.Finding
	sighting *Sighting
}

// alignment is the question which live findings of a source a report tells again.
type alignment struct {
	rows      []*redoubt.Finding
	sightings []*Sighting
	bodies    map[int64]redoubt.FindingWrite // of the rows in changed files, by their ids
	changed   map[string]bool
	gone      func(path string) bool
	// byCode says of a stored finding that only its code can tell that it is told again,
	// owned of the identity of a sighting that it is of a lineage already.
	byCode func(*redoubt.Finding) bool
	owned  func(redoubt.Identity) bool
	// served are the rules that the scan ran, by name, where their text is known.
	served map[string]int64

	d       digester
	shared  map[redoubt.Identity]bool // that both sides have and that stand for the code
	texts   bool                      // every sighting tells its code, not only a hash of it
	strict  map[string]bool           // rules whose patterns count
	binds   map[string]bool           // rules of which every result binds metavariables
	renamed map[string]string         // rules that the report names otherwise
}

// changedFiles are those of which the report tells anything else than what is stored,
// those that are gone, where some come, and those with a finding whose code is not known
// and that the scan does not count.
func changedFiles(rows []*redoubt.Finding, sightings []*Sighting, links func(*Sighting) Links, scope Scope) map[string]bool {
	type content struct {
		path string
		is   redoubt.Digest
	}
	count, had, has, changed := map[content]int{}, map[string]bool{}, map[string]bool{}, map[string]bool{}
	for _, f := range rows {
		count[content{f.Path, f.Content}]++
		had[f.Path] = true
		if f.CodeHash == (redoubt.Digest{}) && f.Package == "" && !scope.counted(f) {
			changed[f.Path] = true
		}
	}
	comes := false
	for _, s := range sightings {
		f := &s.Finding
		count[content{f.Path, links(s).content(f.Content)}]--
		has[f.Path] = true
		comes = comes || !had[f.Path]
	}
	for c, n := range count {
		if n != 0 && (has[c.path] || comes) {
			changed[c.path] = true
		}
	}
	return changed
}

// pairs answers it: in files of which the report tells what is stored, by that; else by
// package align. It fails where what is stored of a finding cannot be read.
func (a *alignment) pairs(links func(*Sighting) Links) (out []pair, err error) {
	same := map[redoubt.Digest][]*redoubt.Finding{}
	var old []*redoubt.Finding
	for _, f := range a.rows {
		if a.changed[f.Path] {
			old = append(old, f)
		} else {
			same[f.Content] = append(same[f.Content], f)
		}
	}
	var next []*Sighting
	for _, s := range a.sightings {
		if a.changed[s.Finding.Path] {
			next = append(next, s)
			continue
		}
		is := links(s).content(s.Finding.Content)
		if left := same[is]; len(left) > 0 {
			out, same[is] = append(out, pair{left[0], s}), left[1:]
		}
	}
	if len(old) == 0 || len(next) == 0 {
		return out, nil
	}
	a.prepare(old, next)
	was, is := make([]align.Row, len(old)), make([]align.Row, len(next))
	for i, f := range old {
		if was[i], err = a.stored(f); err != nil {
			return nil, fmt.Errorf("the body of finding %d: %w", f.ID, err)
		}
	}
	for i, s := range next {
		is[i] = a.reported(s)
	}
	for _, p := range align.Rows(was, is, a.gone) {
		out = append(out, pair{old[p.Old], next[p.New]})
	}
	return out, nil
}

// prepare finds out by what the two sides can be compared.
func (a *alignment) prepare(old []*redoubt.Finding, next []*Sighting) {
	stands := map[redoubt.Identity]bool{}
	told, running := map[string]bool{}, map[string]bool{}
	a.strict, a.binds, a.shared, a.texts = map[string]bool{}, map[string]bool{}, map[redoubt.Identity]bool{}, true
	for _, s := range next {
		f := &s.Finding
		stands[f.Identity] = !s.blind && standsForCode(f)
		a.texts = a.texts && (s.Result.Code != "" || f.CodeHash == redoubt.Digest{} || f.IssueType != redoubt.SAST)
		a.strict[f.RuleName] = f.PatternHash != (redoubt.Digest{}) && (!told[f.RuleName] || a.strict[f.RuleName]) && a.served[f.RuleName] != 0
		a.binds[f.RuleName] = s.Result.Binds && (!told[f.RuleName] || a.binds[f.RuleName])
		told[f.RuleName] = true
	}
	for _, f := range old {
		a.shared[f.Identity] = stands[f.Identity] && standsForCode(f)
		running[f.RuleName] = true
		if f.PatternHash == (redoubt.Digest{}) || f.RuleID != a.served[f.RuleName] {
			delete(a.strict, f.RuleName)
		}
	}
	a.renamed = renamedRules(running, told)
}

// standsForCode reports whether a finding's identity says what it is, wherever it stands in
// its file: that of a secret, a dependency, or another fingerprint of a scanner's.
func standsForCode(f *redoubt.Finding) bool {
	switch f.Identity.Kind {
	case redoubt.IdentityOwn:
		return false
	case redoubt.IdentityMatchBased:
		return f.CodeHash == redoubt.Digest{}
	}
	return true
}

// renamedRules are rules that only the stored side has, by the name of the one rule
// that only the report has and that is the same but for the folder that it was loaded from,
// which Semgrep puts before the name.
func renamedRules(had, has map[string]bool) map[string]string {
	type both struct{ old, next []string }
	names := map[string]*both{}
	of := func(rule string) *both {
		last := lastPart(rule)
		if names[last] == nil {
			names[last] = &both{}
		}
		return names[last]
	}
	for rule := range had {
		if !has[rule] {
			of(rule).old = append(of(rule).old, rule)
		}
	}
	for rule := range has {
		if !had[rule] {
			of(rule).next = append(of(rule).next, rule)
		}
	}
	renamed := map[string]string{}
	for _, b := range names {
		if len(b.old) == 1 && len(b.next) == 1 {
			renamed[b.old[0]] = b.next[0]
		}
	}
	return renamed
}

// lastPart is the name of a rule without the folders that it was loaded from.
func lastPart(rule string) string { return rule[strings.LastIndexByte(rule, '.')+1:] }

// row is what both sides tell of a finding.
func (a *alignment) row(f *redoubt.Finding, rule, code string, column int) align.Row {
	r := align.Row{Path: f.Path, Rule: rule, Line: f.Line, Code: f.CodeHash, Loose: f.CodeHash}
	a.d.start("group").str(rule)
	if a.strict[rule] {
		a.d.digest(f.PatternHash)
	}
	r.Group = a.d.sum()
	if a.shared[f.Identity] {
		r.Exact = a.d.start("identity").num(int64(f.Identity.Kind)).digest(f.Identity.Hash).sum()
		if f.CodeHash == (redoubt.Digest{}) {
			r.Code, r.Loose = r.Exact, r.Exact
		}
	}
	switch {
	case f.Package != "":
		r.Loose = a.d.start("package").str(f.Package).sum()
	case f.IssueType == redoubt.Secrets && f.PatternHash != redoubt.Digest{}:
		r.Loose = f.PatternHash // the secret, on whatever line
	case strings.Contains(code, redoubt.Redacted): // what was taken out of it only the hash tells
	case a.texts && code != "" && r.Code != redoubt.Digest{}:
		r.Loose = a.d.start("loose").str(align.Loose(f.Path, code, column)).sum()
	}
	if f.CodeHash != (redoubt.Digest{}) {
		r.Edges = f.EdgeHash
	}
	return r
}

var numbers = regexp.MustCompile(`[0-9]+`)

// named adds the scanner's own id of a match, to which its code belongs.
func (a *alignment) named(r *align.Row, f *redoubt.Finding, matchBasedID string) {
	if detailLevel(f) == 2 {
		r.Exact = a.d.start("match").str(redoubt.FormulaGroup(matchBasedID)).digest(f.CodeHash).sum()
	}
}

// place adds where a match stands, and what is said of it. What is muted is told apart,
// for a report may leave it out.
func (a *alignment) place(r *align.Row, f *redoubt.Finding, at redoubt.WireLocation, message string) {
	r.Column, r.EndLine, r.EndColumn = at.Column, at.EndLine, at.EndColumn
	if a.strict[r.Rule] && a.binds[r.Rule] { // the group knows what matched: how long it is, is layout
		r.EndLine, r.EndColumn = r.Line, r.Column+1
	}
	if f.IssueType == redoubt.Secrets { // what is redacted is said otherwise
		message = ""
	}
	message = strings.ReplaceAll(message, path.Base(at.FilePath), "")
	a.d.start("message").str(normalCode(numbers.ReplaceAllString(message, "0"))).flag(f.State == redoubt.Muted)
	r.Message = a.d.sum()
}

// stored is a stored finding.
func (a *alignment) stored(f *redoubt.Finding) (align.Row, error) {
	w := a.bodies[f.ID]
	var body redoubt.Body
	var evidence Evidence
	if err := json.Unmarshal(fmt.Appendf(nil, "{%s}", w.Body), &body); err != nil {
		return align.Row{}, err
	}
	if a.texts && len(w.Evidence) > 0 {
		if err := json.Unmarshal(w.Evidence, &evidence); err != nil {
			return align.Row{}, err
		}
	}
	var message string
	if body.RuleMessage != nil {
		message = *body.RuleMessage
	}
	r := a.row(f, cmp.Or(a.renamed[f.RuleName], f.RuleName), evidence.Code, body.Location.Column)
	a.named(&r, f, body.MatchBasedID)
	r.ByCode = a.byCode(f)
	a.place(&r, f, body.Location, message)
	return r, nil
}

// reported is a sighting.
func (a *alignment) reported(s *Sighting) align.Row {
	r := a.row(&s.Finding, s.Finding.RuleName, s.Result.Code, s.Result.Location.Column)
	a.named(&r, &s.Finding, s.Result.MatchBasedID)
	r.Binds, r.ByCode = s.Result.Binds, a.owned(s.Finding.Identity)
	a.place(&r, &s.Finding, wireLocation(s.Result), s.Result.Message)
	return r
}

// liveRows are the findings that a report may tell again.
func liveRows(findings []redoubt.Finding) (rows []*redoubt.Finding) {
	for i := range findings {
		if live(findings[i].State) {
			rows = append(rows, &findings[i])
		}
	}
	return rows
}

func pointers(sightings []Sighting) []*Sighting {
	out := make([]*Sighting, len(sightings))
	for i := range sightings {
		out[i] = &sightings[i]
	}
	return out
}

// idsIn are the ids of the findings in files.
func idsIn(rows []*redoubt.Finding, files map[string]bool) (ids []int64) {
	for _, f := range rows {
		if files[f.Path] {
			ids = append(ids, f.ID)
		}
	}
	return slices.Clip(ids)
}
