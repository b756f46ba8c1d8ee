package scans

import (
	"cmp"
	"context"
	"math"
	"slices"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"github.com/redoubt/redoubt/api"
	"github.com/redoubt/redoubt/internal/apihttp/core"
	"github.com/redoubt/redoubt/internal/gate"
	"github.com/redoubt/redoubt/internal/model"
	"github.com/redoubt/redoubt/internal/store"
)

// defaultScans is the default number of scans in a response.
const defaultScans = 100

// scansInput is the query for a page of scans.
type scansInput struct {
	Body   api.SearchScansRequest
	filter model.ScanFilter
	limit  int
	list   core.List
	after  store.ScanCursor
	none   bool // nothing can match
}

// Resolve converts the body to a filter and decodes the cursor.
func (in *scansInput) Resolve(ctx huma.Context) []error {
	bad := core.Faults(core.Copies(ctx, &in.Body))
	c, b := core.CallOf(ctx.Context()), &in.Body
	in.limit = int(cmp.Or(b.PageSize, b.Limit, defaultScans))
	in.filter = model.ScanFilter{
		Ref: core.RefFilter(b.Branch), ProjectID: int64(b.RepositoryID), Full: (*bool)(b.IsFullScan),
		Statuses: core.Parsed(b.Statuses, model.ParseScanStatus), Projects: c.Caller.Globs(),
	}
	in.filter.Products, in.none = products(b.Products)
	in.none = in.none || c.HostedQuery.Nothing
	var err error
	if in.filter.Since, err = b.Since.Time(); err != nil {
		bad.Add("body.since", string(b.Since), "is not a date of the calendar")
	}
	if t := b.TotalTime; t != nil {
		in.filter.MinTime, in.filter.MaxTime = t.Min, t.Max
		if t.Min != nil && t.Max != nil && *t.Min > *t.Max {
			bad.Add("body.total_time", nil, "has a min greater than its max")
		}
	}
	in.list = c.List("scans", []any{in.filter, in.none})
	position, err := c.Server.Cursors().Decode(in.list, string(b.Cursor), 2)
	if err != nil {
		bad.Add("body.cursor", string(b.Cursor), err.Error())
	}
	if position != nil {
		in.after = store.ScanCursor{StartedAt: time.UnixMicro(position[0]).UTC(), ID: position[1]}
	}
	return bad
}

// products converts the filter. PRODUCT_UNSPECIFIED sets no filter. none is true if no scan can
// have any of the products.
func products(sent []api.Product) (list []model.IssueType, none bool) {
	if slices.Contains(sent, "PRODUCT_UNSPECIFIED") {
		return nil, false
	}
	for _, p := range sent {
		switch p {
		case "PRODUCT_SAST":
			list = append(list, model.SAST)
		case "PRODUCT_SCA":
			list = append(list, model.SCA)
		case "PRODUCT_SECRETS":
			list = append(list, model.Secrets)
		}
	}
	return list, len(sent) > 0 && len(list) == 0
}

func searchScans(ctx context.Context, c *core.Call, in *scansInput) (*api.SearchScansResponse, error) {
	out := &api.SearchScansResponse{Scans: []api.Scan{}}
	if in.none {
		return out, nil
	}
	rows, more, err := c.Tx.Scans(ctx, in.filter, in.after, in.limit)
	if err != nil {
		return nil, err
	}
	for _, s := range rows {
		out.Scans = append(out.Scans, scanOf(c, s))
	}
	if more {
		last := rows[len(rows)-1]
		out.Cursor, err = c.Server.Cursors().Encode(in.list, last.StartedAt.UnixMicro(), last.ID)
	}
	return out, err
}

// getScan returns one scan of a project that is visible to the token.
func getScan(ctx context.Context, c *core.Call, _ *core.None) (*api.ScanResponse, error) {
	id := c.PathID("scanId")
	s, err := c.Tx.Scan(ctx, id)
	if err != nil {
		return nil, err
	}
	p, err := c.VisibleProject(c.Tx.Project(ctx, s.ProjectID))
	if err != nil {
		return nil, err
	}
	row := scanOf(c, s)
	return &api.ScanResponse{
		ID: s.ID, DeploymentID: c.Caller.Deployment.ID, RepositoryID: s.ProjectID,
		StartedAt: row.StartedAt, CompletedAt: row.CompletedAt,
		ExitCode: row.ExitCode, Status: row.Status, IsFullScan: s.Full,
		EnabledProducts: row.EnabledProducts,
		Meta:            api.ScanMeta{Repository: p.Name, RepoURL: p.URL, Branch: s.Ref, Commit: s.Commit},
		Stats:           api.ScanStats{Findings: row.FindingsCounts.Total, TotalTime: row.TotalTime},
	}, nil
}

// scanOf converts a scan with its current status: a scan that runs for too long never finished.
func scanOf(c *core.Call, s model.Scan) api.Scan {
	out := api.Scan{
		ID: core.Decimal(s.ID), DeploymentID: core.Decimal(c.Caller.Deployment.ID), RepositoryID: core.Decimal(s.ProjectID),
		Branch: s.Ref, Commit: s.Commit, StartedAt: api.Time{Time: s.StartedAt}, CompletedAt: api.NewTime(s.CompletedAt),
		IsFullScan: s.Full, EnabledProducts: s.Products.Names(),
		FindingsCounts: gate.CountsOf(s.Counts), Status: s.StatusAt(c.Tx.Now()).String(),
		UnreadLockfiles: s.Unread, Error: s.Error,
	}
	if s.Outcome.Recorded() {
		out.Outcome = s.Outcome.String()
	}
	if !s.CompletedAt.IsZero() {
		out.ExitCode = new(int64(s.ExitCode))
	}
	if s.TotalTime >= 0 {
		out.TotalTime = new(math.Round(s.TotalTime.Seconds()*1e6) / 1e6)
	}
	return out
}

// HostedScans returns a page of scans in the hosted dialect.
func HostedScans(_ *core.Call, v any) any {
	in, ok := v.(*api.SearchScansResponse)
	if !ok {
		return v
	}
	return struct {
		Cursor  string     `json:"cursor"`
		HasMore bool       `json:"hasMore"`
		Scans   []api.Scan `json:"scans"`
	}{in.Cursor, in.Cursor != "", in.Scans}
}
