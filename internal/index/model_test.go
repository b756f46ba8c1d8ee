package index

import (
	"bytes"
	"context"
	"maps"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/redoubt/redoubt/internal/model"
)

// TestIndexMatchesNaiveModel compares the index with a computation over all findings, for any
// history and query. It also compares it with an index built from scratch and one restored from a
// checkpoint.
func TestIndexMatchesNaiveModel(t *testing.T) {
	dir := t.TempDir()
	rapid.Check(t, func(t *rapid.T) {
		w := newWorld()
		budget := one(t, "body cache", 0, int64(smallChunk), int64(1<<30))
		src := &broken{world: w, after: working}
		options := Options{BodyCache: budget, Checkpoints: Checkpoints{Dir: dir, Registry: w}, Clock: clockOfDue}
		x := New(src, options)
		for range rapid.IntRange(1, 12).Draw(t, "commits") {
			w.step(t)
			w.skipped += time.Duration(rapid.IntRange(0, 90).Draw(t, "hours")) * time.Hour
			if chance(t, "break the feed", 15) {
				src.after = rapid.IntRange(0, 5).Draw(t, "after")
				_, _ = x.Deployment(context.Background(), tenant)
				src.after = working
				w.step(t)
			}
			if chance(t, "write a checkpoint", 30) {
				x.Save(context.Background())
			}
			if chance(t, "start again", 20) {
				x = New(src, options)
			}
			if chance(t, "read bodies", 20) {
				x.warm(context.Background())
			}
			v := view(t, x)
			if v.Version() != w.version {
				t.Fatalf("view of version %d, store has %d", v.Version(), w.version)
			}
			for range 3 {
				w.checkList(t, v, w.someFilter(t))
			}
		}
		checkInvariants(t, w, x)
		for _, issueType := range []model.IssueType{model.SAST, model.SCA, model.Secrets} {
			incremental := written(t, view(t, x), model.FindingFilter{IssueType: issueType}, 0, 1000)
			rebuilt := written(t, view(t, New(w, Options{BodyCache: budget, Clock: clockOfDue})), model.FindingFilter{IssueType: issueType}, 0, 1000)
			if !bytes.Equal(incremental, rebuilt) {
				t.Errorf("changes applied one by one give\n%s\nbuilt at once\n%s", incremental, rebuilt)
			}
		}
	})
}

func view(t rapid.TB, x *Index) *View {
	t.Helper()
	v, err := x.Deployment(context.Background(), tenant)
	if err != nil {
		t.Fatal(err)
	}
	return v
}

func written(t rapid.TB, v *View, f model.FindingFilter, page, size int) []byte {
	t.Helper()
	p, err := v.Page(context.Background(), f, page, size)
	if err != nil {
		t.Fatal(err)
	}
	var buf bytes.Buffer
	n, err := p.WriteTo(&buf)
	if err != nil || n != int64(buf.Len()) {
		t.Fatalf("WriteTo = %d, %v; %d bytes came", n, err, buf.Len())
	}
	return buf.Bytes()
}

// checkList compares all methods of reading a filter's list.
func (w *world) checkList(t *rapid.T, v *View, f model.FindingFilter) {
	want := w.list(f)
	if n := v.Count(f); n != len(want) {
		t.Errorf("Count(%+v) = %d, want %d", f, n, len(want))
	}
	size := rapid.IntRange(1, 7).Draw(t, "page size")
	var got, shown []any
	for page := 0; page <= len(want)/size; page++ {
		var part []any
		unmarshal(t, written(t, v, f, page, size), &part)
		if page < len(want)/size && len(part) != size {
			t.Errorf("page %d of %+v holds %d findings, want %d", page, f, len(part), size)
		}
		got = append(got, part...)
	}
	for _, finding := range want {
		shown = append(shown, w.shown(t, finding))
	}
	if diff := cmp.Diff(shown, got); diff != "" {
		t.Errorf("list of %+v (-want +got):\n%s", f, diff)
	}
	w.checkTargets(t, v, f, want)
	w.checkListing(t, v, f, want)
	checkSelection(t, v, f)
}

