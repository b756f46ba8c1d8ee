package ingest

import (
	"fmt"
	"maps"
	"path"
	"regexp"
	"slices"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/redoubt/redoubt/internal/model"
)

// truth checks the effects of uploads on findings against the edits: see [item].
type truth struct {
	t       *rapid.T
	store   *memory                       // the stored state
	send    func(Upload) (Summary, error) // applies an upload to store
	tick    func()
	coded   bool          // all reports contain the code
	decided map[what]bool // decided code, if all is coded
}

// what is code that a rule found at any place.
type what struct {
	rule string // without folders
	code model.Digest
}

func whatOf(f *model.Finding) what { return what{lastPart(f.RuleName), f.CodeHash} }

// known is a finding and the number of its item.
type known struct {
	model.Finding
	number int
}

var numberOf = regexp.MustCompile(`"rule_message":"[^"]*\((\d+)\)"`)

func (c *truth) picture() map[int64]known {
	out := make(map[int64]known, len(c.store.rows))
	for id, row := range c.store.rows {
		k := known{Finding: row.Finding}
		if m := numberOf.FindSubmatch(row.Body); m != nil {
			_, _ = fmt.Sscan(string(m[1]), &k.number)
		}
		out[id] = k
	}
	return out
}

// appliedUpload is an upload and its effect on the stored findings.
type appliedUpload struct {
	*truth
	u             Upload
	scope         Scope
	sightings     []Sighting
	before, after map[int64]known          // of its ref and source
	links         map[model.Identity]int64 // before; nil for a real store
	is            map[int64]*Sighting      // the sighting of a live finding, by its id
}

// upload applies an upload and checks its properties.
func (c *truth) upload(u Upload) {
	events := len(c.store.events)
	before, links := c.picture(), maps.Clone(c.store.links)
	sum, err := c.send(u)
	if err != nil {
		c.t.Fatal(err)
	}
	after := c.picture()
	if sum.Outcome != model.ScanApplied || sum.Repeat {
		c.same("a scan that counts not", before, after, events)
		return
	}
	sightings, _ := Observe(u.Report)
	n := appliedUpload{truth: c, u: u, scope: scopeOf(&u, sightings), sightings: sightings, before: before, after: after, links: links, is: map[int64]*Sighting{}}
	elsewhere := func(_ int64, f known) bool { return f.Ref != sum.Ref || f.Source != sum.Source }
	maps.DeleteFunc(n.before, elsewhere)
	maps.DeleteFunc(n.after, elsewhere)
	n.showsTheReport()
	n.closesWhatItMay(sum)
	n.checkContinuation()
	n.losesNothingClear()
	n.followsFiles()
	n.decidesOnNothingElse()
	if n.complete() || c.coded { // otherwise new and unread results are ambiguous
		c.checkRepeat(u)
	}
}

// checkRepeat checks that a repeated upload changes nothing.
func (c *truth) checkRepeat(u Upload) {
	before, events := c.picture(), len(c.store.events)
	c.tick()
	sum, err := c.send(u)
	c.same("the same again", before, c.picture(), events)
	if err != nil || len(sum.Items) > 0 {
		c.t.Fatalf("again: %+v, %v", sum, err)
	}
}

func (c *truth) same(what string, before, after map[int64]known, events int) {
	if diff := cmp.Diff(before, after, cmp.AllowUnexported(known{})); diff != "" || len(c.store.events) != events {
		c.t.Fatalf("%s changed findings, or wrote %+v (-before +after):\n%s", what, c.store.events[events:], diff)
	}
}

// showsTheReport checks that there is a live finding for each reported result, and no other if the
// report is complete.
func (n *appliedUpload) showsTheReport() {
	alive := map[int64]known{}
	for id, f := range n.after {
		if live(f.State) {
			alive[id] = f
		}
	}
	for i := range n.sightings {
		s := &n.sightings[i]
		var at []int64
		for id, f := range alive {
			if f.Path == s.Finding.Path && f.Line == s.Finding.Line && f.RuleName == s.Finding.RuleName && f.State == s.Finding.State && f.number == numberIn(s) {
				at = append(at, id)
			}
		}
		switch len(at) {
		case 0:
			n.t.Fatalf("nothing shows %+v", s.Finding)
		case 1: // otherwise an earlier finding has the same place, and the match is ambiguous
			n.is[at[0]] = s
		}
	}
	if n.complete() && len(alive) != len(n.sightings) {
		n.t.Fatalf("%d findings are live, the report tells %d", len(alive), len(n.sightings))
	}
}

