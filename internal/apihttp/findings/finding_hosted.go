package findings

import (
	"cmp"
	"context"
	"errors"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/redoubt/redoubt/internal/apihttp/core"
	"github.com/redoubt/redoubt/internal/index"
	"github.com/redoubt/redoubt/internal/model"
)

// Limits of the page size.
const (
	defaultPageSize = 100
	maxPageSize     = 3000
)

// ClampPageSize removes the page size from the query and clamps it. Sizes below the contract's
// minimum are accepted, for clients that stop at a page shorter than the requested one.
func ClampPageSize(c *core.Call, query url.Values) {
	sent := query.Get("page_size")
	query.Del("page_size")
	n, err := strconv.Atoi(sent) // if out of range, the maximum with an error
	switch {
	case sent == "":
	case err != nil && !errors.Is(err, strconv.ErrRange):
		query.Set("page_size", sent) // rejected later with the reason
	case n <= 0:
		c.HostedQuery.PageSize = defaultPageSize
	default:
		c.HostedQuery.PageSize = min(n, maxPageSize)
	}
}

// MergeIssueTypes removes all issue types but one from the query.
func MergeIssueTypes(c *core.Call, query url.Values) {
	for _, sent := range query["issue_type"] {
		c.HostedQuery.IssueTypes = append(c.HostedQuery.IssueTypes, strings.Split(sent, ",")...)
	}
	sent := len(c.HostedQuery.IssueTypes) > 0
	for i, t := range c.HostedQuery.IssueTypes {
		c.HostedQuery.IssueTypes[i] = strings.ToLower(strings.Join(strings.Fields(t), "_"))
	}
	c.HostedQuery.IssueTypes = slices.DeleteFunc(c.HostedQuery.IssueTypes, func(t string) bool { return t == "" })
	if sent && len(c.HostedQuery.IssueTypes) == 0 {
		c.HostedQuery.IssueTypes = []string{model.SAST.String()} // as if the parameter were absent
	}
	slices.Sort(c.HostedQuery.IssueTypes)
	c.HostedQuery.IssueTypes = slices.Compact(c.HostedQuery.IssueTypes)
	aiAt := slices.Index(c.HostedQuery.IssueTypes, "ai_sast")
	if aiAt >= 0 { // no scanner here reports it
		c.HostedQuery.IssueTypes = slices.Delete(c.HostedQuery.IssueTypes, aiAt, aiAt+1)
		c.HostedQuery.Nothing = c.HostedQuery.Nothing || len(c.HostedQuery.IssueTypes) == 0
	}
	query.Del("issue_type")
	for _, t := range c.HostedQuery.IssueTypes {
		if _, ok := model.ParseIssueType(t); !ok || t == "secrets" {
			query.Set("issue_type", t) // rejected later with the reason
		}
	}
}

// of returns the filter for an issue type, without the parts of the other issue type.
func (in *findingsInput) of(issueType string) model.FindingFilter {
	f := in.filter
	f.IssueType, _ = model.ParseIssueType(issueType)
	if f.IssueType == model.SCA {
		f.Modes, f.Rules, f.Categories, f.Confidences, f.Verdicts, f.ProOnly = nil, nil, nil, nil, nil, nil
	} else {
		f.Reachabilities, f.Transitivities, f.Malicious = nil, nil, nil
		f.Packages, f.EPSS, f.Exploited, f.Unrated = nil, nil, nil, nil
	}
	return f
}

// hostedFindings returns a page as the hosted service selects it.
func hostedFindings(ctx context.Context, c *core.Call, view *index.View, in *findingsInput) (*index.Page, error) {
	page, size := int(in.Page), cmp.Or(c.HostedQuery.PageSize, int(in.PageSize))
	types, filter := c.HostedQuery.IssueTypes, in.filter
	switch {
	case c.HostedQuery.Nothing:
		return &index.Page{}, nil
	case in.View != 0: // the view's filter applies
	case len(types) > 1 && in.order != index.Newest:
		return nil, model.Invalid("query.sort", "sorts only one issue_type")
	case len(types) > 1:
		return view.MergedPage(ctx, in.of("sast"), in.of("sca"), page, size)
	default:
		filter = in.of(hostedType(types))
	}
	if !in.order.AppliesTo(filter.IssueType) {
		return nil, model.Invalid("query.sort", "sorts only issue_type sca, but issue_type is %s",
			filter.IssueType)
	}
	return view.Sorted(ctx, filter, in.order, page, size)
}

// hostedType returns the requested issue types as text; the default is code.
func hostedType(types []string) string {
	return cmp.Or(strings.Join(types, ", "), model.SAST.String())
}

// hostedPage writes one list in the hosted dialect. An empty list must stay below 100 bytes,
// because a client uses that size to detect the end.
type hostedPage struct {
	page *index.Page
	org  string
}

func (p hostedPage) Header(h http.Header) {
	h.Set("Content-Type", "application/json")
	hint(h, p.page.Len(), "findings")
}

// WriteTo implements io.WriterTo.
func (p hostedPage) WriteTo(w io.Writer) (int64, error) {
	return written(w, `{"findings":`, p.page.Hosted(p.org), "}\n")
}
