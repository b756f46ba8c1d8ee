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
	scope Scope
	// bodies are those of the findings that are not clear, by their ids.
	bodies map[int64]redoubt.FindingWrite
	// served are the rules that the scan ran, by name, where their text is known.
	served map[string]int64
	// decided says of a stored finding that only its code can tell that it is told again,
	// owned of the identity of a sighting that it is of a lineage already.
	decided func(*redoubt.Finding) bool
	owned   func(redoubt.Identity) bool

	clear     []pair // by what they are alone
	rows      []*redoubt.Finding
	sightings []*Sighting     // these two are the rest
	stays     map[string]bool // of each path with sightings: whether it has findings too

	d       digester
	shared  map[redoubt.Identity]bool // that both sides have and that stand for the code
	texts   bool                      // every sighting tells its code, not only a hash of it
	silent  bool                      // something tells no code
	strict  map[string]bool           // rules whose patterns count
	binds   map[string]bool           // rules of which every result binds metavariables
	renamed map[string]string         // rules that the report names otherwise
}

// likeness is what a finding and a sighting have in common that may be one without a look at
// the body: all that was said in a file that is told as before, else the code.
type likeness struct {
	path          string
	content, code redoubt.Digest // one of the two
}

// alike are those of one likeness.
type alike struct {
	rows      []*redoubt.Finding
	sightings []*Sighting
	next      int // of the rows to pair
}

// newAlignment pairs what is clear without a look at bodies: all in files of which the report
// tells what is stored, and in others what has a code of its own on both sides.
func newAlignment(rows []*redoubt.Finding, sightings []*Sighting, links func(*Sighting) Links, scope Scope) *alignment {
	a := &alignment{scope: scope, stays: map[string]bool{}}
	changed := changedFiles(rows, sightings, links, scope)
	of := func(f *redoubt.Finding, content redoubt.Digest) likeness {
		if changed[f.Path] {
			return likeness{path: f.Path, code: f.CodeHash}
		}
		return likeness{path: f.Path, content: content}
	}
	kinds, had := make(map[likeness]*alike, len(rows)), map[string]bool{}
	for _, f := range rows {
		k := of(f, f.Content)
		if kinds[k] == nil {
			kinds[k] = &alike{}
		}
		kinds[k].rows, had[f.Path] = append(kinds[k].rows, f), true
	}
	for _, s := range sightings {
		k := of(&s.Finding, links(s).content(s.Finding.Content))
		if a.stays[k.path] = had[k.path]; kinds[k] != nil {
			kinds[k].sightings = append(kinds[k].sightings, s)
		}
	}
	paired := make(map[*redoubt.Finding]bool, len(rows))
	for _, s := range sightings {
		k := of(&s.Finding, links(s).content(s.Finding.Content))
		both := kinds[k]
		if both == nil || both.next == len(both.rows) || changed[k.path] && !scope.clear(both) {
			a.sightings = append(a.sightings, s)
			continue
		}
		row := both.rows[both.next]
		a.clear, paired[row] = append(a.clear, pair{row, s}), true
		both.next++
	}
	for _, f := range rows {
		if !paired[f] {
			a.rows = append(a.rows, f)
		}
	}
	return a
}

// clear reports whether a finding and a sighting with the same code are the only ones of it in
// their file, and by all that is known of them the same.
func (s Scope) clear(both *alike) bool {
	if len(both.rows) != 1 || len(both.sightings) != 1 {
		return false
	}
	f, is := both.rows[0], &both.sightings[0].Finding
	return f.CodeHash != redoubt.Digest{} && f.RuleName == is.RuleName && f.PatternHash == is.PatternHash && f.Identity.Kind == is.Identity.Kind && s.counted(f)
}

// changedFiles are those of which the report tells anything else than what is stored,
// and those with a finding whose code is not known and that the scan does not count.
func changedFiles(rows []*redoubt.Finding, sightings []*Sighting, links func(*Sighting) Links, scope Scope) map[string]bool {
	type content struct {
		path string
		is   redoubt.Digest
	}
	count, changed := make(map[content]int, len(rows)), map[string]bool{}
	for _, f := range rows {
		count[content{f.Path, f.Content}]++
		if f.CodeHash == (redoubt.Digest{}) && f.Package == "" && !scope.counted(f) {
			changed[f.Path] = true
		}
	}
	for _, s := range sightings {
		count[content{s.Finding.Path, links(s).content(s.Finding.Content)}]--
	}
	for c, n := range count {
		if n != 0 {
			changed[c.path] = true
		}
	}
	return changed
}

// loads are the ids of the findings of the rest that the rest of the report may tell again.
func (a *alignment) loads() (ids []int64) {
	comes, has := false, map[string]bool{}
	for _, s := range a.sightings {
		has[s.Finding.Path] = true
		comes = comes || !a.stays[s.Finding.Path]
	}
	for _, f := range a.rows {
		if has[f.Path] || comes && !a.told(f.Path) {
			ids = append(ids, f.ID)
		}
	}
	return ids
}

// told reports whether the report tells anything of a path.
func (a *alignment) told(path string) bool {
	_, told := a.stays[path]
	return told
}

// alone reports whether a path that one side of the rest alone has is gone, or new. Files
// move by full scans only.
func (a *alignment) alone(path string) bool {
	switch {
	case !a.scope.Full || a.scope.Failed:
		return false
	case a.told(path):
		return !a.stays[path]
	}
	return a.scope.isGone(path)
}

