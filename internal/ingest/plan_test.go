package ingest

import (
	"fmt"
	"slices"
	"testing"

	"github.com/redoubt/redoubt/internal/model"
	"github.com/redoubt/redoubt/internal/weblink"
)

// stood returns the row of a sighting after a full scan of the ref without links.
func stood(s *Sighting, id, lineage, ruleID int64) model.Finding {
	f := s.Finding
	f.ID, f.LineageID, f.RuleID, f.Ref, f.Source = id, lineage, ruleID, "refs/heads/topic", "semgrep"
	f.SeenByFull = true
	return f
}

// planOf plans one scan of a topic branch, in which each rule has the id 5.
func planOf(t *testing.T, stored Stored, sightings []Sighting, change func(*Facts)) Changes {
	t.Helper()
	facts := Facts{Ref: "refs/heads/topic", Primary: "refs/heads/main", Source: "semgrep", ScanID: 3, RuleIDs: map[*model.Rule]int64{}}
	facts.Scope = Scope{Full: true, searched: map[string]bool{}}
	for i := range sightings {
		facts.RuleIDs[sightings[i].Result.Rule] = 5
		facts.Scope.searched[sightings[i].Finding.Path] = true
	}
	if change != nil {
		change(&facts)
	}
	c, err := alignedPlan(stored, sightings, facts)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// TestChangeDetection checks that changes of text, rule, severity and state make an item. Recording
// that a full scan saw the finding makes no item and writes no body.
func TestChangeDetection(t *testing.T) {
	for name, c := range map[string]struct {
		was      func(*model.Finding)
		want     ItemChange
		body     bool
		reported bool
	}{
		"nothing":     {func(*model.Finding) {}, "", false, true},
		"who saw it":  {func(f *model.Finding) { f.SeenByFull = false }, ItemUnchanged, false, true},
		"its text":    {func(f *model.Finding) { f.Content = model.Digest{9} }, ItemChanged, true, true},
		"its rule":    {func(f *model.Finding) { f.RuleID = 4 }, ItemChanged, false, true},
		"severity":    {func(f *model.Finding) { f.Severity = model.SeverityLow }, ItemChanged, false, true},
		"muted":       {func(f *model.Finding) { f.State = model.Muted }, ItemChanged, false, true},
		"gone before": {func(f *model.Finding) { f.State = model.Fixed }, ItemReturned, false, true},
	} {
		sightings := observe("semgrep", matched("a.py", 1, "x"))
		row := stood(&sightings[0], 1, 7, 5)
		c.was(&row)
		got := planOf(t, Stored{Findings: []model.Finding{row}}, sightings, nil)
		change := ItemChange("")
		if len(got.Updated) == 1 {
			change = ItemUnchanged
			if body := got.Updated[0].Body != nil; body != c.body {
				t.Errorf("%s: its body is written: %t", name, body)
			}
		}
		if len(got.Items) == 1 {
			change = got.Items[0].Change
		}
		unchanged := 0
		if c.want == "" || c.want == ItemUnchanged {
			unchanged = 1
		}
		if change != c.want || got.Unchanged != unchanged || slices.Equal(got.Reported, []int64{1}) != c.reported {
			t.Errorf("%s: it is %q, %d unchanged, reported %v", name, change, got.Unchanged, got.Reported)
		}
	}
	muted := with(matched("a.py", 1, "x"), func(r *model.Result) { r.Muted = true })
	sightings := observe("semgrep", muted)
	row := stood(&sightings[0], 1, 7, 5)
	if got := planOf(t, Stored{Findings: []model.Finding{row}}, sightings, nil); len(got.Reported) > 0 {
		t.Errorf("of what is muted %v is reported", got.Reported)
	}
}

// TestProposedMutes checks that proposed mutes apply if the ref or the primary branch has them,
// for existing and new findings.
func TestProposedMutes(t *testing.T) {
	for name, c := range map[string]struct {
		here, onPrimary model.State // 0: no finding
		muted           bool
	}{
		"nowhere":                  {0, 0, false},
		"open here":                {model.Unresolved, 0, false},
		"muted here":               {model.Muted, 0, true},
		"open on the primary":      {0, model.Unresolved, false},
		"muted on the primary":     {0, model.Muted, true},
		"open here, muted there":   {model.Unresolved, model.Muted, true},
		"muted here, open there":   {model.Muted, model.Unresolved, true},
		"gone here, muted there":   {model.Fixed, model.Muted, true},
		"gone here, unknown there": {model.Fixed, 0, false},
	} {
		sightings := observe("semgrep", matched("a.py", 1, "x"))
		sightings[0].Proposed = true
		id := sightings[0].Finding.Identity
		var stored Stored
		if c.here != 0 {
			row := stood(&sightings[0], 1, 7, 5)
			row.State = c.here
			stored.Findings = []model.Finding{row}
		} else if c.onPrimary != 0 {
			stored.Known = map[model.Identity]model.Lineage{id: {ID: 7}}
		}
		if c.onPrimary != 0 {
			primary := stood(&sightings[0], 2, 7, 5)
			primary.Ref, primary.State = "refs/heads/main", c.onPrimary
			stored.coexisting.live = map[int64][]model.Finding{7: {primary}}
		}
		got := planOf(t, stored, sightings, nil)
		state := model.State(0)
		switch {
		case len(got.Added) == 1:
			state = got.Added[0].State
		case len(got.Updated) == 1:
			state = got.Updated[0].State
		case c.here != 0:
			state = c.here
		}
		muted, decided := got.MuteDecisions[id]
		if !decided || muted != c.muted || (state == model.Muted) != c.muted {
			t.Errorf("%s: it is %s, and held is %v", name, state, got.MuteDecisions)
		}
	}
}

// TestNewIdentityJoinsLineage checks that a reported identity joins the lineage of its finding. If
// its lineage has a separate finding somewhere, it joins only on the primary branch or by a less
// detailed report.
func TestNewIdentityJoinsLineage(t *testing.T) {
	was, is := observe("semgrep", matched("a.py", 1, "x"))[0], observe("semgrep", matched("b.py", 1, "x"))[0]
	less := observe("semgrep", result(eqeq, "b.py", 1, "x"))[0]
	row := stood(&was, 1, 7, 5)
	for name, c := range map[string]struct {
		seen   Sighting
		ref    string
		of     int64 // the lineage of the reported identity, or 0
		apart  bool
		link   bool
		merged bool
	}{
		"the same name":                     {was, "refs/heads/topic", 7, false, false, false},
		"a new name":                        {is, "refs/heads/topic", 0, false, true, false},
		"a name of its own":                 {is, "refs/heads/main", 7, false, false, false},
		"a name of another":                 {is, "refs/heads/topic", 8, false, false, true},
		"a name of another, on primary":     {is, "refs/heads/main", 8, false, false, true},
		"of one beside it":                  {is, "refs/heads/topic", 8, true, false, false},
		"of one beside it, on primary":      {is, "refs/heads/main", 8, true, true, false},
		"of one beside it, that tells less": {less, "refs/heads/topic", 8, true, true, false},
	} {
		stored := Stored{Known: map[model.Identity]model.Lineage{}}
		if c.of != 0 {
			stored.Known[c.seen.Finding.Identity] = model.Lineage{ID: c.of}
		}
		p := planner{Facts: Facts{Ref: c.ref, Primary: "refs/heads/main"}, lineages: newJoiner(stored)}
		p.coexisting.live = map[int64][]model.Finding{7: {row}}
		if c.apart {
			neighbor := row
			neighbor.ID, neighbor.LineageID = 2, 8
			p.coexisting.live[8] = []model.Finding{neighbor}
		}
		p.link(&row, &c.seen)
		if linked := len(p.changes.Links) == 1; linked != c.link || linked && p.changes.Links[0] != (model.IdentityLink{Identity: c.seen.Finding.Identity, LineageID: 7}) {
			t.Errorf("%s: linked is %v", name, p.changes.Links)
		}
		if merged := len(p.lineages.merges()) == 1; merged != c.merged {
			t.Errorf("%s: merged is %t", name, merged)
		}
	}
}

// TestOmittedHashesAreRetained checks that unchanged identities retain hashes that a report omits. Reported
// hashes replace them, and other identities do not inherit them.
func TestOmittedHashesAreRetained(t *testing.T) {
	detailed := observe("semgrep", with(matched("a.py", 1, "x"), func(r *model.Result) {
		r.StartHash, r.EndHash, r.Location.EndLine = "s", "e", 9
	}))[0]
	detailed.Finding.PatternHash, detailed.Finding.EdgeHash = model.Digest{3}, model.Digest{4}
	untold := detailed
	untold.Finding.PatternHash, untold.Finding.EdgeHash = model.Digest{}, model.Digest{}
	another := untold
	another.Finding.Identity.Hash[0]++
	row := stood(&detailed, 1, 7, 5)
	row.PatternHash, row.EdgeHash = model.Digest{1}, model.Digest{2}
	p := &planner{}
	for name, c := range map[string]struct {
		seen Sighting
		want [2]byte
	}{"told": {detailed, [2]byte{3, 4}}, "not told": {untold, [2]byte{1, 2}}, "another identity": {another, [2]byte{}}} {
		next := p.updatedRow(&row, &c.seen)
		if got := [2]byte{next.PatternHash[0], next.EdgeHash[0]}; got != c.want {
			t.Errorf("%s: the hashes are %v, want %v", name, got, c.want)
		}
	}
}

// TestRepositoryChangeUpdatesBodies checks that another repository changes bodies, because they contain
// links.
func TestRepositoryChangeUpdatesBodies(t *testing.T) {
	sightings := observe("semgrep", matched("a.py", 1, "x"))
	row := stood(&sightings[0], 1, 7, 5)
	got := planOf(t, Stored{Findings: []model.Finding{row}}, sightings, func(f *Facts) { f.Links = weblink.New("https://github.com/acme/shop", "c1", "") })
	if len(got.Updated) != 1 || got.Updated[0].Content == row.Content || got.Updated[0].Body == nil {
		t.Errorf("it is %+v", got.Updated)
	}
}

// TestEqualCodeInOtherFormulaGroup checks equal code in another formula group. It is another
// finding if the rule's text is known to be unchanged, and a moved one otherwise.
func TestEqualCodeInOtherFormulaGroup(t *testing.T) {
	for version, want := range map[int]string{0: "0 added, moved", 2: "1 added, closed"} {
		served := *eqeq
		served.Version = version
		was := matched("a.py", 1, "x")
		was.Rule = &served
		row := stood(&observe("semgrep", was)[0], 1, 7, 5)
		second := with(was, func(r *model.Result) { r.MatchBasedID, r.PatternHash = "eqeq with another text", "another" })
		c := planOf(t, Stored{Findings: []model.Finding{row}, Lineages: map[int64]model.Lineage{7: {ID: 7}}}, observe("semgrep", second), nil)
		if got := fmt.Sprintf("%d added, %s", len(c.Added), c.Items[0].Change); got != want {
			t.Errorf("version %d: %s, want %s", version, got, want)
		}
	}
}

// TestRelease checks that Release clears the results of sightings once they are encoded, except for
// the scores of new lineages.
func TestRelease(t *testing.T) {
	epss := &model.EPSS{Score: 0.5}
	for _, release := range []bool{false, true} {
		known, fresh := matched("a.py", 1, "x"), matched("b.py", 1, "y")
		fresh.Code, fresh.DataFlow = "y == y", []model.FlowStep{{Path: "b.py"}}
		vulnerable := with(vulnerable("p", "1"), func(r *model.Result) { r.Dependency.EPSS = epss })
		sightings := observe("semgrep", known, fresh, vulnerable)
		results := make([]*model.Result, len(sightings))
		for i := range sightings {
			results[i] = sightings[i].Result
		}
		row := stood(&sightings[0], 1, 7, 5)
		c := planOf(t, Stored{Findings: []model.Finding{row}}, sightings, func(f *Facts) { f.Release = release })
		if len(c.Added) != 2 || len(c.Lineages) != 2 || c.Lineages[0].Annotations.EPSS != nil || c.Lineages[1].Annotations.EPSS != epss {
			t.Fatalf("release %t: %d are added, in the lineages %+v", release, len(c.Added), c.Lineages)
		}
		for i := range sightings {
			if gone := sightings[i].Result != results[i]; gone != release || release && sightings[i].Result.Message != "" {
				t.Errorf("release %t: sighting %d let go: %t", release, i, gone)
			}
		}
		if gone := results[1].Message == "" && results[1].Code == "" && results[1].DataFlow == nil; gone != release {
			t.Errorf("release %t: what a new finding says went with its body: %t", release, gone)
		}
	}
}

// TestJoinedLineagesInheritLinks checks links that were added before their lineages were joined.
func TestJoinedLineagesInheritLinks(t *testing.T) {
	p := planner{lineages: newJoiner(Stored{Lineages: map[int64]model.Lineage{7: {ID: 7}, 4: {ID: 4}}})}
	p.changes.Links = []model.IdentityLink{{LineageID: 7}}
	p.lineages.unite(7, 4)
	p.finish(nil)
	if got := p.changes.Links[0].LineageID; got != 4 {
		t.Errorf("the link hangs on lineage %d, of which 4 stays", got)
	}
}

// TestReopenActor checks the actor that reopens a finding: its scan, or the system for advisories.
func TestReopenActor(t *testing.T) {
	for scan, want := range map[int64]model.Actor{3: {Kind: "scan", ID: "3", Name: "semgrep"}, 0: {Kind: "system", Name: "semgrep"}} {
		sightings := observe("semgrep", matched("a.py", 1, "x"))
		row := stood(&sightings[0], 1, 7, 5)
		row.State = model.Fixed
		lineages := map[int64]model.Lineage{7: {ID: 7, Triage: model.Triage{State: model.TriageFixing}}}
		c := planOf(t, Stored{Findings: []model.Finding{row}, Lineages: lineages}, sightings, func(f *Facts) { f.ScanID = scan })
		if len(c.Triage) != 1 || c.Triage[0].By != want {
			t.Errorf("scan %d: the trail is %+v", scan, c.Triage)
		}
	}
}

// alignedPlan is Plan with the pairs of the alignment.
func alignedPlan(stored Stored, sightings []Sighting, facts Facts) (Changes, error) {
	a := newAlignment(liveRows(stored.Findings), pointers(sightings), facts.linksOf, facts.Scope)
	if err := stored.align(a, facts); err != nil {
		return Changes{}, err
	}
	return Plan(stored, sightings, facts)
}
