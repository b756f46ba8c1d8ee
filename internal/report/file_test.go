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

// TestJoinKeepsWhatOnePartCouldNotParse: neither part looked at it all.
func TestJoinKeepsWhatOnePartCouldNotParse(t *testing.T) {
	part := func(path string, spans ...redoubt.Span) redoubt.PartialFile {
		return redoubt.PartialFile{Path: path, Spans: spans}
	}
	first, second := redoubt.Span{First: 1, Last: 2}, redoubt.Span{First: 6, Last: 6}
	a := &redoubt.Report{Tool: "semgrep", Searched: []string{"a", "b", "c", "d"}, Partial: []redoubt.PartialFile{part("a", second), part("b", first), part("c", first)}}
	b := &redoubt.Report{Tool: "semgrep", Searched: []string{"a", "c", "d"}, Skipped: []string{"b"}, Partial: []redoubt.PartialFile{part("a", first, second), part("d", second)}}
	got := join([]file{{reports: []*redoubt.Report{a}}, {reports: []*redoubt.Report{b}}})[0]
	want := &redoubt.Report{
		Tool: "semgrep", Searched: []string{"a", "c", "d"}, Skipped: []string{"b"},
		Partial: []redoubt.PartialFile{part("a", first, second), part("c", first), part("d", second)},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("joined (-want +got):\n%s", diff)
	}
}

// TestTooManySpansSkipTheirFile, in one file or in all.
func TestTooManySpansSkipTheirFile(t *testing.T) {
	file := func(path string, spans int) redoubt.PartialFile {
		f := redoubt.PartialFile{Path: path}
		for i := range spans {
			f.Spans = append(f.Spans, redoubt.Span{First: i, Last: i + 1})
		}
		return f
	}
	rep := &redoubt.Report{Partial: []redoubt.PartialFile{file("much", maxFileSpans), file("more", maxFileSpans+1)}}
	for i := range maxSpans / maxFileSpans {
		rep.Partial = append(rep.Partial, file(string(rune('a'+i)), maxFileSpans))
	}
	settlePartial(rep)
	if rep.Partial[0].Path != "much" || rep.Skipped[0] != "more" || len(rep.Skipped)+len(rep.Partial) != 2+maxSpans/maxFileSpans || len(rep.Partial)*maxFileSpans > maxSpans {
		t.Errorf("%d files, skipped %q", len(rep.Partial), rep.Skipped)
	}
}
