package policy

import (
	"testing"

	"github.com/redoubt/redoubt/internal/model"
)

// TestCountLimitsKnownToPrimaryBranch checks sightings of equal code in one lineage. As many
// are known as the primary branch had, and a further copy is new.
func TestCountLimitsKnownToPrimaryBranch(t *testing.T) {
	finding := func(n byte) model.Finding {
		return model.Finding{ID: int64(n), Identity: model.Identity{Kind: model.IdentityMatchBased, Hash: model.Digest{n}}, CodeHash: model.Digest{1}}
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
			var had []model.Finding
			for _, n := range c.had {
				had = append(had, finding(n))
			}
			sightings := make([]Sighting, len(c.sighted))
			var group []*Sighting
			for i, n := range c.sighted {
				sightings[i] = Sighting{Finding: finding(n), Triage: model.TriageIgnored}
				group = append(group, &sightings[i])
			}
			j := &Judge{scan: model.Scan{Ref: "refs/heads/topic", Full: true}, primary: "refs/heads/main"}
			j.count(group, had)
			for i, want := range c.known {
				if got := sightings[i].Known; got != want {
					t.Errorf("sighting %d, of %d, is known: %t, want %t", i, c.sighted[i], got, want)
				}
			}
		})
	}
}

// TestCountOrder checks which of several candidates are known first, and that others do not
// have the lineage's triage decision.
func TestCountOrder(t *testing.T) {
	of := func(id int64, n byte, kind model.IssueType, path string) model.Finding {
		return model.Finding{ID: id, Identity: model.Identity{Kind: model.IdentityMatchBased, Hash: model.Digest{n}}, IssueType: kind, Path: path, CodeHash: model.Digest{1}}
	}
	const code, dependency = model.SAST, model.SCA
	for _, c := range []struct {
		name    string
		had     []model.Finding
		sighted []model.Finding
		known   []bool
		ignored []bool // triaged like the lineage; others are not triaged
	}{
		{"by its identity, behind a copy", []model.Finding{of(1, 1, code, "a")}, []model.Finding{of(0, 2, code, "a"), of(0, 1, code, "a")}, []bool{false, true}, []bool{false, true}},
		{"by its id, behind a copy", []model.Finding{of(1, 1, code, "a")}, []model.Finding{of(0, 2, code, "a"), of(1, 3, code, "a")}, []bool{false, true}, []bool{false, true}},
		{"what the ref has, behind what is new", []model.Finding{of(1, 1, code, "a")}, []model.Finding{of(0, 2, code, "a"), of(7, 3, code, "a")}, []bool{false, true}, []bool{false, true}},
		{"none, so the first has the decision", nil, []model.Finding{of(5, 2, code, "a"), of(6, 3, code, "a"), of(7, 4, code, "a")}, []bool{false, false, false}, []bool{true, false, false}},
		{"none, so what the ref has has it", nil, []model.Finding{of(0, 2, code, "a"), of(7, 3, code, "a")}, []bool{false, false}, []bool{false, true}},
		{"another name in the same lockfile", []model.Finding{of(1, 1, dependency, "a")}, []model.Finding{of(0, 1, dependency, "a"), of(0, 2, dependency, "a"), of(0, 3, dependency, "b")}, []bool{true, true, false}, []bool{true, true, false}},
		{"other code in the same file", []model.Finding{of(1, 1, code, "a")}, []model.Finding{of(0, 1, code, "a"), of(0, 2, code, "a")}, []bool{true, false}, []bool{true, false}},
	} {
		t.Run(c.name, func(t *testing.T) {
			sightings := make([]Sighting, len(c.sighted))
			var group []*Sighting
			for i, f := range c.sighted {
				sightings[i] = Sighting{Finding: f, Triage: model.TriageIgnored}
				group = append(group, &sightings[i])
			}
			j := &Judge{scan: model.Scan{Ref: "refs/heads/topic", Full: true}, primary: "refs/heads/main"}
			j.count(group, c.had)
			for i := range sightings {
				if s := &sightings[i]; s.Known != c.known[i] || (s.Triage == model.TriageIgnored) != c.ignored[i] {
					t.Errorf("sighting %d is known: %t, ignored: %t", i, s.Known, s.Triage == model.TriageIgnored)
				}
			}
		})
	}
}

// TestMayBe checks mayBe for variants of a moved finding.
func TestMayBe(t *testing.T) {
	other := model.Identity{Kind: model.IdentitySecret, Hash: model.Digest{9}}
	for name, c := range map[string]struct {
		change func(j *Judge, s, had *model.Finding)
		want   bool
	}{
		"the same code":                           {func(*Judge, *model.Finding, *model.Finding) {}, true},
		"other code":                              {func(_ *Judge, s, _ *model.Finding) { s.CodeHash[0]++ }, false},
		"other code, on the primary branch":       {func(j *Judge, s, _ *model.Finding) { s.CodeHash[0]++; j.scan.Ref = j.primary }, true},
		"other code, of a dependency":             {func(_ *Judge, s, _ *model.Finding) { s.CodeHash[0]++; s.IssueType = model.SCA }, true},
		"other code, known by something else":     {func(_ *Judge, s, _ *model.Finding) { s.CodeHash[0]++; s.Identity = other }, true},
		"code that is not told":                   {func(_ *Judge, s, _ *model.Finding) { s.CodeHash = model.Digest{} }, true},
		"other code, was known by something else": {func(_ *Judge, s, had *model.Finding) { s.CodeHash[0]++; had.Identity = other }, true},
		"code that was not told":                  {func(_ *Judge, _, had *model.Finding) { had.CodeHash = model.Digest{} }, true},
		"in another file":                         {func(_ *Judge, s, _ *model.Finding) { s.Path = "b" }, true},
		"in another file, by a diff":              {func(j *Judge, s, _ *model.Finding) { s.Path, j.scan.Full = "b", false }, false},
		"in another file, by a diff, known":       {func(j *Judge, s, _ *model.Finding) { s.Path, s.ID, j.scan.Full = "b", 5, false }, true},
		"in the same file, by a diff":             {func(j *Judge, _, _ *model.Finding) { j.scan.Full = false }, true},
	} {
		j := &Judge{scan: model.Scan{Ref: "refs/heads/topic", Full: true}, primary: "refs/heads/main"}
		f := model.Finding{Path: "a", IssueType: model.SAST, Identity: model.Identity{Kind: model.IdentityMatchBased, Hash: model.Digest{1}}, CodeHash: model.Digest{1}}
		had := f
		f.Identity.Hash[0]++
		c.change(j, &f, &had)
		if got := j.mayBe(&Sighting{Finding: f}, had); got != c.want {
			t.Errorf("%s: %t", name, got)
		}
	}
}
