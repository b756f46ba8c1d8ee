package findings

import (
	"context"
	"io"
	"net/http"
	"strings"

	"github.com/danielgtaylor/huma/v2"

	"github.com/redoubt/redoubt/api"
	"github.com/redoubt/redoubt/internal/apihttp/core"
	"github.com/redoubt/redoubt/internal/export"
	"github.com/redoubt/redoubt/internal/index"
	"github.com/redoubt/redoubt/internal/model"
)

// exportInput is the query of an export, with one filter per issue type.
type exportInput struct {
	api.ExportFindingsQuery
	filters []model.FindingFilter
}

// Resolve converts the parameters to filters. It rejects filters that one of the requested issue
// types does not have, because they would be ignored silently.
func (in *exportInput) Resolve(ctx huma.Context) []error {
	var bad core.Faults
	in.filters = narrowed(core.CallOf(ctx.Context()), &in.FindingsSelection, &bad)
	return bad
}

// narrowed returns the filters of a query, restricted to the caller's visible projects.
func narrowed(c *core.Call, q *api.FindingsSelection, bad *core.Faults) []model.FindingFilter {
	if q.View != 0 {
		rejectFiltersWithView(*q, bad)
	}
	filters := selectionFilters(q, c.Server.Clock(), bad)
	for i := range filters {
		filters[i].Visible = c.Caller.Globs()
	}
	return filters
}

// selected returns the filters of a query, or those of its saved view.
func selected(
	ctx context.Context, c *core.Call, view *index.View, q *api.FindingsSelection, filters []model.FindingFilter,
) ([]model.FindingFilter, error) {
	if q.View == 0 {
		return filters, nil
	}
	if len(q.IssueType) > 1 {
		return nil, model.Invalid("query.issue_type", "must be one value: a view lists findings of one issue type")
	}
	saved, err := viewed(ctx, c, view, q.View, strings.Join(q.IssueType, ""))
	return []model.FindingFilter{saved.Filter}, err
}

// exportFindings exports the findings of the filters from the index.
func exportFindings(ctx context.Context, c *core.Call, in *exportInput) (core.Writer, error) {
	view, err := c.Findings(ctx)
	if err != nil {
		return nil, err
	}
	filters, err := selected(ctx, c, view, &in.FindingsSelection, in.filters)
	if err != nil {
		return nil, err
	}
	if err := setChangesCursor(c, view); err != nil {
		return nil, err
	}
	f := export.Format(in.Format)
	return exported{
		ctx:     ctx,
		format:  f,
		parts:   export.Parts(view, f, filters...),
		version: c.Server.Version,
		head:    c.R.Method == http.MethodHead,
	}, nil
}

// exported writes an export as a stream.
type exported struct {
	ctx     context.Context
	format  export.Format
	parts   []export.Selection
	version string
	head    bool // HEAD request
}

func (e exported) Header(h http.Header) {
	h.Set("Content-Type", e.format.MediaType())
	h.Set("Content-Disposition", `attachment; filename="`+e.format.FileName()+`"`)
}

// WriteTo writes the export.
func (e exported) WriteTo(w io.Writer) (int64, error) {
	if e.head {
		return 0, nil
	}
	counted := &counter{to: w}
	err := export.Write(e.ctx, counted, e.format, e.parts, export.Options{Version: e.version})
	return counted.n, err
}

type counter struct {
	to io.Writer
	n  int64
}

func (c *counter) Write(p []byte) (int, error) {
	n, err := c.to.Write(p)
	c.n += int64(n)
	return n, err
}

// exportMediaTypes lists the media types of exports.
func exportMediaTypes() (out []string) {
	for _, f := range export.Formats() {
		name, _, _ := strings.Cut(f.MediaType(), ";")
		out = append(out, name)
	}
	return out
}
