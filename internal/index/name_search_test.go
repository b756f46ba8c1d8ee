package index

import (
	"cmp"
	"context"
	"slices"
	"strings"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/redoubt/redoubt/internal/model"
)

// TestNameSearchMatchesNaiveModel compares name searches with a computation over all
// visible findings.
func TestNameSearchMatchesNaiveModel(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w := newWorld()
		x := New(w, Options{Clock: clockOfDue})
		for range rapid.IntRange(1, 8).Draw(t, "commits") {
			w.step(t)
			v, err := x.Deployment(context.Background(), tenant)
			if err != nil {
				t.Fatal(err)
			}
			visible := rapid.SampledFrom([]model.ProjectGlobs{nil, {"acme/*"}, {"*/web"}, {"none/**"}}).Draw(t, "visible")
			text := rapid.SampledFrom([]string{"", "a", "o", "-", "acme/", "cve", "no such name"}).Draw(t, "text")
			limit := rapid.IntRange(1, 4).Draw(t, "limit")
			rank := func(kind NameKind, name string) (int, bool) {
				return strings.Count(name, "a") + int(kind), strings.Contains(name, text)
			}
			if diff := gocmp.Diff(w.names(visible, limit, rank), v.SearchNames(visible, limit, rank)); diff != "" {
				t.Fatalf("%q in %v (-looked at each +found):\n%s", text, visible, diff)
			}
		}
	})
}

// names returns the best names of each kind.
func (w *world) names(visible model.ProjectGlobs, limit int, rank NameRank) []NameHit {
	type key struct {
		kind NameKind
		name string
		id   int64
	}
	hits := map[key]NameHit{}
	most := map[key]int{}
	for _, p := range w.projects {
		if visible.Allows(p.Name) {
			hits[key{NameOfProject, p.Name, p.ID}] = NameHit{Kind: NameOfProject, ID: p.ID, Name: p.Name}
		}
	}
	for _, t := range []model.IssueType{model.SAST, model.SCA, model.Secrets} {
		f := model.FindingFilter{IssueType: t, Visible: visible}
		counts := map[key]int{}
		each := func(found model.IndexedFinding, n int) {
			names := []key{{NameOfProject, w.projects[found.ProjectID].Name, found.ProjectID}, {NameOfPackage, found.Package, 0}}
			if t == model.SCA {
				names = append(names, key{NameOfVulnerability, strings.ToLower(vulnerabilityOf(found)), 0})
			} else {
				names = append(names, key{NameOfRule, w.rules[found.RuleID].Name, 0})
			}
			for _, k := range names {
				counts[k] += n
			}
		}
		for _, found := range w.list(f) {
			each(found, 0)
		}
		f.Dedup, f.Statuses = true, []model.Status{model.StatusOpen}
		for _, found := range w.list(f) {
			each(found, 1)
		}
		for k, n := range counts {
			h := hits[k]
			h.Kind, h.ID, h.Name = k.kind, k.id, k.name
			if h.IssueType == 0 || n > most[k] {
				h.IssueType, most[k] = t, n
			}
			h.Open += n
			hits[k] = h
		}
	}
	byKind := make([][]NameHit, NameOfVulnerability+1)
	for k, h := range hits {
		var matches bool
		if h.Rank, matches = rank(k.kind, k.name); matches && k.name != "" {
			byKind[k.kind] = append(byKind[k.kind], h)
		}
	}
	var out []NameHit
	for _, list := range byKind {
		slices.SortFunc(list, func(a, b NameHit) int {
			return cmp.Or(a.Rank-b.Rank, len(a.Name)-len(b.Name), strings.Compare(a.Name, b.Name), int(a.ID-b.ID))
		})
		out = append(out, list[:min(limit, len(list))]...)
	}
	return out
}