// checkSelection compares both methods of selecting a page: by rank, and by a scan with a random
// bound.
func checkSelection(t *rapid.T, v *View, f model.FindingFilter) {
	skip, size := rapid.IntRange(0, 5).Draw(t, "skip"), rapid.IntRange(1, 5).Draw(t, "size")
	v.read(f.IssueType, func(s *state, p *partition) {
		q := s.query(p, &f)
		want := p.ranked(q, skip, size)
		bound := rapid.IntRange(0, len(p.rows)).Draw(t, "bound")
		if got, ok := p.scan(q, skip, size, bound); ok && q.ids == nil && len(q.with)+len(q.without) == 0 && !slices.Equal(got, want) {
			t.Errorf("a scan of %d rows for %+v finds %v, ranks find %v", bound, f, got, want)
		}
		if _, ok := p.scan(q, skip, size, len(p.rows)); !ok && skip+size <= len(p.rows) {
			t.Errorf("a scan of all rows leaves %+v open", f)
		}
	})
}

func (w *world) checkTargets(t *rapid.T, v *View, f model.FindingFilter, list []model.IndexedFinding) {
	limit := rapid.IntRange(0, 6).Draw(t, "limit")
	var want []model.Target
	var lineages []int64
	for _, finding := range list[:min(limit, len(list))] {
		want = append(want, model.Target{FindingID: finding.ID, LineageID: finding.LineageID})
		lineages = append(lineages, finding.LineageID)
	}
	got, err := v.Newest(context.Background(), f, limit)
	if diff := cmp.Diff(want, got); diff != "" || err != nil {
		t.Errorf("Newest(%+v): %v (-want +got):\n%s", f, err, diff)
	}
	var ids []int64
	for _, id := range slices.Sorted(maps.Keys(w.findings)) {
		finding := w.findings[id]
		if finding.IssueType == f.IssueType && finding.State != model.StateRemoved && slices.Contains(lineages, finding.LineageID) {
			ids = append(ids, id)
		}
	}
	all, err := v.Occurrences(context.Background(), f.IssueType, append(lineages, 404))
	if diff := cmp.Diff(ids, all); diff != "" || err != nil {
		t.Errorf("Occurrences(%v): %v (-want +got):\n%s", lineages, err, diff)
	}
}

// checkInvariants checks properties that lists do not reveal: the order of rows, and the
// consistency of bitmaps with rows.
func checkInvariants(t *rapid.T, w *world, x *Index) {
	if n := len(x.deployments[tenant].state.lineages.numbers); n != len(w.lineages) {
		t.Errorf("%d lineages are kept, there are %d", n, len(w.lineages))
	}
	for _, p := range x.deployments[tenant].state.parts {
		if len(p.touched)+len(p.late.rows) > 0 || int(p.listed.GetCardinality()) != len(p.where) {
			t.Fatalf("left over: %d touched, %d late, %d listed of %d", len(p.touched), len(p.late.rows), p.listed.GetCardinality(), len(p.where))
		}
		for i := 1; i < len(p.rows); i++ {
			if p.rows[i].before(&p.rows[i-1]) {
				t.Fatalf("row %d is before row %d", i, i-1)
			}
		}
		checkColumns(t, x.deployments[tenant].state, p)
		for f := range fields {
			total := uint64(0)
			for _, b := range p.values[f] {
				if b != nil {
					total += b.GetCardinality()
				}
			}
			for id, ordinal := range p.where {
				v := p.rows[ordinal].value(f)
				if p.rows[ordinal].id != id || v != 0 && !p.readBitmap(f, v).Contains(ordinal) {
					t.Fatalf("row %d of finding %d is not in the bitmap of field %d, value %d", ordinal, id, f, v)
				}
				if v != 0 {
					total--
				}
			}
			if total != 0 {
				t.Fatalf("%d ordinals too many in the bitmaps of field %d", total, f)
			}
		}
	}
}

