package index

import (
	"context"
	"maps"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/redoubt/redoubt/internal/model"
)

// facetModel returns the values of a finding for a facet, and the values that an exception
// excludes.
type facetModel struct {
	values   func(w *world, f model.IndexedFinding) []string
	clear    func(f *model.FindingFilter)
	excluded func(f model.FindingFilter) []string
}

// texts returns the names of enumeration values.
func texts[T interface{ String() string }](list []T) []string {
	var out []string
	for _, v := range list {
		out = append(out, v.String())
	}
	return out
}

func one1(v interface{ String() string }) []string { return []string{v.String()} }

func flagOf(b bool) []string {
	if b {
		return []string{"true"}
	}
	return []string{"false"}
}

func decimal(id int64) string { return strconv.FormatInt(id, 10) }

func never(model.FindingFilter) []string { return nil }

func lower(list []string) []string { return each1(list, strings.ToLower) }

var facetModels = map[Facet]facetModel{
	FacetSeverity: {
		func(_ *world, f model.IndexedFinding) []string { return one1(f.Severity) },
		func(f *model.FindingFilter) { f.Severities = nil },
		func(f model.FindingFilter) []string { return texts(f.Severities) },
	},
	FacetStatus: {
		func(w *world, f model.IndexedFinding) []string {
			return one1(model.StatusOf(f.State, w.lineages[f.LineageID].Triage.State))
		},
		func(f *model.FindingFilter) { f.Statuses = nil },
		func(f model.FindingFilter) []string { return texts(f.Statuses) },
	},
	FacetReason: {
		func(w *world, f model.IndexedFinding) []string { return one1(w.lineages[f.LineageID].Triage.Reason) },
		func(f *model.FindingFilter) { f.TriageReasons = nil },
		func(f model.FindingFilter) []string { return texts(f.TriageReasons) },
	},
	FacetConfidence: {
		func(_ *world, f model.IndexedFinding) []string { return one1(f.Confidence) },
		func(f *model.FindingFilter) { f.Confidences = nil },
		func(f model.FindingFilter) []string { return texts(f.Confidences) },
	},
	FacetProject: {
		func(w *world, f model.IndexedFinding) []string { return []string{w.projects[f.ProjectID].Name} },
		func(f *model.FindingFilter) { f.Projects, f.ProjectIDs = nil, nil },
		never, // checked by acceptsPage, by name and by ID
	},
	"excluded project ids": {
		values: func(_ *world, f model.IndexedFinding) []string { return []string{decimal(f.ProjectID)} },
		excluded: func(f model.FindingFilter) (out []string) {
			for _, id := range f.ProjectIDs {
				out = append(out, decimal(id))
			}
			return out
		},
	},
	FacetProjectTag: {
		func(w *world, f model.IndexedFinding) []string { return lower(w.projects[f.ProjectID].Tags) },
		func(f *model.FindingFilter) { f.ProjectTags = nil },
		func(f model.FindingFilter) []string { return lower(f.ProjectTags) },
	},
	FacetVisibility: {
		func(w *world, f model.IndexedFinding) []string { return one1(w.projects[f.ProjectID].Visibility) },
		func(f *model.FindingFilter) { f.Visibilities = nil },
		func(f model.FindingFilter) []string { return texts(f.Visibilities) },
	},
	FacetRef: {
		func(_ *world, f model.IndexedFinding) []string { return []string{f.Ref} },
		func(f *model.FindingFilter) { f.Ref = "" },
		func(f model.FindingFilter) []string {
			if f.Ref == "" {
				return nil
			}
			return []string{f.Ref}
		},
	},
	FacetRule: {
		func(w *world, f model.IndexedFinding) []string { return []string{w.rules[f.RuleID].Name} },
		func(f *model.FindingFilter) { f.Rules = nil },
		func(f model.FindingFilter) []string { return f.Rules },
	},
	FacetRuleset: {
		func(w *world, f model.IndexedFinding) []string { return w.rules[f.RuleID].Rulesets },
		func(f *model.FindingFilter) { f.Rulesets = nil },
		func(f model.FindingFilter) []string { return f.Rulesets },
	},
	FacetCategory: {
		func(w *world, f model.IndexedFinding) []string { return w.rules[f.RuleID].Categories() },
		func(f *model.FindingFilter) { f.Categories = nil },
		func(f model.FindingFilter) []string { return f.Categories },
	},
	FacetMode: {
		func(w *world, f model.IndexedFinding) []string {
			_, mode := w.strictest(f)
			return one1(mode)
		},
		func(f *model.FindingFilter) { f.Modes = nil },
		func(f model.FindingFilter) []string { return texts(f.Modes) },
	},
	FacetVerdict: {
		func(w *world, f model.IndexedFinding) []string {
			if a := w.lineages[f.LineageID].Annotations.Assistant; a != nil && a.Autotriage != nil {
				return []string{a.Autotriage.Verdict}
			}
			return nil
		},
		func(f *model.FindingFilter) { f.Verdicts = nil },
		func(f model.FindingFilter) []string { return texts(f.Verdicts) },
	},
	FacetComponent: {
		func(w *world, f model.IndexedFinding) []string {
			if a := w.lineages[f.LineageID].Annotations.Assistant; a != nil && a.Component != nil {
				return []string{a.Component.Tag}
			}
			return nil
		},
		func(f *model.FindingFilter) { f.ComponentTags = nil },
		func(f model.FindingFilter) []string { return f.ComponentTags },
	},
	FacetPR: {
		func(w *world, f model.IndexedFinding) (out []string) {
			for _, state := range []string{"open", "merged"} {
				if w.lineages[f.LineageID].Annotations.HasPRState(state) {
					out = append(out, state)
				}
			}
			return out
		},
		func(f *model.FindingFilter) { f.PRStates = nil },
		func(f model.FindingFilter) []string { return f.PRStates },
	},
	FacetReachability: {
		func(w *world, f model.IndexedFinding) []string {
			return one1(reachability(f, w.lineages[f.LineageID].Annotations))
		},
		func(f *model.FindingFilter) { f.Reachabilities = nil },
		func(f model.FindingFilter) []string { return texts(f.Reachabilities) },
	},
	FacetTransitivity: {
		func(_ *world, f model.IndexedFinding) []string { return one1(transitivity(f)) },
		func(f *model.FindingFilter) { f.Transitivities = nil },
		func(f model.FindingFilter) []string { return texts(f.Transitivities) },
	},
	FacetMalicious: {
		func(_ *world, f model.IndexedFinding) []string { return flagOf(f.Malicious) },
		func(f *model.FindingFilter) { f.Malicious = nil }, never,
	},
	FacetExploited: {
		func(w *world, f model.IndexedFinding) []string {
			return flagOf(w.lineages[f.LineageID].Annotations.Exploited)
		},
		func(f *model.FindingFilter) { f.Exploited = nil }, never,
	},
	FacetUnrated: {
		func(_ *world, f model.IndexedFinding) []string { return flagOf(unrated(f)) },
		func(f *model.FindingFilter) { f.Unrated = nil }, never,
	},
	FacetPackage: {
		func(_ *world, f model.IndexedFinding) []string { return []string{f.Package} },
		func(f *model.FindingFilter) { f.Packages = nil },
		func(f model.FindingFilter) []string { return f.Packages },
	},
	FacetEPSS: {
		func(w *world, f model.IndexedFinding) []string {
			return one1(model.BandOf(w.lineages[f.LineageID].Annotations.EPSS))
		},
		func(f *model.FindingFilter) { f.EPSS = nil },
		func(f model.FindingFilter) []string { return texts(f.EPSS) },
	},
	FacetProOnly: {
		func(_ *world, f model.IndexedFinding) []string { return flagOf(f.ProOnly) },
		func(f *model.FindingFilter) { f.ProOnly = nil }, never,
	},
	FacetSecretType: {
		func(_ *world, f model.IndexedFinding) []string { return []string{f.SecretType} },
		func(f *model.FindingFilter) { f.SecretTypes = nil },
		func(f model.FindingFilter) []string { return f.SecretTypes },
	},
	FacetValidation: {
		func(_ *world, f model.IndexedFinding) []string { return one1(f.ValidationState) },
		func(f *model.FindingFilter) { f.ValidationStates = nil },
		func(f model.FindingFilter) []string { return texts(f.ValidationStates) },
	},
	FacetAssignee: {
		func(w *world, f model.IndexedFinding) []string {
			return []string{assigneeOf(w.lineages[f.LineageID])}
		},
		func(f *model.FindingFilter) { f.Assignees = nil },
		func(f model.FindingFilter) []string { return f.Assignees },
	},
	FacetDue: {
		func(w *world, f model.IndexedFinding) []string { return w.naiveWindows(f, dueNow) },
		func(f *model.FindingFilter) { f.Due = nil }, windowsIn,
	},
	FacetEnds: {
		func(w *world, f model.IndexedFinding) (out []string) {
			until := w.lineages[f.LineageID].Triage.Until
			if until.IsZero() {
				return nil
			}
			for days, value := range map[int]string{7: "7", 30: "30", 1e5: "any"} {
				if !until.After(someDay.AddDate(0, 0, days)) {
					out = append(out, value)
				}
			}
			return out
		},
		func(f *model.FindingFilter) { f.EndsBy = time.Time{} }, never,
	},
	FacetIncludeHistory: {
		func(_ *world, f model.IndexedFinding) []string { return flagOf(f.Historical) },
		func(f *model.FindingFilter) { f.ExcludeHistoric = false }, never,
	},
}