// complete reports whether the scan is complete.
func (n *appliedUpload) complete() bool {
	r := n.u.Report
	return n.u.DeclaredFull && !r.Failed && !r.HidesMuted && r.RulesRun == nil && r.Searched == nil && r.Skipped == nil && r.Unresolved == nil && n.u.OutOfPolicy == nil
}

func numberIn(s *Sighting) (n int) {
	_, _ = fmt.Sscanf(numberOf.FindStringSubmatch(`"rule_message":"` + s.Result.Message + `"`)[1], "%d", &n)
	return n
}

// closesWhatItMay checks that unreported findings have the state that the scan's scope determines,
// and that the summary counts the changes.
func (n *appliedUpload) closesWhatItMay(sum Summary) {
	var fresh, returned, closed, removed, seen int
	for id, f := range n.after {
		was, existed := n.before[id]
		switch {
		case !existed:
			fresh++
		case live(f.State) && !live(was.State):
			returned++
		case f.State == model.Fixed && was.State != model.Fixed:
			closed++
		case f.State == model.StateRemoved && was.State != model.StateRemoved:
			removed++
		}
		if live(f.State) && existed && f.State == was.State && f.Line == was.Line && f.Path == was.Path && f.number == was.number {
			continue // unchanged, or not considered
		}
		if existed && !live(f.State) && live(was.State) && n.scope.absentState(&was.Finding) != f.State {
			n.t.Fatalf("%+v became %s", was.Finding, f.State)
		}
		if live(f.State) {
			seen++
		}
	}
	got := []int{sum.New, sum.Returned, sum.Closed, sum.Removed}
	if want := []int{fresh, returned, closed, removed}; !slices.Equal(got, want) || seen > len(n.sightings) {
		n.t.Fatalf("the answer counts %v new, returned, closed, removed; it is %v of %d", got, want, len(n.sightings))
	}
}

// checkContinuation checks that a live finding continues only as its own code. It may continue in
// another file only if that file continues its file.
func (n *appliedUpload) checkContinuation() {
	for id, s := range n.is {
		was, existed := n.before[id]
		if f := &s.Finding; existed && live(was.State) {
			byLineage := n.links == nil || n.links[f.Identity] == was.LineageID    // as followed on another ref
			long := f.EdgeHash != model.Digest{} || was.EdgeHash != model.Digest{} // one of the two may lack it
			edited := long && (f.EdgeHash == was.EdgeHash || byLineage)
			bothHashed := f.CodeHash != model.Digest{} && was.CodeHash != model.Digest{}
			if lastPart(f.RuleName) != lastPart(was.RuleName) || bothHashed && f.CodeHash != was.CodeHash && !edited {
				n.t.Fatalf("%d: %+v goes on as %+v", id, was.Finding, *f)
			}
			if f.Path != was.Path && !byLineage && !n.mayMove(was.Path, f.Path) {
				n.t.Fatalf("%d: %+v moves to %+v", id, was.Finding, *f)
			}
		}
	}
}

// mayMove reports whether a file may continue as another.
func (n *appliedUpload) mayMove(from, to string) bool {
	rows, kinds := 0, map[string]bool{}
	for id, f := range n.before {
		if live(f.State) && f.Path == from {
			rows++
			if s := n.is[id]; s != nil && s.Finding.Path == to {
				kinds[fmt.Sprint(s.Finding.RuleName, whatOf(&s.Finding))] = true
			}
		}
	}
	named := path.Base(from) == path.Base(to) && (rows > 1 || path.Base(path.Dir(from)) == path.Base(path.Dir(to)))
	return n.u.Full && n.scope.isGone(from) && (named || rows > 1 && (len(kinds) > 1 || !n.coded))
}

// losesNothingClear checks that code that is unique in a file, before and after, remains the same
// finding.
func (n *appliedUpload) losesNothingClear() {
	type codeKey struct {
		path, rule string
		code       model.Digest
	}
	of := func(f *model.Finding) codeKey { return codeKey{f.Path, f.RuleName, f.CodeHash} }
	had, has := map[codeKey]int{}, map[codeKey]int{}
	for _, f := range n.before {
		if live(f.State) {
			had[of(&f.Finding)]++
		}
	}
	for i := range n.sightings {
		has[of(&n.sightings[i].Finding)]++
	}
	for id, s := range n.is {
		p := of(&s.Finding)
		if p.code == (model.Digest{}) || had[p] != 1 || has[p] != 1 {
			continue
		}
		for before, f := range n.before {
			if live(f.State) && of(&f.Finding) == p && f.number == numberIn(s) && before != id {
				n.t.Fatalf("%d is lost: %+v is %d", before, f.Finding, id)
			}
		}
	}
}