// checkColumns compares the columns with the rows.
func checkColumns(t *rapid.T, s *state, p *partition) {
	for id, ordinal := range p.where {
		r := &p.rows[ordinal]
		if primary := r.ref == s.projects.entries[r.project].primaryRef; primary != (r.primary == 1) {
			t.Fatalf("finding %d on the primary branch: %v, marked %d", id, primary, r.primary)
		}
		for f := range columned {
			column, want := p.columns[f], r.column(f)
			if column == nil && want != 0 || column != nil && column[ordinal] != want {
				t.Fatalf("finding %d has %d of field %d, its column does not", id, want, f)
			}
		}
	}
}

// someFilter draws a filter with a few random members.
func (w *world) someFilter(t *rapid.T) model.FindingFilter {
	f := model.FindingFilter{IssueType: model.IssueType(rapid.IntRange(1, 3).Draw(t, "issue type")), Dedup: chance(t, "dedup", 40)}
	for range rapid.IntRange(0, 3).Draw(t, "members") {
		filters[rapid.IntRange(0, len(filters)-1).Draw(t, "member")](t, w, &f)
	}
	f.Primary = chance(t, "primary", 15)
	if chance(t, "search", 15) {
		f.Search = one(t, "text", "", "ACME", "a", "e", "no such", "QUOTE", "ÜNÏ", "go.mod", "cve-2021", "\"", "e of a", "t, ", "\x00")
		f.Named = one(t, "named", nil, []string{"GHSA-1", "GHSA-9"})
	}
	if chance(t, "except", 40) {
		f.Except = &model.FindingFilter{}
		for range rapid.IntRange(0, 2).Draw(t, "exceptions") {
			filters[rapid.IntRange(0, len(filters)-1).Draw(t, "exception")](t, w, f.Except)
		}
	}
	return f
}

func some[T any](t *rapid.T, values []T) []T {
	return rapid.SliceOfN(rapid.SampledFrom(values), 1, 2).Draw(t, "values")
}

func someEnum[T ~uint8](t *rapid.T, last T) []T {
	var all []T
	for v := T(1); v <= last; v++ {
		all = append(all, v)
	}
	return some(t, all)
}

func someFlag(t *rapid.T) *bool {
	b := rapid.Bool().Draw(t, "flag")
	return &b
}

var (
	someUsers = []string{"ada", "bob"}
	someDay   = time.Date(2026, 5, 1, 0, 0, 0, 0, time.UTC)
)

