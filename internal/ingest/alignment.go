package ingest

import (
	"cmp"
	"encoding/json"
	"fmt"
	"path"
	"regexp"
	"slices"
	"strings"

	"github.com/redoubt/redoubt/internal/align"
	"github.com/redoubt/redoubt/internal/model"
	"github.com/redoubt/redoubt/internal/redact"
	"github.com/redoubt/redoubt/internal/weblink"
)

// pair is a stored finding and the matching result of the current report.
type pair struct {
	row      *model.Finding
	sighting *Sighting
}

// alignment compares the live findings of a source with the results of a report.
type alignment struct {
	scope Scope
	// bodies contains the bodies of the findings in rows, by id. See loads.
	bodies map[int64]model.FindingWrite
	// served contains the ids of the rules that ran and whose text is known, by name.
	served map[string]int64
	// decided reports whether a stored finding may pair by its code only. owned reports whether a
	// lineage already has the identity of a result.
	decided func(*model.Finding) bool
	owned   func(model.Identity) bool

	clear     []pair // paired without their bodies
	rows      []*model.Finding
	sightings []*Sighting     // rows and sightings are those that clear does not contain
	stays     map[string]bool // each path with results; true if it also has findings

	d       digester
	shared  map[model.Identity]bool // identities on both sides for which isPositionIndependent is true
	texts   bool                    // all code is known as text, not only as a hash
	silent  bool                    // the code of a finding or result is unknown
	strict  map[string]bool         // rules whose group includes the pattern
	binds   map[string]bool         // rules for which every result binds metavariables
	renamed map[string]string       // old names of rules, to new ones
	masked  map[model.Digest]bool   // redacted texts of findings that were stored unredacted
}

// newAlignment pairs findings and results without reading bodies. This avoids most reads of an
// import.
func newAlignment(
	rows []*model.Finding, sightings []*Sighting, links func(*Sighting) weblink.Links, scope Scope,
) *alignment {
	a := &alignment{scope: scope, stays: map[string]bool{}}
	old, next, had := make([]align.Brief, len(rows)), make([]align.Brief, len(sightings)), map[string]bool{}
	for i, f := range rows {
		old[i], had[f.Path] = a.brief(f, f.Content), true
		old[i].ByCode = f.Package == "" && !scope.counted(f)
	}
	for i, s := range sightings {
		next[i] = a.brief(&s.Finding, linkedContent(links(s), s.Finding.Content))
		a.stays[s.Finding.Path] = had[s.Finding.Path]
	}
	pairedRows, pairedSightings := make([]bool, len(rows)), make([]bool, len(sightings))
	for _, p := range align.Clear(old, next) {
		a.clear = append(a.clear, pair{rows[p.Old], sightings[p.New]})
		pairedRows[p.Old], pairedSightings[p.New] = true, true
	}
	for i, f := range rows {
		if !pairedRows[i] {
			a.rows = append(a.rows, f)
		}
	}
	for i, s := range sightings {
		if !pairedSightings[i] {
			a.sightings = append(a.sightings, s)
		}
	}
	return a
}

// brief returns a finding or result without its body.
func (a *alignment) brief(f *model.Finding, content model.Digest) align.Brief {
	b := align.Brief{Path: f.Path, Content: content}
	if f.CodeHash != (model.Digest{}) {
		b.Code = a.d.start("brief").str(f.RuleName).num(int64(f.Identity.Kind)).digest(f.PatternHash, f.CodeHash).sum()
	}
	return b
}

// loads returns the ids of the findings in rows that may pair. Only their bodies are needed.
func (a *alignment) loads() (ids []int64) {
	comes, has := false, map[string]bool{}
	for _, s := range a.sightings {
		has[s.Finding.Path] = true
		comes = comes || !a.stays[s.Finding.Path]
	}
	for _, f := range a.rows {
		if has[f.Path] || comes && !a.hasResultsIn(f.Path) {
			ids = append(ids, f.ID)
		}
	}
	return ids
}

// hasResultsIn reports whether the report has results in a file.
func (a *alignment) hasResultsIn(path string) bool {
	_, found := a.stays[path]
	return found
}

// alone reports whether a file that only one side has was removed or added. Only full scans can
// show that a file was removed.
func (a *alignment) alone(path string) bool {
	switch {
	case !a.scope.Full || a.scope.Failed:
		return false
	case a.hasResultsIn(path):
		return !a.stays[path]
	}
	return a.scope.isGone(path)
}

