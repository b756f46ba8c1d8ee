package component

import (
	"cmp"
	"context"
	"slices"
	"strings"

	"github.com/redoubt/redoubt/internal/exceptions"
	"github.com/redoubt/redoubt/internal/index"
	"github.com/redoubt/redoubt/internal/model"
	"github.com/redoubt/redoubt/internal/store"
	"github.com/redoubt/redoubt/internal/web/ui"
)

// ExceptionRow is an exception in a list.
type ExceptionRow struct {
	model.Exception
	Now     model.ExceptionState // at the time of the request
	Ignores int                  // number of findings, each counted once
	Address string

	Changes int    // of a requested document: number of findings whose triage would change
	Project string // project of the exception, or of its findings
	Finding int64  // id of the first finding
	Title   string
	Code    FindingCode // code of the first finding; only for requested exceptions
}

// More returns the number of findings in addition to the first.
func (r ExceptionRow) More() int { return len(r.Lineages) - 1 }

// IgnoredFindings selects the findings that an exception ignores, each once. The ids are those of
// its occurrences.
func IgnoredFindings(t model.IssueType, ids []int64) model.FindingFilter {
	return model.FindingFilter{
		IssueType: t,
		HasIDs:    true,
		IDs:       ids,
		Dedup:     true,
		Statuses:  []model.Status{model.StatusIgnored},
	}
}

// ExceptionRows reads the list rows of exceptions, without the titles of findings.
func ExceptionRows(
	ctx context.Context, req *ui.Request, tx *store.Tx, view *index.View, list []model.Exception,
) ([]ExceptionRow, error) {
	shown, err := tx.FindingsOfExceptions(ctx, list)
	if err != nil {
		return nil, err
	}
	projects := make([]int64, 0, len(list))
	for _, e := range list {
		if e.ProjectID != 0 {
			projects = append(projects, e.ProjectID)
		}
	}
	names, err := tx.ProjectNames(ctx, projects)
	if err != nil {
		return nil, err
	}
	counts, err := tx.CountByException(ctx, list...)
	if err != nil {
		return nil, err
	}
	ignored, err := tx.FindingsByException(ctx, slices.DeleteFunc(slices.Clone(list), isDocument)...)
	if err != nil {
		return nil, err
	}
	reviews, err := exceptions.ReviewProposals(ctx, tx, list)
	rows := make([]ExceptionRow, len(list))
	for i, e := range list {
		rows[i] = ExceptionRow{
			Exception: e,
			Now:       e.StateAt(req.Clock()),
			Address:   req.To("/exceptions/" + ui.Decimal(e.ID)),
			Project:   names[e.ProjectID],
			Changes:   reviews[e.ID].Changes,
		}
		if e.Document != nil {
			rows[i].Ignores = counts[e.ID]
		}
		for t, found := range ignored[e.ID] {
			rows[i].Ignores += view.Count(IgnoredFindings(t, found))
		}
		for _, lineage := range e.Lineages {
			rows[i].Finding = cmp.Or(rows[i].Finding, shown[lineage])
		}
	}
	return rows, err
}

// TitleExceptions sets the title of each row: the target of the exception, or its first finding.
func TitleExceptions(req *ui.Request, view *index.View, rows []ExceptionRow) error {
	ids := make([]int64, 0, len(rows))
	for _, r := range rows {
		if r.Finding != 0 {
			ids = append(ids, r.Finding)
		}
	}
	found, err := FindingsByID(req, view, ids)
	titles := map[int64]string{}
	for _, f := range found {
		titles[f.ID] = f.Title()
	}
	for i := range rows {
		rows[i].Title = cmp.Or(rows[i].Target, titles[rows[i].Finding], "Deleted finding")
	}
	return err
}

// FindingsByID returns the findings with the given ids, of all products.
func FindingsByID(req *ui.Request, view *index.View, ids []int64) (out []ShownFinding, err error) {
	for _, p := range ui.Products {
		page, err := view.Page(req.HTTP.Context(), model.FindingFilter{IssueType: p.Type, HasIDs: true, IDs: ids},
			0, max(len(ids), 1))
		if err != nil {
			return nil, err
		}
		found, err := ShownFindings(page)
		if err != nil {
			return nil, err
		}
		out = append(out, found...)
	}
	return out, nil
}

func isDocument(e model.Exception) bool { return e.Document != nil }

// Scope describes the projects and the branch to which the exception applies.
func (r *ExceptionRow) Scope() string {
	switch {
	case r.ProjectID == 0:
		return r.Where()
	case r.Document == nil || r.Document.Ref == "":
		return r.Project
	}
	return r.Project + " on " + strings.TrimPrefix(r.Document.Ref, "refs/heads/")
}
