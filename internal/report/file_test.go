package report

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/redoubt/redoubt"
)

func TestJoinMakesOneReportOfEachSource(t *testing.T) {
	lock := func(path string) *redoubt.Report {
		return &redoubt.Report{Tool: "lockfile", Inventories: []redoubt.Inventory{{Lockfile: path}}, Refusals: redoubt.Refusals{Refused: []redoubt.Refusal{{Item: "line 3", Reason: "no version"}}}}
	}
	got := join([]file{
		{name: "a/go.mod", reports: []*redoubt.Report{lock("a/go.mod")}},
		{name: "s.json", reports: []*redoubt.Report{{Tool: "semgrep"}}},
		{name: "b/go.mod", reports: []*redoubt.Report{lock("b/go.mod")}},
	})
	want := []*redoubt.Report{
		{
			Tool: "lockfile", Inventories: []redoubt.Inventory{{Lockfile: "a/go.mod"}, {Lockfile: "b/go.mod"}},
			Refusals: redoubt.Refusals{Refused: []redoubt.Refusal{{Item: "a/go.mod: line 3", Reason: "no version"}, {Item: "b/go.mod: line 3", Reason: "no version"}}},
		},
		{Tool: "semgrep"},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("joined (-want +got):\n%s", diff)
	}
}

func TestJoinOfOneFileTellsItemsAsTheyAre(t *testing.T) {
	got := join([]file{{name: "x", reports: []*redoubt.Report{{Tool: "t", Refusals: redoubt.Refusals{Refused: []redoubt.Refusal{{Item: "results[0]"}}}}}}})
	if item := got[0].Refused[0].Item; item != "results[0]" {
		t.Errorf("the only file's item is told as %q", item)
	}
}