// pairs answers it: by what is clear, and by package align. It fails where what is stored of
// a finding cannot be read.
func (a *alignment) pairs() ([]pair, error) {
	loads := map[int64]bool{}
	for _, id := range a.loads() {
		loads[id] = true
	}
	old, next := slices.DeleteFunc(a.rows, func(f *redoubt.Finding) bool { return !loads[f.ID] }), a.sightings
	if len(old) == 0 || len(next) == 0 {
		return a.clear, nil
	}
	a.prepare(old, next)
	was, is := make([]align.Row, len(old)), make([]align.Row, len(next))
	said, err := a.read(old)
	if err != nil {
		return nil, err
	}
	for i, f := range old {
		was[i] = a.stored(f, &said[i])
	}
	for i, s := range next {
		is[i] = a.reported(s)
	}
	for _, p := range align.Rows(was, is, a.alone) {
		a.clear = append(a.clear, pair{old[p.Old], next[p.New]})
	}
	return a.clear, nil
}

// prepare finds out by what the two sides can be compared.
func (a *alignment) prepare(old []*redoubt.Finding, next []*Sighting) {
	stands := map[redoubt.Identity]bool{}
	told, running := map[string]bool{}, map[string]bool{}
	a.strict, a.binds, a.shared, a.texts = map[string]bool{}, map[string]bool{}, map[redoubt.Identity]bool{}, true
	for _, s := range next {
		f := &s.Finding
		stands[f.Identity] = !s.blind && standsForCode(f)
		a.silent = a.silent || f.CodeHash == redoubt.Digest{}
		a.texts = a.texts && (s.Result.Code != "" || f.CodeHash == redoubt.Digest{} || f.IssueType != redoubt.SAST)
		a.strict[f.RuleName] = f.PatternHash != (redoubt.Digest{}) && (!told[f.RuleName] || a.strict[f.RuleName]) && a.served[f.RuleName] != 0
		a.binds[f.RuleName] = s.Result.Binds && (!told[f.RuleName] || a.binds[f.RuleName])
		told[f.RuleName] = true
	}
	for _, f := range old {
		a.silent = a.silent || f.CodeHash == redoubt.Digest{}
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

// place adds where a match stands, what is said of it and, where all tell their code, the match itself.
// What is muted is told apart, for a report may leave it out.
func (a *alignment) place(r *align.Row, f *redoubt.Finding, at redoubt.WireLocation, message, code string) {
	r.Column, r.EndLine, r.EndColumn = at.Column, at.EndLine, at.EndColumn
	if a.strict[r.Rule] && a.binds[r.Rule] { // the group knows what matched: how long it is, is layout
		r.EndLine, r.EndColumn = r.Line, r.Column+1
	}
	if f.IssueType == redoubt.Secrets { // what is redacted is said otherwise
		message = ""
	}
	message = strings.ReplaceAll(message, path.Base(at.FilePath), "")
	a.d.start("message").str(normalCode(numbers.ReplaceAllString(message, "0"))).flag(f.State == redoubt.Muted)
	if a.texts && !a.silent {
		a.d.str(matchText(code, at))
	}
	r.Message = a.d.sum()
}

// matchText cuts a match of one line out of its line; the code itself where that is not the line.
func matchText(code string, at redoubt.WireLocation) string {
	if at.Line != at.EndLine || at.Column < 1 || at.EndColumn < at.Column || at.EndColumn-1 > len(code) {
		return code
	}
	return code[at.Column-1 : at.EndColumn-1]
}

// said is what the alignment asks of the body of a finding, and its code.
type said struct { // of redoubt.Body
	Location     redoubt.WireLocation `json:"location"`
	MatchBasedID string               `json:"match_based_id"`
	RuleMessage  string               `json:"rule_message"`
	code         string
}

// read reads the bodies of findings. Where one of them has only a hash of its code, texts tell
// nothing.
func (a *alignment) read(rows []*redoubt.Finding) ([]said, error) {
	out := make([]said, len(rows))
	for i, f := range rows {
		w := a.bodies[f.ID]
		if err := json.Unmarshal(slices.Concat([]byte("{"), w.Body, []byte("}")), &out[i]); err != nil {
			return nil, fmt.Errorf("the body of finding %d: %w", f.ID, err)
		}
		if !a.texts || f.CodeHash == (redoubt.Digest{}) || f.IssueType != redoubt.SAST {
			continue
		}
		var evidence Evidence
		if err := json.Unmarshal(w.Evidence, &evidence); err != nil {
			return nil, fmt.Errorf("the code of finding %d: %w", f.ID, err)
		}
		out[i].code, a.texts = evidence.Code, evidence.Code != ""
	}
	return out, nil
}

// stored is a stored finding.
func (a *alignment) stored(f *redoubt.Finding, is *said) align.Row {
	r := a.row(f, cmp.Or(a.renamed[f.RuleName], f.RuleName), is.code, is.Location.Column)
	a.named(&r, f, is.MatchBasedID)
	r.ByCode = a.decided(f) || !a.scope.counted(f)
	a.place(&r, f, is.Location, is.RuleMessage, is.code)
	return r
}

// reported is a sighting.
func (a *alignment) reported(s *Sighting) align.Row {
	r := a.row(&s.Finding, s.Finding.RuleName, s.Result.Code, s.Result.Location.Column)
	a.named(&r, &s.Finding, s.Result.MatchBasedID)
	r.Binds, r.ByCode = s.Result.Binds, a.owned(s.Finding.Identity)
	a.place(&r, &s.Finding, wireLocation(s.Result), s.Result.Message, s.Result.Code)
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
