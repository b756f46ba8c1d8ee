package policy

import (
	"testing"

	"github.com/redoubt/redoubt"
)

// TestCountKnowsAsManyAsThePrimaryBranchHad counts equal code of one lineage: each
// that the primary branch had makes one sighting known, and a copy more is new.
func TestCountKnowsAsManyAsThePrimaryBranchHad(t *testing.T) {
	finding := func(n byte) redoubt.Finding {
		return redoubt.Finding{ID: int64(n), Identity: redoubt.Identity{Kind: redoubt.IdentityMatchBased, Hash: redoubt.Digest{n}}, CodeHash: redoubt.Digest{1}}
	}
	for _, c := range []struct {
		name    string
		had     []byte
		sighted []byte
		known   []bool
	}{
		{"one by its identity, no copy", []byte{1}, []byte{1, 2}, []bool{true, false}},
		{"the one that moved, no copy", []byte{1}, []byte{2, 3}, []bool{true, false}},
		{"two by their identities", []byte{1, 2}, []byte{1, 2}, []bool{true, true}},
		{"one stayed, one moved, no copy", []byte{1, 2}, []byte{3, 2, 4}, []bool{true, true, false}},
		{"none", nil, []byte{1}, []bool{false}},
	} {
		t.Run(c.name, func(t *testing.T) {
			var had []redoubt.Finding
			for _, n := range c.had {
				had = append(had, finding(n))
			}
			sightings := make([]Sighting, len(c.sighted))
			var group []*Sighting
			for i, n := range c.sighted {
				sightings[i] = Sighting{Finding: finding(n), Triage: redoubt.TriageIgnored}
				group = append(group, &sightings[i])
			}
			j := &Judge{scan: redoubt.Scan{Ref: "refs/heads/topic", Full: true}, primary: "refs/heads/main"}
			j.count(group, had)
			for i, want := range c.known {
				if got := sightings[i].Known; got != want {
					t.Errorf("sighting %d, of %d, is known: %t, want %t", i, c.sighted[i], got, want)
				}
			}
		})
	}
}

// TestCountInItsOrder: who is known first, of several that may be, and what of the
// lineage's decisions is left to the others.
func TestCountInItsOrder(t *testing.T) {
	of := func(id int64, n byte, kind redoubt.IssueType, path string) redoubt.Finding {
		return redoubt.Finding{ID: id, Identity: redoubt.Identity{Kind: redoubt.IdentityMatchBased, Hash: redoubt.Digest{n}}, IssueType: kind, Path: path, CodeHash: redoubt.Digest{1}}
	}
	const code, dependency = redoubt.SAST, redoubt.SCA
	for _, c := range []struct {
		name    string
		had     []redoubt.Finding
		sighted []redoubt.Finding
		known   []bool
		ignored []bool // as the lineage is: the others have no decision
	}{
		{"by its identity, behind a copy", []redoubt.Finding{of(1, 1, code, "a")}, []redoubt.Finding{of(0, 2, code, "a"), of(0, 1, code, "a")}, []bool{false, true}, []bool{false, true}},
		{"by its id, behind a copy", []redoubt.Finding{of(1, 1, code, "a")}, []redoubt.Finding{of(0, 2, code, "a"), of(1, 3, code, "a")}, []bool{false, true}, []bool{false, true}},
		{"what the ref has, behind what is new", []redoubt.Finding{of(1, 1, code, "a")}, []redoubt.Finding{of(0, 2, code, "a"), of(7, 3, code, "a")}, []bool{false, true}, []bool{false, true}},
		{"none, so the first has the decision", nil, []redoubt.Finding{of(5, 2, code, "a"), of(6, 3, code, "a"), of(7, 4, code, "a")}, []bool{false, false, false}, []bool{true, false, false}},
		{"none, so what the ref has has it", nil, []redoubt.Finding{of(0, 2, code, "a"), of(7, 3, code, "a")}, []bool{false, false}, []bool{false, true}},
		{"another name in the same lockfile", []redoubt.Finding{of(1, 1, dependency, "a")}, []redoubt.Finding{of(0, 1, dependency, "a"), of(0, 2, dependency, "a"), of(0, 3, dependency, "b")}, []bool{true, true, false}, []bool{true, true, false}},
		{"other code in the same file", []redoubt.Finding{of(1, 1, code, "a")}, []redoubt.Finding{of(0, 1, code, "a"), of(0, 2, code, "a")}, []bool{true, false}, []bool{true, false}},
	} {
		t.Run(c.name, func(t *testing.T) {
			sightings := make([]Sighting, len(c.sighted))
			var group []*Sighting
			for i, f := range c.sighted {
				sightings[i] = Sighting{Finding: f, Triage: redoubt.TriageIgnored}
				group = append(group, &sightings[i])
			}
			j := &Judge{scan: redoubt.Scan{Ref: "refs/heads/topic", Full: true}, primary: "refs/heads/main"}
			j.count(group, c.had)
			for i := range sightings {
				if s := &sightings[i]; s.Known != c.known[i] || (s.Triage == redoubt.TriageIgnored) != c.ignored[i] {
					t.Errorf("sighting %d is known: %t, ignored: %t", i, s.Known, s.Triage == redoubt.TriageIgnored)
				}
			}
		})
	}
}

