package ingest

import (
	"fmt"
	"maps"
	"slices"
	"testing"

	"github.com/redoubt/redoubt/internal/model"
)

// TestRemovalReasons removes a finding of the advisories for each possible reason, and checks the
// reason in its history.
func TestRemovalReasons(t *testing.T) {
	for _, c := range []struct {
		what string
		next func(row model.Finding) model.Advised
		want string
	}{
		{"withdrawn", func(row model.Finding) model.Advised {
			return model.Advised{InLockfile: map[int64]bool{row.ID: true}, Withdrawn: map[int64]bool{row.ID: true}}
		}, `{"reason":"withdrawn: the advisory was withdrawn"}`},
		{"another range", func(row model.Finding) model.Advised {
			return model.Advised{InLockfile: map[int64]bool{row.ID: true}}
		}, `{"reason":"no longer affected: the advisory changed"}`},
		{"a scanner reports it", func(row model.Finding) model.Advised {
			covered := advisedMatch(0, "")
			// The scanner's finding is not stored here, so it needs no supplement.
			covered.Matches[0].Dependency.Unrated = true
			covered.Twins = [][]model.Subject{{
				{FindingID: 98, LineageID: row.LineageID, Source: "osv-scanner", State: model.Fixed},
				{FindingID: 99, LineageID: row.LineageID, Source: "semgrep", State: model.Unresolved},
			}}
			return covered
		}, `{"reason":"merged into #99, which semgrep reports","merged_into":99}`},
	} {
		f := newFollowed()
		f.follow(t, advisedMatch(0, ""))
		row := f.occurrences()[0]
		f.follow(t, c.next(row))
		f.removed(t, c.what, row.ID, c.want)
	}
}

// TestMergedFindingRefersToSurvivor merges two vulnerabilities.
func TestMergedFindingRefersToSurvivor(t *testing.T) {
	f := newFollowed()
	two := advisedMatch(0, "")
	second := two.Matches[0]
	second.Group = 2
	two.Matches = append(two.Matches, second)
	f.follow(t, two)
	rows := f.occurrences()
	one := advisedMatch(0, "")
	one.Matches[0].Former = []int64{2}
	f.follow(t, one)
	f.removed(t, "merged", rows[1].ID, fmt.Sprintf(`{"reason":"merged into #%d: the advisories name one vulnerability","merged_into":%[1]d}`, rows[0].ID))
}

// occurrences lists all findings by id.
func (f *followed) occurrences() (out []model.Finding) {
	for _, id := range slices.Sorted(maps.Keys(f.rows)) {
		out = append(out, f.rows[id].Finding)
	}
	return out
}

// follow updates the main branch of the project from matches.
func (f *followed) follow(t *testing.T, advised model.Advised) {
	t.Helper()
	if len(f.projects) == 0 {
		if _, err := f.ProjectForScan(t.Context(), nil, model.Project{Name: followedProject}); err != nil {
			t.Fatal(err)
		}
	}
	advised.ProjectID, advised.Ref = f.projects[0].ID, "refs/heads/main"
	if _, err := Follow(t.Context(), f, f, f.projects[0], advised, 0, f.clock); err != nil {
		t.Fatal(err)
	}
}

// removed checks the detail of the only removal.
func (f *followed) removed(t *testing.T, what string, finding int64, detail string) {
	t.Helper()
	var removals []model.FindingEvent
	for _, e := range f.events {
		if e.Kind == model.EventRemoved {
			removals = append(removals, e)
		}
	}
	if len(removals) != 1 || removals[0].FindingID != finding || removals[0].Detail != detail {
		t.Errorf("%s: %+v, not %s of finding %d", what, removals, detail, finding)
	}
}
