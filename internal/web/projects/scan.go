package projects

import (
	"context"
	"errors"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/redoubt/redoubt/internal/model"
	"github.com/redoubt/redoubt/internal/store"
	"github.com/redoubt/redoubt/internal/web/component"
	"github.com/redoubt/redoubt/internal/web/ui"
)

const (
	scansPerPage   = 25
	changesPerPage = 100
)

// scansPage is a list of scans.
type scansPage struct {
	Rows      []component.ScanRow
	Next      string // address; empty on the last page
	First     string // address; empty on the first page
	Query     url.Values
	Running   bool // some scans are running, so the page polls
	Newest    bool // the first page, where new scans appear
	Self      string
	Project   string // searched in project names; empty for all
	NoProject bool   // no project matches
}

// listScans lists scans, latest first.
func listScans(req *ui.Request) error {
	q := req.HTTP.URL.Query()
	filter, after, err := scanFilter(q)
	if err != nil {
		return err
	}
	p := &scansPage{Query: q, Project: strings.TrimSpace(q.Get("project"))}
	var more bool
	err = req.View(func(ctx context.Context, tx *store.Tx) error {
		if p.Project != "" {
			if filter.AnyOf, err = projectsCalled(ctx, tx, p.Project); err != nil {
				return err
			}
			if p.NoProject = len(filter.AnyOf) == 0; p.NoProject {
				return nil
			}
		}
		scans, m, err := tx.Scans(ctx, filter, after, scansPerPage)
		if err != nil {
			return err
		}
		more = m
		names, err := tx.ProjectNames(ctx, projectsOf(scans))
		if err != nil {
			return err
		}
		p.Rows, err = component.ScanRows(ctx, req, tx, scans, names)
		return err
	})
	if err != nil {
		return err
	}
	p.Running = slices.ContainsFunc(p.Rows, component.ScanRow.Runs)
	p.Self, p.Newest = req.HTTP.URL.RequestURI(), after == (store.ScanCursor{})
	q.Del("after")
	if after != (store.ScanCursor{}) {
		p.First = req.To("/scans?" + q.Encode())
	}
	if more {
		last := p.Rows[len(p.Rows)-1]
		q.Set("after", ui.Decimal(last.StartedAt.UnixMicro())+"-"+ui.Decimal(last.ID))
		p.Next = req.To("/scans?" + q.Encode())
	}
	return req.Show(http.StatusOK, ui.Page{
		Template: "scans",
		Title:    "Scans",
		Section:  "scans",
		Data:     p,
		Part:     "scanlist",
	})
}

// projectsCalled returns the project with the current or former name text. If there is none, it
// returns all projects whose name contains the text, ignoring case. The text is not a glob, as
// names may contain glob characters.
func projectsCalled(ctx context.Context, tx *store.Tx, text string) (ids []int64, err error) {
	project, err := tx.ProjectByName(ctx, text)
	if err == nil {
		return []int64{project.ID}, nil
	}
	if !errors.Is(err, model.ErrNotFound) {
		return nil, err
	}
	all, err := tx.Projects(ctx, store.ProjectQuery{})
	if err != nil {
		return nil, err
	}
	for _, one := range all {
		if strings.Contains(strings.ToLower(one.Name), strings.ToLower(text)) {
			ids = append(ids, one.ID)
		}
	}
	return ids, nil
}

func projectsOf(scans []model.Scan) []int64 {
	ids := model.Map(scans, func(s model.Scan) int64 { return s.ProjectID })
	slices.Sort(ids)
	return slices.Compact(ids)
}

// scanFilter parses a query.
func scanFilter(q url.Values) (f model.ScanFilter, after store.ScanCursor, err error) {
	if ref := strings.TrimSpace(q.Get("ref")); ref != "" {
		f.Ref = model.FullRef(ref)
	}
	if text := q.Get("status"); text != "" {
		status, ok := model.ParseScanStatus("SCAN_STATUS_" + strings.ToUpper(text))
		if !ok {
			return f, after, model.Invalid("status", "must be running, completed, error or never_finished")
		}
		f.Statuses = []model.ScanStatus{status}
	}
	if text := q.Get("product"); text != "" {
		product, ok := model.ParseIssueType(text)
		if !ok {
			return f, after, model.Invalid("product", "must be sast, sca or secrets")
		}
		f.Products = []model.IssueType{product}
	}
	if text := q.Get("full"); text != "" {
		full := text == "1"
		f.Full = &full
	}
	if text := q.Get("after"); text != "" {
		micros, id, _ := strings.Cut(text, "-")
		at, err1 := strconv.ParseInt(micros, 10, 64)
		n, err2 := strconv.ParseInt(id, 10, 64)
		if err1 != nil || err2 != nil {
			return f, after, model.Invalid("after", "invalid position: start from the first page")
		}
		after = store.ScanCursor{StartedAt: time.UnixMicro(at).UTC(), ID: n}
	}
	return f, after, nil
}