// filters has one setter for each member of a FindingFilter.
var filters = []func(*rapid.T, *world, *model.FindingFilter){
	func(t *rapid.T, w *world, f *model.FindingFilter) {
		f.Since = w.now().Add(-time.Duration(rapid.IntRange(0, 8_000_000).Draw(t, "ago")) * time.Microsecond)
		if id, ok := key(t, "at", w.findings); ok && rapid.Bool().Draw(t, "exact") {
			f.Since = w.findings[id].RelevantSince.Add(time.Duration(rapid.IntRange(-1, 1).Draw(t, "nanosecond")))
		}
	},
	func(t *rapid.T, _ *world, f *model.FindingFilter) {
		f.Ref = one(t, "ref", append(someRefs, "refs/heads/no")...)
	},
	func(t *rapid.T, _ *world, f *model.FindingFilter) {
		f.Visible = some(t, []string{"acme/**", "*/*", "acme/web/*", "none/*", "Acme/Web"})
	},
	func(t *rapid.T, _ *world, f *model.FindingFilter) {
		f.Projects = some(t, append([]string{"ACME/API", "acme/web", "über/groß", "ÜBER/GROSS"}, someNames...))
	},
	func(t *rapid.T, w *world, f *model.FindingFilter) {
		f.ProjectIDs = some(t, append(slices.Sorted(maps.Keys(w.projects)), 99999, -1))
	},
	func(t *rapid.T, _ *world, f *model.FindingFilter) {
		f.ProjectTags = some(t, append([]string{"none", "TEAM-Ä"}, someTags...))
	},
	func(t *rapid.T, _ *world, f *model.FindingFilter) {
		f.Visibilities = some(t, []model.Visibility{model.VisibilityUnknown, model.VisibilityPublic, model.VisibilityPrivate})
	},
	func(t *rapid.T, _ *world, f *model.FindingFilter) { f.Statuses = someEnum(t, model.StatusFixing) },
	func(t *rapid.T, _ *world, f *model.FindingFilter) {
		f.TriageReasons = someEnum(t, model.NoTriageReason)
	},
	func(t *rapid.T, _ *world, f *model.FindingFilter) {
		f.Severities = someEnum(t, model.SeverityCritical)
	},
	func(t *rapid.T, _ *world, f *model.FindingFilter) {
		f.Confidences = someEnum(t, model.ConfidenceHigh)
	},
	func(t *rapid.T, _ *world, f *model.FindingFilter) { f.Modes = someEnum(t, model.ModeBlock) },
	func(t *rapid.T, _ *world, f *model.FindingFilter) {
		f.Rules = some(t, append([]string{"no"}, someRules...))
	},
	func(t *rapid.T, _ *world, f *model.FindingFilter) {
		f.Rulesets = some(t, append([]string{"no"}, someRulesets...))
	},
	func(t *rapid.T, _ *world, f *model.FindingFilter) { f.Categories = some(t, someCategory[1:]) },
	func(t *rapid.T, _ *world, f *model.FindingFilter) {
		f.Verdicts = someEnum(t, model.VerdictFalsePositive)
	},
	func(t *rapid.T, _ *world, f *model.FindingFilter) {
		f.ComponentTags = some(t, append([]string{"no"}, someComps...))
	},
	func(t *rapid.T, _ *world, f *model.FindingFilter) { f.PRStates = some(t, []string{"open", "merged"}) },
	func(t *rapid.T, _ *world, f *model.FindingFilter) {
		f.Reachabilities = someEnum(t, model.ReachabilityUnknown)
	},
	func(t *rapid.T, _ *world, f *model.FindingFilter) {
		f.Transitivities = someEnum(t, model.TransitivityUnknown)
	},
	func(t *rapid.T, _ *world, f *model.FindingFilter) { f.Malicious = someFlag(t) },
	func(t *rapid.T, _ *world, f *model.FindingFilter) {
		f.Packages = some(t, append([]string{"no"}, somePackages[1:]...))
	},
	func(t *rapid.T, _ *world, f *model.FindingFilter) { f.EPSS = someEnum(t, model.EPSSHigh) },
	func(t *rapid.T, _ *world, f *model.FindingFilter) { f.Exploited = someFlag(t) },
	func(t *rapid.T, _ *world, f *model.FindingFilter) { f.Unrated = someFlag(t) },
	func(t *rapid.T, _ *world, f *model.FindingFilter) { f.ProOnly = someFlag(t) },
	func(_ *rapid.T, _ *world, f *model.FindingFilter) { f.ExcludeHistoric = true },
	func(t *rapid.T, _ *world, f *model.FindingFilter) {
		f.SecretTypes = some(t, append([]string{"no"}, someSecrets[1:]...))
	},
	func(t *rapid.T, _ *world, f *model.FindingFilter) {
		f.ValidationStates = someEnum(t, model.ValidationError)
	},
	func(t *rapid.T, _ *world, f *model.FindingFilter) {
		f.Assignees = some(t, append([]string{"no", model.AssigneeNone}, someUsers...))
	},
	func(t *rapid.T, _ *world, f *model.FindingFilter) {
		f.EndsBy, _ = EndsBy(one(t, "ends", "7", "30", "any"), someDay)
	},
	func(t *rapid.T, _ *world, f *model.FindingFilter) {
		f.Due = model.DueWithin(some(t, model.DueWindows()), dueNow)
	},
	func(t *rapid.T, _ *world, f *model.FindingFilter) {
		f.DueBefore = dueNow.Truncate(24*time.Hour).AddDate(0, 0, rapid.IntRange(-10, 10).Draw(t, "due before"))
	},
	func(t *rapid.T, w *world, f *model.FindingFilter) {
		f.HasIDs, f.IDs = true, append(slices.Sorted(maps.Keys(w.findings)), 1<<33, -5)[rapid.IntRange(0, len(w.findings)).Draw(t, "from"):]
	},
}
