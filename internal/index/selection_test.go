package index

import (
	"context"
	"encoding/json"
	"maps"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/redoubt/redoubt/internal/model"
)

// TestSelectionReadsEachFindingOnce checks a selection that is read during commits. It returns each
// finding at most once, only selected findings, and all that matched the filter throughout. With
// dedup, this holds for lineages.
func TestSelectionReadsEachFindingOnce(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w := newWorld()
		x := New(w, Options{BodyCache: one(t, "body cache", 0, int64(smallChunk), int64(1<<30))})
		for range rapid.IntRange(1, 12).Draw(t, "commits") {
			w.step(t)
		}
		f := w.someFilter(t)
		if chance(t, "whole lineages", 30) {
			f = model.FindingFilter{IssueType: model.SAST, Dedup: true}
		}
		v := view(t, x)
		listed := func() []int64 { return w.keysOf(f, idsOf(w.list(f))) }
		selected := listed()
		always, still := slices.Clone(selected), true
		selection := v.Select(f)
		if selection.Total() != len(selected) {
			t.Fatalf("%d are selected, want %d", selection.Total(), len(selected))
		}
		var got []int64
		for more := true; more; {
			var part []int64
			part, more = next(t, selection, rapid.IntRange(1, 4).Draw(t, "size"))
			now := idsOf(w.list(f))
			for _, id := range part {
				if !slices.Contains(now, id) {
					t.Errorf("finding %d came, and the filter accepts %v", id, now)
				}
			}
			if got = append(got, w.keysOf(f, part)...); more && chance(t, "commit meanwhile", 50) {
				still = false
				w.step(t)
				view(t, x)
				now = listed()
				read := len(got)
				always = slices.DeleteFunc(always, func(id int64) bool {
					return !slices.Contains(got[:read], id) && !slices.Contains(now, id)
				})
			}
		}
		if still {
			if diff := cmp.Diff(selected, got); diff != "" {
				t.Errorf("nothing changed (-selected +read):\n%s", diff)
			}
		}
		if sorted := slices.Sorted(slices.Values(got)); len(slices.Compact(sorted)) != len(got) {
			t.Errorf("one came twice: %v", got)
		}
		for _, id := range got {
			if !slices.Contains(selected, id) {
				t.Errorf("finding %d was not selected: %v", id, selected)
			}
		}
		for _, id := range always {
			if !slices.Contains(got, id) {
				t.Errorf("finding %d was selected all the time and is missing in %v", id, got)
			}
		}
	})
}

// TestLineageSelectionUsesCurrentRepresentatives checks that a selected lineage is read as its
// current representative. This includes representatives behind the reader and after a rebuild. No
// lineage is read twice.
func TestLineageSelectionUsesCurrentRepresentatives(t *testing.T) {
	for _, rebuilt := range []bool{false, true} {
		w := newWorld()
		seed(w)
		x := New(w, Options{BodyCache: 1 << 20})
		occurs := func(id, lineage int64, ref string) {
			add(w, smallBody, id)
			w.putLineage(model.Lineage{ID: lineage, ProjectID: 1, Triage: model.Triage{State: model.TriageUntriaged}})
			f := w.findings[id]
			f.LineageID, f.Ref = lineage, ref
			w.putFinding(f)
			w.commit()
		}
		for lineage := range int64(3) {
			occurs(10+lineage, 1+lineage, "refs/heads/main")
			occurs(20+lineage, 1+lineage, "refs/heads/dev")
		}
		w.putProject(model.Project{ID: 1, Name: "acme/api", PrimaryBranch: "refs/heads/main"})
		w.commit()
		f := model.FindingFilter{IssueType: model.SAST, Dedup: true}
		selection := view(t, x).Select(f)
		step := func() (ids []int64) {
			if _, err := selection.Next(t.Context(), 1, func(_ model.IssueType, finding []byte) error {
				var f struct{ ID int64 }
				err := json.Unmarshal(finding, &f)
				ids = append(ids, f.ID)
				return err
			}); err != nil {
				t.Fatal(err)
			}
			return ids
		}
		got := step()
		w.deleteFinding(10) // another occurrence becomes the representative, as for the lineage that was read
		w.deleteFinding(12)
		w.commit()
		occurs(31, 2, "refs/heads/main") // newer than all others
		if rebuilt {
			w.pruned = w.version
			occurs(99, 99, "refs/heads/main")
			w.pruned = w.version - 1
		}
		view(t, x)
		for part := step(); len(part) > 0; part = step() {
			got = append(got, part...)
		}
		if want := []int64{12, 20, 31}; !slices.Equal(got, want) {
			t.Errorf("rebuilt %v: read are %v, want %v", rebuilt, got, want)
		}
	}
}

