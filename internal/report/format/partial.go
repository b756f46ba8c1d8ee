package format

import (
	"slices"

	"github.com/redoubt/redoubt/internal/model"
	"github.com/redoubt/redoubt/internal/report/read"
)

// Limits of the spans of partially parsed files. A file with more spans counts as skipped.
const (
	MaxFileSpans = read.MaxList
	MaxSpans     = 100 * MaxFileSpans // of a report
)

// MergePartial merges the spans of each partially parsed file. A file that is also skipped, or has
// too many spans, is only listed as skipped.
func MergePartial(rep *model.Report) {
	if len(rep.Partial) == 0 {
		return
	}
	skipped := make(map[string]bool, len(rep.Skipped))
	for _, p := range rep.Skipped {
		skipped[p] = true
	}
	spans, paths := map[string][]model.Span{}, []string{}
	for _, f := range rep.Partial {
		if spans[f.Path] == nil {
			paths = append(paths, f.Path)
		}
		spans[f.Path] = append(spans[f.Path], f.Spans...)
	}
	rep.Partial = nil
	all := 0
	for _, p := range paths {
		list := read.Distinct(spans[p])
		slices.SortFunc(list, func(a, b model.Span) int { return a.First - b.First })
		switch all += len(list); {
		case skipped[p]:
		case len(list) > MaxFileSpans || all > MaxSpans:
			rep.Skipped = append(rep.Skipped, p)
		default:
			rep.Partial = append(rep.Partial, model.PartialFile{Path: p, Spans: list})
		}
	}
}