// naiveFacet counts a facet over all findings.
func (w *world) naiveFacet(facet Facet, f model.FindingFilter) map[string]int {
	naive := facetModels[facet]
	naive.clear(&f)
	if f.Except != nil {
		except := *f.Except
		naive.clear(&except)
		f.Except = &except
	}
	counts := map[string]int{}
	add := func(f model.FindingFilter) {
		for _, finding := range w.list(f) {
			for _, value := range naive.values(w, finding) {
				if value != "" {
					counts[value]++
				}
			}
		}
	}
	if facet != FacetRef || !f.Dedup {
		add(f)
		return counts
	}
	for _, ref := range append([]string{"refs/heads/no"}, someRefs...) { // each ref alone, as if it were selected
		f.Ref = ref
		add(f)
	}
	return counts
}

// checkListing compares a listing with results computed over all findings.
func (w *world) checkListing(t *rapid.T, v *View, f model.FindingFilter, want []model.IndexedFinding) {
	facet := rapid.SampledFrom(slices.Sorted(func(yield func(Facet) bool) {
		for facet := range facetKinds {
			if !yield(facet) {
				return
			}
		}
	})).Draw(t, "facet")
	q := ListQuery{
		Filter: f, Order: rapid.SampledFrom(undated).Draw(t, "order"), Skip: rapid.IntRange(0, 4).Draw(t, "skip"), Size: 3,
		Values: 100, Facets: []FacetRequest{{Facet: facet, Include: []string{"kept"}}}, Groups: []Grouping{ByRule, ByProject, ByPackage}, Now: dueNow,
	}
	if facet == FacetEnds {
		q.Now = someDay
	}
	got, err := v.List(context.Background(), q)
	if err != nil {
		t.Fatal(err)
	}
	if got.Total != len(want) {
		t.Errorf("Total of %+v = %d, want %d", f, got.Total, len(want))
	}
	counted := map[string]int{}
	for _, c := range got.Facets[facet].Values {
		counted[c.Value] = c.Count
	}
	naive := w.naiveFacet(facet, f)
	naive["kept"] += 0
	if diff := gocmp.Diff(naive, counted); diff != "" {
		t.Errorf("%s under %+v, except %+v (-naive +got):\n%s", facet, f, f.Except, diff)
	}
	var ids []int64
	for i := range got.Page.items {
		ids = append(ids, int64(got.Page.items[i].row.id))
	}
	if diff := gocmp.Diff(w.ordered(want, q), ids); diff != "" {
		t.Errorf("order %d of %+v (-naive +got):\n%s", q.Order, f, diff)
	}
	w.checkGroups(t, got.Groups, f, want, q.Now)
}