// TestSelectionByProject checks that the selections of all projects together equal the whole
// selection.
func TestSelectionByProject(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w := newWorld()
		x := New(w, Options{BodyCache: 1 << 30})
		for range rapid.IntRange(1, 12).Draw(t, "commits") {
			w.step(t)
		}
		f := w.someFilter(t)
		var got []int64
		for _, part := range view(t, x).SelectByProject(f) {
			project := int64(0)
			for more := true; more; {
				var ids []int64
				ids, more = next(t, part, 3)
				for _, id := range ids {
					if of := w.findings[id].ProjectID; project != 0 && of != project {
						t.Errorf("finding %d of project %d is beside those of %d", id, of, project)
					}
					project = w.findings[id].ProjectID
				}
				got = append(got, ids...)
			}
		}
		if diff := cmp.Diff(slices.Sorted(slices.Values(idsOf(w.list(f)))), slices.Sorted(slices.Values(got))); diff != "" {
			t.Errorf("the parts differ from the list (-list +parts):\n%s", diff)
		}
	})
}

// TestProjectSelectionsReadEachFindingOnce reads selections of projects with commits between and within them. Each
// finding must be read at most once, and only if it was selected.
func TestProjectSelectionsReadEachFindingOnce(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w := newWorld()
		x := New(w, Options{BodyCache: 1 << 30})
		for range rapid.IntRange(1, 12).Draw(t, "commits") {
			w.step(t)
		}
		f := w.someFilter(t)
		project := map[int64]int64{}
		for _, finding := range w.list(f) {
			project[w.keysOf(f, []int64{finding.ID})[0]] = finding.ProjectID
		}
		still := map[int64]int64{}
		maps.Copy(still, project)
		var got []int64
		for _, part := range view(t, x).SelectByProject(f) {
			for more := true; more; {
				var ids []int64
				ids, more = next(t, part, rapid.IntRange(1, 3).Draw(t, "size"))
				got = append(got, w.keysOf(f, ids)...)
				if more && chance(t, "commit meanwhile", 30) {
					w.step(t)
					view(t, x)
					now := map[int64]int64{}
					for _, finding := range w.list(f) {
						now[w.keysOf(f, []int64{finding.ID})[0]] = finding.ProjectID
					}
					maps.DeleteFunc(still, func(key, of int64) bool { return now[key] != of && !slices.Contains(got, key) })
				}
			}
		}
		if sorted := slices.Sorted(slices.Values(got)); len(slices.Compact(sorted)) != len(got) {
			t.Errorf("one came twice: %v", got)
		}
		for _, key := range got {
			if project[key] == 0 {
				t.Errorf("%d was not selected: %v", key, project)
			}
		}
		for key := range still {
			if !slices.Contains(got, key) {
				t.Errorf("%d was selected all the time and is missing in %v", key, got)
			}
		}
	})
}

func next(t *rapid.T, s *Selection, size int) (ids []int64, more bool) {
	t.Helper()
	more, err := s.Next(context.Background(), size, func(_ model.IssueType, finding []byte) error {
		var f struct{ ID int64 }
		err := json.Unmarshal(finding, &f)
		ids = append(ids, f.ID)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return ids, more
}

// keysOf returns the keys of findings in a selection: their IDs, or the IDs of their lineages with
// dedup.
func (w *world) keysOf(f model.FindingFilter, findings []int64) []int64 {
	if !f.Dedup {
		return findings
	}
	var out []int64
	for _, id := range findings {
		out = append(out, w.findings[id].LineageID)
	}
	return out
}

func idsOf(findings []model.IndexedFinding) []int64 {
	var out []int64
	for _, f := range findings {
		out = append(out, f.ID)
	}
	return out
}