// followsFiles checks that a completely moved file with the same name retains all its findings.
// Failed scans are exempt, because they cannot detect removed files.
func (n *appliedUpload) followsFiles() {
	left, added := map[string][]string{}, map[string][]string{}
	had, has := map[string]map[int]int64{}, map[string]map[int]int64{}
	for id, f := range n.before {
		if live(f.State) {
			put(had, f.Path, f.number, id)
		}
	}
	for id, s := range n.is {
		put(has, s.Finding.Path, numberIn(s), id)
	}
	for p := range had {
		if n.scope.isGone(p) {
			left[path.Base(p)] = append(left[path.Base(p)], p)
		}
	}
	for i := range n.sightings {
		if p := n.sightings[i].Finding.Path; had[p] == nil && !slices.Contains(added[path.Base(p)], p) {
			added[path.Base(p)] = append(added[path.Base(p)], p)
		}
	}
	for name, from := range left {
		to := added[name]
		if !n.coded || !n.u.Full || n.u.Report.Failed || len(from) != 1 || len(to) != 1 || !slices.Equal(numbersOf(had[from[0]]), numbersOf(has[to[0]])) {
			continue
		}
		if is, was := has[to[0]], had[from[0]]; (n.lines(was) > 1 || path.Base(path.Dir(from[0])) == path.Base(path.Dir(to[0]))) && !slices.Equal(slices.Sorted(maps.Values(was)), slices.Sorted(maps.Values(is))) {
			n.t.Fatalf("%s went on as %s: %v is %v", from[0], to[0], was, is)
		}
	}
}

// lines counts the lines of findings. Findings on one line are one piece of code.
func (n *appliedUpload) lines(of map[int]int64) int {
	lines := map[int]bool{}
	for _, id := range of {
		lines[n.before[id].Line] = true
	}
	return len(lines)
}

func put(in map[string]map[int]int64, path string, number int, id int64) {
	if in[path] == nil {
		in[path] = map[int]int64{}
	}
	in[path][number] = id
}

func numbersOf(items map[int]int64) []int { return slices.Sorted(maps.Keys(items)) }

// decidesOnNothingElse checks that only decided code has a decision.
func (n *appliedUpload) decidesOnNothingElse() {
	if !n.coded {
		return
	}
	for id := range n.before { // long matches with edited inner lines
		if s := n.is[id]; s != nil && n.isDecided(id) {
			n.decided[whatOf(&s.Finding)] = true
		}
	}
	for id, f := range n.after {
		if live(f.State) && n.isDecided(id) && !n.decided[whatOf(&f.Finding)] {
			n.t.Fatalf("there is no decision on %+v", f.Finding)
		}
	}
}

func (c *truth) isDecided(id int64) bool {
	switch c.store.lineages[c.store.rows[id].LineageID].Triage.State {
	case model.TriageIgnored, model.TriageReviewing, model.TriageFixing:
		return true
	}
	return false
}

// decides records a decision on a lineage.
func (c *truth) decides(lineage int64) {
	for _, row := range c.store.rows {
		if row.LineageID == lineage {
			c.decided[whatOf(&row.Finding)] = true
		}
	}
}

// triage applies a decision by a person or automatically.
func (c *truth) triage() {
	ids := slices.Sorted(maps.Keys(c.store.rows))
	if len(ids) == 0 {
		return
	}
	l := c.store.rows[rapid.SampledFrom(ids).Draw(c.t, "finding")].LineageID
	state := rapid.SampledFrom([]model.TriageState{model.TriageIgnored, model.TriageReviewing, model.TriageFixing}).Draw(c.t, "state")
	c.store.lineages[l].Triage = model.Triage{State: state, At: c.store.clock, Automatic: rapid.Bool().Draw(c.t, "automatic")}
	c.decides(l)
}

func newTruth(t *rapid.T, coded bool) *truth {
	m := newMemory()
	return &truth{
		t: t, store: m, coded: coded, decided: map[what]bool{}, tick: func() { m.tick(time.Minute) },
		send: func(u Upload) (Summary, error) { return Apply(t.Context(), m, m, u) },
	}
}
