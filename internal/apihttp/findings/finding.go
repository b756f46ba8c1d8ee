package findings

import (
	"bytes"
	"context"
	"io"
	"net/http"
	"strconv"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"github.com/redoubt/redoubt/api"
	"github.com/redoubt/redoubt/internal/apihttp/core"
	"github.com/redoubt/redoubt/internal/index"
	"github.com/redoubt/redoubt/internal/model"
)

// findingsInput is the query for listing findings, with its filter.
type findingsInput struct {
	api.FindingsQuery
	filter model.FindingFilter
	order  index.Order
	saved  string    // text of the saved view; empty without one
	now    time.Time // time of the request
}

// Resolve converts the parameters to a filter. It rejects filters that the contract defines for the
// other issue type only (docs/reference/finding-queries.md).
func (in *findingsInput) Resolve(ctx huma.Context) []error {
	var bad core.Faults
	q := &in.FindingsQuery
	c := core.CallOf(ctx.Context())
	selection := q.Selection()
	if !c.Hosted() {
		refuseTied("query.", q.IssueType, listingTies(&selection), &bad)
	}
	in.now = c.Server.Clock()
	in.filter = selectedBy(&selection, "query.", in.now, &bad)
	in.filter.IssueType, _ = model.ParseIssueType(q.IssueType)
	in.filter.Visible = c.Caller.Globs()
	in.order, _ = index.ParseOrder(q.Sort)
	if !c.Hosted() && !in.order.AppliesTo(in.filter.IssueType) {
		bad.Add("query.sort", q.Sort, "sorts only issue_type sca, but issue_type is "+q.IssueType)
	}
	if q.View != 0 {
		rejectFiltersWithView(*q, &bad)
	}
	return bad
}

// apply applies a saved view to the query. An order in the query overrides that of the view.
func (in *findingsInput) apply(q index.PageQuery) {
	in.filter, in.saved = q.Filter, q.Text
	if in.Sort == "" {
		in.order = q.Order
	}
}

// listFindings returns one page of findings from the index.
func listFindings(ctx context.Context, c *core.Call, in *findingsInput) (core.Writer, error) {
	view, err := c.Findings(ctx)
	if err != nil {
		return nil, err
	}
	if err := setChangesCursor(c, view); err != nil {
		return nil, err
	}
	if in.View != 0 {
		issueType := in.IssueType
		if c.Hosted() { // the hosted dialect accepts several
			issueType = hostedType(c.HostedQuery.IssueTypes)
		}
		q, err := viewed(ctx, c, view, in.View, issueType)
		if err != nil {
			return nil, err
		}
		in.apply(q)
	}
	if c.Hosted() {
		page, err := hostedFindings(ctx, c, view, in)
		if err != nil {
			return nil, err
		}
		return unlessKnown(c, view, in, hostedPage{page, c.Org()}), nil
	}
	page, err := view.Sorted(ctx, in.filter, in.order, int(in.Page), int(in.PageSize))
	if err != nil {
		return nil, err
	}
	return unlessKnown(c, view, in, findingsPage{page, in.filter.IssueType}), nil
}

// findingsPage writes both lists, one of which is empty (docs/reference/requests.md).
type findingsPage struct {
	page      *index.Page
	issueType model.IssueType
}

func (p findingsPage) Header(h http.Header) {
	h.Set("Content-Type", "application/json")
	hint(h, p.page.Len(), p.issueType.String()+"Findings.findings")
}

// WriteTo implements io.WriterTo.
func (p findingsPage) WriteTo(w io.Writer) (int64, error) {
	before, after := `{"sastFindings":{"findings":`, `},"scaFindings":{"findings":[]}}`
	if p.issueType == model.SCA {
		before, after = `{"sastFindings":{"findings":[]},"scaFindings":{"findings":`, `}}`
	}
	return written(w, before, p.page, after+"\n")
}

// written writes a list between two texts.
func written(w io.Writer, before string, list io.WriterTo, after string) (int64, error) {
	n, err := io.WriteString(w, before)
	if err != nil {
		return int64(n), err
	}
	m, err := list.WriteTo(w)
	if err != nil {
		return int64(n) + m, err
	}
	k, err := io.WriteString(w, after)
	return int64(n) + m + int64(k), err
}

// hint sets the header with the number of findings in a response and the member that contains them.
// A client that reads another member would report no findings.
func hint(h http.Header, n int, at string) {
	h.Set(api.FindingsHeader, "count="+strconv.Itoa(n)+", at="+strconv.Quote(at))
}

// getFinding returns one finding of any issue type.
func getFinding(ctx context.Context, c *core.Call, _ *core.None) (core.Writer, error) {
	id := c.PathID("findingId")
	return finding(ctx, c, id)
}

// finding returns one finding of any issue type from the index. Its ETag is read first. A tag that
// is older than the finding causes an unnecessary conflict; a newer tag would hide one.
func finding(ctx context.Context, c *core.Call, id int64) (core.Writer, error) {
	err := c.View(ctx, func(ctx context.Context) error {
		found, err := shownFinding(ctx, c, id)
		c.Tag = core.FindingTag(found.LineageID, found.Lineage.Annotations)
		return err
	})
	if err != nil {
		return nil, err
	}
	view, err := c.Findings(ctx)
	if err != nil {
		return nil, err
	}
	for _, t := range []model.IssueType{model.SAST, model.SCA, model.Secrets} {
		filter := model.FindingFilter{IssueType: t, Visible: c.Caller.Globs(), HasIDs: true, IDs: []int64{id}}
		page, err := view.Page(ctx, filter, 0, 1)
		if err != nil {
			return nil, err
		}
		if page.Len() > 0 {
			if c.Hosted() {
				return oneFinding{page.Hosted(c.Org())}, nil
			}
			return oneFinding{page}, nil
		}
	}
	return nil, model.ErrNotFound
}

// oneFinding writes a page with one finding as an object.
type oneFinding struct{ page io.WriterTo }

func (oneFinding) Header(h http.Header) { h.Set("Content-Type", "application/json") }

// WriteTo implements io.WriterTo.
func (f oneFinding) WriteTo(w io.Writer) (int64, error) {
	var buf bytes.Buffer
	if _, err := f.page.WriteTo(&buf); err != nil {
		return 0, err
	}
	finding := bytes.TrimSuffix(bytes.TrimPrefix(buf.Bytes(), []byte("[")), []byte("]"))
	n, err := w.Write(append(append([]byte(`{"finding":`), finding...), "}\n"...))
	return int64(n), err
}
