package report

import (
	"slices"

	"github.com/redoubt/redoubt/internal/model"
	"github.com/redoubt/redoubt/internal/report/format"
	"github.com/redoubt/redoubt/internal/report/read"
)

// file is the content of one file of an upload.
type file struct {
	name    string // Options.Name; may be empty
	reports []*model.Report
}

// join merges the reports of several files into one report per source, independent of files
// (docs/reference/uploads.md). Refused items are prefixed with the name of their file if there are
// several files.
func join(files []file) []*model.Report {
	var all []*model.Report
	for _, f := range files {
		for _, r := range f.reports {
			for i := range r.Refused {
				if len(files) > 1 && f.name != "" {
					r.Refused[i].Item = f.name + ": " + r.Refused[i].Item
				}
			}
			all = append(all, r)
		}
	}
	return mergeSources(all)
}

// stream identifies the source of a report.
type stream struct{ tool, category, image string }

func streamOf(r *model.Report) stream { return stream{r.Tool, r.Category, r.Image} }

// mergeSources merges reports with the same tool, category and image. Two full reports of one
// source would close each other's findings.
func mergeSources(reports []*model.Report) []*model.Report {
	first := make(map[stream]*model.Report, len(reports))
	merged := reports[:0]
	for _, r := range reports {
		key := streamOf(r)
		if first[key] == nil {
			first[key] = r
			merged = append(merged, r)
			continue
		}
		merge(first[key], r)
	}
	return merged
}

// merge adds b to a. The merged report contains a list of searched paths or executed rules only if
// both reports do.
func merge(a, b *model.Report) {
	if !b.StartedAt.IsZero() && (a.StartedAt.IsZero() || b.StartedAt.Before(a.StartedAt)) {
		a.StartedAt = b.StartedAt
	}
	if a.Commit == "" {
		a.Commit = b.Commit
	}
	a.TotalTime += b.TotalTime
	a.Products |= b.Products
	a.Failed, a.HidesMuted = a.Failed || b.Failed, a.HidesMuted || b.HidesMuted
	a.RulesRun = format.Both(a.RulesRun, b.RulesRun)
	a.Gaps = append(a.Gaps, b.Gaps...)
	a.Skipped = read.Distinct(append(a.Skipped, b.Skipped...))
	a.Partial = append(a.Partial, b.Partial...)
	format.MergePartial(a)
	a.Unresolved = read.Distinct(append(a.Unresolved, b.Unresolved...))
	a.Searched = format.Minus(format.Both(a.Searched, b.Searched), a.Skipped)
	a.Rules = append(a.Rules, b.Rules...)
	a.Results = append(a.Results, b.Results...)
	a.Inventories = append(a.Inventories, b.Inventories...)
	a.VEX = mergeVEX(a.VEX, b.VEX)
	a.Clean += b.Clean
	a.RefuseAll(b.Refusals)
}

// mergeVEX appends documents. Documents without a name, which are from SBOMs, are merged into one.
func mergeVEX(a, b []model.VEXDocument) []model.VEXDocument {
	for _, d := range b {
		i := slices.IndexFunc(a, func(have model.VEXDocument) bool { return have.Name == "" })
		if d.Name != "" || i < 0 {
			a = append(a, d)
			continue
		}
		a[i].Statements = append(a[i].Statements, d.Statements...)
	}
	return a
}