// pairs returns the pairs of newAlignment and those of package align. It fails if a stored body
// cannot be decoded.
func (a *alignment) pairs() ([]pair, error) {
	loads := map[int64]bool{}
	for _, id := range a.loads() {
		loads[id] = true
	}
	old, next := slices.DeleteFunc(a.rows, func(f *model.Finding) bool { return !loads[f.ID] }), a.sightings
	if len(old) == 0 || len(next) == 0 {
		return a.clear, nil
	}
	a.prepare(old, next)
	was, is := make([]align.Row, len(old)), make([]align.Row, len(next))
	bodies, err := a.read(old)
	if err != nil {
		return nil, err
	}
	a.maskOld(bodies, next)
	for i, f := range old {
		was[i] = a.stored(f, &bodies[i])
	}
	for i, s := range next {
		is[i] = a.reported(s)
	}
	for _, p := range align.Rows(was, is, a.alone) {
		a.clear = append(a.clear, pair{old[p.Old], next[p.New]})
	}
	return a.clear, nil
}

// prepare selects the properties that are compared.
func (a *alignment) prepare(old []*model.Finding, next []*Sighting) {
	independent := map[model.Identity]bool{}
	reported, running := map[string]bool{}, map[string]bool{}
	a.strict, a.binds, a.shared, a.texts = map[string]bool{}, map[string]bool{}, map[model.Identity]bool{}, true
	for _, s := range next {
		f := &s.Finding
		independent[f.Identity] = !s.codeless && isPositionIndependent(f)
		a.silent = a.silent || f.CodeHash == model.Digest{}
		a.texts = a.texts && (s.Result.Code != "" || f.CodeHash == model.Digest{} || f.IssueType != model.SAST)
		a.strict[f.RuleName] = f.PatternHash != (model.Digest{}) && (!reported[f.RuleName] || a.strict[f.RuleName]) &&
			a.served[f.RuleName] != 0
		a.binds[f.RuleName] = s.Result.Binds && (!reported[f.RuleName] || a.binds[f.RuleName])
		reported[f.RuleName] = true
	}
	for _, f := range old {
		a.silent = a.silent || f.CodeHash == model.Digest{}
		a.shared[f.Identity] = independent[f.Identity] && isPositionIndependent(f)
		running[f.RuleName] = true
		if f.PatternHash == (model.Digest{}) || f.RuleID != a.served[f.RuleName] {
			delete(a.strict, f.RuleName)
		}
	}
	a.renamed = renamedRules(running, reported)
}

// isPositionIndependent reports whether a finding's identity is independent of its position. This
// applies to secrets, dependencies and a scanner's own fingerprint.
func isPositionIndependent(f *model.Finding) bool {
	switch f.Identity.Kind {
	case model.IdentityOwn:
		return false
	case model.IdentityMatchBased:
		return f.CodeHash == model.Digest{}
	}
	return true
}

// renamedRules maps stored rules to reported rules with another folder before their name. Semgrep
// prefixes the name with the folder. Rules that both sides have are excluded.
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

// lastPart returns the name of a rule without the folders that it was loaded from.
func lastPart(rule string) string { return rule[strings.LastIndexByte(rule, '.')+1:] }

// row returns the properties that findings and results have in common.
func (a *alignment) row(f *model.Finding, rule, code string, column int) align.Row {
	r := align.Row{Path: f.Path, Rule: rule, Line: f.Line, Code: f.CodeHash, Loose: f.CodeHash}
	a.d.start("group").str(rule)
	if a.strict[rule] {
		a.d.digest(f.PatternHash)
	}
	r.Group = a.d.sum()
	if a.shared[f.Identity] {
		r.Exact = a.d.start("identity").num(int64(f.Identity.Kind)).digest(f.Identity.Hash).sum()
		if f.CodeHash == (model.Digest{}) {
			r.Code, r.Loose = r.Exact, r.Exact
		}
	}
	switch {
	case f.Package != "":
		r.Loose = a.d.start("package").str(f.Package).sum()
	case f.IssueType == model.Secrets && f.PatternHash != model.Digest{}:
		r.Loose = f.PatternHash // the secret, on any line
	case strings.Contains(code, model.Redacted): // only the hash distinguishes redacted text
	case a.texts && code != "" && r.Code != model.Digest{}:
		r.Loose = a.d.start("loose").str(align.Loose(f.Path, code, column)).sum()
	}
	if f.CodeHash != (model.Digest{}) {
		r.Edges = f.EdgeHash
	}
	return r
}

var numbers = regexp.MustCompile(`[0-9]+`)

// named adds the scanner's own id of a match, combined with its code.
func (a *alignment) named(r *align.Row, f *model.Finding, matchBasedID string) {
	if detailLevel(f) == 2 {
		r.Exact = a.d.start("match").str(model.FormulaGroup(matchBasedID)).digest(f.CodeHash).sum()
	}
}

