package report

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/redoubt/redoubt/internal/model"
	"github.com/redoubt/redoubt/internal/report/format"
)

func TestJoinMergesReportsBySource(t *testing.T) {
	lock := func(path string) *model.Report {
		return &model.Report{Tool: "lockfile", Inventories: []model.Inventory{{Lockfile: path}}, Refusals: model.Refusals{Refused: []model.Refusal{{Item: "line 3", Reason: "no version"}}}}
	}
	got := join([]file{
		{name: "a/go.mod", reports: []*model.Report{lock("a/go.mod")}},
		{name: "s.json", reports: []*model.Report{{Tool: "semgrep"}}},
		{name: "b/go.mod", reports: []*model.Report{lock("b/go.mod")}},
	})
	want := []*model.Report{
		{
			Tool: "lockfile", Inventories: []model.Inventory{{Lockfile: "a/go.mod"}, {Lockfile: "b/go.mod"}},
			Refusals: model.Refusals{Refused: []model.Refusal{{Item: "a/go.mod: line 3", Reason: "no version"}, {Item: "b/go.mod: line 3", Reason: "no version"}}},
		},
		{Tool: "semgrep"},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("joined (-want +got):\n%s", diff)
	}
}

func TestJoinOfOneFilePreservesItemNames(t *testing.T) {
	got := join([]file{{name: "x", reports: []*model.Report{{Tool: "t", Refusals: model.Refusals{Refused: []model.Refusal{{Item: "results[0]"}}}}}}})
	if item := got[0].Refused[0].Item; item != "results[0]" {
		t.Errorf("the item of the only file is %q", item)
	}
}

// TestJoinPreservesUnparsedLines checks that lines that one part could not parse are
// unparsed in the joined report.
func TestJoinPreservesUnparsedLines(t *testing.T) {
	part := func(path string, spans ...model.Span) model.PartialFile {
		return model.PartialFile{Path: path, Spans: spans}
	}
	first, second := model.Span{First: 1, Last: 2}, model.Span{First: 6, Last: 6}
	a := &model.Report{Tool: "semgrep", Searched: []string{"a", "b", "c", "d"}, Partial: []model.PartialFile{part("a", second), part("b", first), part("c", first)}}
	b := &model.Report{Tool: "semgrep", Searched: []string{"a", "c", "d"}, Skipped: []string{"b"}, Partial: []model.PartialFile{part("a", first, second), part("d", second)}}
	got := join([]file{{reports: []*model.Report{a}}, {reports: []*model.Report{b}}})[0]
	want := &model.Report{
		Tool: "semgrep", Searched: []string{"a", "c", "d"}, Skipped: []string{"b"},
		Partial: []model.PartialFile{part("a", first, second), part("c", first), part("d", second)},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("joined (-want +got):\n%s", diff)
	}
}

// TestSpanLimits checks the limits of spans per file and per report.
func TestSpanLimits(t *testing.T) {
	file := func(path string, spans int) model.PartialFile {
		f := model.PartialFile{Path: path}
		for i := range spans {
			f.Spans = append(f.Spans, model.Span{First: i, Last: i + 1})
		}
		return f
	}
	rep := &model.Report{Partial: []model.PartialFile{file("much", format.MaxFileSpans), file("more", format.MaxFileSpans+1)}}
	for i := range format.MaxSpans / format.MaxFileSpans {
		rep.Partial = append(rep.Partial, file(string(rune('a'+i)), format.MaxFileSpans))
	}
	format.MergePartial(rep)
	if rep.Partial[0].Path != "much" || rep.Skipped[0] != "more" || len(rep.Skipped)+len(rep.Partial) != 2+format.MaxSpans/format.MaxFileSpans || len(rep.Partial)*format.MaxFileSpans > format.MaxSpans {
		t.Errorf("%d files, skipped %q", len(rep.Partial), rep.Skipped)
	}
}