// checkGroups compares groups with groups computed from a list of findings.
func (w *world) checkGroups(t *rapid.T, got map[Grouping][]Group, f model.FindingFilter, list []model.IndexedFinding, now time.Time) {
	naive := map[Grouping]map[string]Group{ByRule: {}, ByProject: {}, ByPackage: {}}
	for _, finding := range list {
		project := w.projects[finding.ProjectID]
		for by, g := range map[Grouping]Group{ByRule: {Name: w.rules[finding.RuleID].Name}, ByProject: {Name: project.Name}, ByPackage: {Name: finding.Package}} {
			if by == ByPackage && g.Name == "" {
				continue
			}
			if known, ok := naive[by][g.Name]; ok {
				g = known
			}
			g.Total++
			g.Severity[finding.Severity]++
			if slices.Contains(w.naiveWindows(finding, now), string(model.DueOverdue)) {
				g.Overdue++
			}
			naive[by][g.Name] = g
		}
	}
	for by, groups := range naive {
		want := slices.AppendSeq([]Group{}, maps.Values(groups))
		slices.SortFunc(want, worst)
		for i := range got[by] {
			g := &got[by][i]
			if by == ByProject && w.projects[g.ID].Name != g.Name { // several projects may have the same name here
				t.Errorf("the project of group %+v is %+v", g, w.projects[g.ID])
			}
			g.ID = 0
		}
		if diff := gocmp.Diff(want, got[by]); diff != "" {
			t.Errorf("groups %d of %+v (-naive +got):\n%s", by, f, diff)
		}
	}
}

func TestFacetsIncludeTopAndSelectedValues(t *testing.T) {
	got := cut(map[string]int{"a": 1, "b": 5, "c": 3, "d": 3}, 2, []string{"a", "z", "b"})
	want := FacetCounts{Values: []FacetCount{{"b", 5}, {"c", 3}, {"a", 1}, {"z", 0}}, More: 1}
	if diff := gocmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}