// TestMayBe changes one thing after the other of a finding that moved.
func TestMayBe(t *testing.T) {
	other := redoubt.Identity{Kind: redoubt.IdentitySecret, Hash: redoubt.Digest{9}}
	for name, c := range map[string]struct {
		change func(j *Judge, s, had *redoubt.Finding)
		want   bool
	}{
		"the same code":                           {func(*Judge, *redoubt.Finding, *redoubt.Finding) {}, true},
		"other code":                              {func(_ *Judge, s, _ *redoubt.Finding) { s.CodeHash[0]++ }, false},
		"other code, on the primary branch":       {func(j *Judge, s, _ *redoubt.Finding) { s.CodeHash[0]++; j.scan.Ref = j.primary }, true},
		"other code, of a dependency":             {func(_ *Judge, s, _ *redoubt.Finding) { s.CodeHash[0]++; s.IssueType = redoubt.SCA }, true},
		"other code, known by something else":     {func(_ *Judge, s, _ *redoubt.Finding) { s.CodeHash[0]++; s.Identity = other }, true},
		"code that is not told":                   {func(_ *Judge, s, _ *redoubt.Finding) { s.CodeHash = redoubt.Digest{} }, true},
		"other code, was known by something else": {func(_ *Judge, s, had *redoubt.Finding) { s.CodeHash[0]++; had.Identity = other }, true},
		"code that was not told":                  {func(_ *Judge, _, had *redoubt.Finding) { had.CodeHash = redoubt.Digest{} }, true},
		"in another file":                         {func(_ *Judge, s, _ *redoubt.Finding) { s.Path = "b" }, true},
		"in another file, by a diff":              {func(j *Judge, s, _ *redoubt.Finding) { s.Path, j.scan.Full = "b", false }, false},
		"in another file, by a diff, known":       {func(j *Judge, s, _ *redoubt.Finding) { s.Path, s.ID, j.scan.Full = "b", 5, false }, true},
		"in the same file, by a diff":             {func(j *Judge, _, _ *redoubt.Finding) { j.scan.Full = false }, true},
	} {
		j := &Judge{scan: redoubt.Scan{Ref: "refs/heads/topic", Full: true}, primary: "refs/heads/main"}
		f := redoubt.Finding{Path: "a", IssueType: redoubt.SAST, Identity: redoubt.Identity{Kind: redoubt.IdentityMatchBased, Hash: redoubt.Digest{1}}, CodeHash: redoubt.Digest{1}}
		had := f
		f.Identity.Hash[0]++
		c.change(j, &f, &had)
		if got := j.mayBe(&Sighting{Finding: f}, had); got != c.want {
			t.Errorf("%s: %t", name, got)
		}
	}
}