// addLocation adds the location of a match, its message and, if all code is known, the matched text.
// Muted matches differ from others, because a report may omit them.
func (a *alignment) addLocation(r *align.Row, f *model.Finding, at model.WireLocation, message, code string) {
	r.Column, r.EndLine, r.EndColumn = at.Column, at.EndLine, at.EndColumn
	if a.strict[r.Rule] && a.binds[r.Rule] { // the group includes the matched code, so a difference in length is layout
		r.EndLine, r.EndColumn = r.Line, r.Column+1
	}
	if f.IssueType == model.Secrets { // redacted reports have other messages
		message = ""
	}
	message = strings.ReplaceAll(message, path.Base(at.FilePath), "")
	a.d.start("message").str(normalCode(numbers.ReplaceAllString(message, "0"))).flag(f.State == model.Muted)
	if a.texts && !a.silent {
		a.d.str(matchText(code, at))
	}
	r.Message = a.d.sum()
}

// matchText extracts a one-line match from its line. It returns code unchanged if code is not that
// line.
func matchText(code string, at model.WireLocation) string {
	if at.Line != at.EndLine || at.Column < 1 || at.EndColumn < at.Column || at.EndColumn-1 > len(code) {
		return code
	}
	return code[at.Column-1 : at.EndColumn-1]
}

// comparedBody contains the parts of a finding's body and evidence that the alignment compares.
type comparedBody struct { // JSON fields of model.Body
	Location     model.WireLocation `json:"location"`
	MatchBasedID string             `json:"match_based_id"`
	RuleMessage  string             `json:"rule_message"`
	code         string
	masked       model.Digest // of the redacted text; zero if redacting changes nothing
}

// maskOld redacts findings that were stored by a version with fewer credential patterns. They pair
// by their redacted text, which preserves their decisions.
func (a *alignment) maskOld(bodies []comparedBody, next []*Sighting) {
	a.masked = map[model.Digest]bool{}
	hasMark := func(s *Sighting) bool { return strings.Contains(s.Result.Message+s.Result.Code, redact.Mark) }
	if !slices.ContainsFunc(next, hasMark) {
		return
	}
	for i := range bodies {
		is := &bodies[i]
		if message, code := redact.Text(is.RuleMessage), redact.Text(is.code); message != is.RuleMessage || code != is.code {
			is.RuleMessage, is.code, is.masked = message, code, a.text(message, code)
			a.masked[is.masked] = true
		}
	}
}

func (a *alignment) text(message, code string) model.Digest {
	return a.d.start("text").str(normalCode(message), normalCode(code)).sum()
}

// read decodes the bodies of findings. It clears texts if the code of one is known only as a hash.
func (a *alignment) read(rows []*model.Finding) ([]comparedBody, error) {
	out := make([]comparedBody, len(rows))
	for i, f := range rows {
		w := a.bodies[f.ID]
		if err := json.Unmarshal(slices.Concat([]byte("{"), w.Body, []byte("}")), &out[i]); err != nil {
			return nil, fmt.Errorf("the body of finding %d: %w", f.ID, err)
		}
		if !a.texts || f.CodeHash == (model.Digest{}) || f.IssueType != model.SAST {
			continue
		}
		var evidence model.Evidence
		if err := json.Unmarshal(w.Evidence, &evidence); err != nil {
			return nil, fmt.Errorf("the code of finding %d: %w", f.ID, err)
		}
		out[i].code, a.texts = evidence.Code, evidence.Code != ""
	}
	return out, nil
}

// stored returns the row of a stored finding.
func (a *alignment) stored(f *model.Finding, is *comparedBody) align.Row {
	r := a.row(f, cmp.Or(a.renamed[f.RuleName], f.RuleName), is.code, is.Location.Column)
	a.named(&r, f, is.MatchBasedID)
	if is.masked != (model.Digest{}) {
		r.Loose = is.masked
	}
	r.ByCode = a.decided(f) || !a.scope.counted(f)
	a.addLocation(&r, f, is.Location, is.RuleMessage, is.code)
	return r
}

// reported returns the row of a result.
func (a *alignment) reported(s *Sighting) align.Row {
	r := a.row(&s.Finding, s.Finding.RuleName, s.Result.Code, s.Result.Location.Column)
	a.named(&r, &s.Finding, s.Result.MatchBasedID)
	if text := a.text(s.Result.Message, s.Result.Code); a.masked[text] {
		r.Loose = text
	}
	r.Binds, r.ByCode = s.Result.Binds, a.owned(s.Finding.Identity)
	a.addLocation(&r, &s.Finding, wireLocation(s.Result), s.Result.Message, s.Result.Code)
	return r
}

// liveRows returns the findings that are neither fixed nor removed.
func liveRows(findings []model.Finding) (rows []*model.Finding) {
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
