package web

import (
	"context"
	"encoding/json"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/redoubt/redoubt"
	"github.com/redoubt/redoubt/internal/store"
)

const (
	scansPerPage   = 25
	changesPerScan = 300
)

// scansPage lists scans.
type scansPage struct {
	Rows    []scanRow
	Next    string // address; empty on the last page
	First   string // address, when this is not the first page
	Query   url.Values
	Running bool // some of them are under way, so the page looks again
	Self    string
	Project string
}

// listScans lists scans, the latest first.
func (v *visit) listScans() error {
	q := v.r.URL.Query()
	filter, after, err := scanFilter(q)
	if err != nil {
		return err
	}
	p := &scansPage{Query: q, Project: q.Get("project")}
	var more bool
	err = v.view(func(ctx context.Context, tx *store.Tx) error {
		if p.Project != "" {
			project, err := tx.ProjectByName(ctx, p.Project)
			if err != nil {
				return err
			}
			filter.ProjectID = project.ID
		}
		scans, m, err := tx.Scans(ctx, filter, after, scansPerPage)
		if err != nil {
			return err
		}
		more = m
		names, err := tx.ProjectNames(ctx, projectsOf(scans))
		p.Rows = v.scanRows(scans, names)
		return err
	})
	if err != nil {
		return err
	}
	p.Running = slices.ContainsFunc(p.Rows, func(r scanRow) bool { return r.Status == redoubt.ScanRunning })
	p.Self = v.r.URL.RequestURI()
	q.Del("after")
	if after != (store.ScanCursor{}) {
		p.First = v.to("/scans?" + q.Encode())
	}
	if more {
		last := p.Rows[len(p.Rows)-1]
		q.Set("after", decimal(last.StartedAt.UnixMicro())+"-"+decimal(last.ID))
		p.Next = v.to("/scans?" + q.Encode())
	}
	return v.show(http.StatusOK, sheet{Template: "scans", Title: "Scans", Section: "scans", Data: p, Part: "scanlist"})
}

func projectsOf(scans []redoubt.Scan) []int64 {
	ids := make([]int64, len(scans))
	for i, s := range scans {
		ids[i] = s.ProjectID
	}
	slices.Sort(ids)
	return slices.Compact(ids)
}

// scanFilter reads what scans are asked for.
func scanFilter(q url.Values) (f redoubt.ScanFilter, after store.ScanCursor, err error) {
	if ref := strings.TrimSpace(q.Get("ref")); ref != "" {
		f.Ref = redoubt.FullRef(ref)
	}
	if text := q.Get("status"); text != "" {
		status, ok := redoubt.ParseScanStatus("SCAN_STATUS_" + strings.ToUpper(text))
		if !ok {
			return f, after, redoubt.Invalid("status", "is running, completed, error or never_finished")
		}
		f.Statuses = []redoubt.ScanStatus{status}
	}
	if text := q.Get("product"); text != "" {
		product, ok := redoubt.ParseIssueType(text)
		if !ok {
			return f, after, redoubt.Invalid("product", "is sast, sca or secrets")
		}
		f.Products = []redoubt.IssueType{product}
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
			return f, after, redoubt.Invalid("after", "is no place in the list: go back to its start")
		}
		after = store.ScanCursor{StartedAt: time.UnixMicro(at).UTC(), ID: n}
	}
	return f, after, nil
}

// scanPage accounts for one scan.
type scanPage struct {
	scanRow
	Of      redoubt.Project
	Counts  []scanCount
	Changes []scanChange
	More    int // changes that are not listed
	Unread  []string
	Others  []store.SourceCount // what is unresolved by other sources: this scan does not speak for it
	Own     int                 // unresolved by its own source
	List    string              // address of what is open on its branch
}

type scanCount struct {
	Word  string
	Count int
}

type scanChange struct {
	store.ScanChange
	Word string
	Note string
}

// changeWords are what a scan may do to a finding, in the order of the page.
var changeWords = []struct {
	kind redoubt.FindingEventKind
	word string
}{
	{store.EventNew, "New"},
	{redoubt.EventReturned, "Came back"},
	{redoubt.EventFixed, "Fixed"},
	{redoubt.EventMoved, "Moved"},
	{redoubt.EventRemoved, "Left the scope"},
	{redoubt.EventMuted, "Silenced"},
	{redoubt.EventUnmuted, "No longer silenced"},
}

// showScan shows one scan with what it changed.
func (v *visit) showScan() error {
	id, err := v.id()
	if err != nil {
		return err
	}
	p := &scanPage{}
	err = v.view(func(ctx context.Context, tx *store.Tx) error {
		s, err := tx.Scan(ctx, id)
		if err != nil {
			return err
		}
		if p.Of, err = tx.Project(ctx, s.ProjectID); err != nil {
			return err
		}
		p.scanRow = v.scanRows([]redoubt.Scan{s}, map[int64]string{s.ProjectID: p.Of.Name})[0]
		p.Unread = s.Unread
		return p.account(ctx, tx, s)
	})
	if err != nil {
		return err
	}
	p.List = v.to("/findings?" + url.Values{"repos": {p.Project}, "ref": {p.Ref}}.Encode())
	return v.show(http.StatusOK, sheet{Template: "scan", Title: "Scan " + decimal(id), Section: "scans", Data: p, Part: "content"})
}

func (p *scanPage) account(ctx context.Context, tx *store.Tx, s redoubt.Scan) error {
	changes, counts, err := tx.ScanChanges(ctx, s, changesPerScan)
	if err != nil {
		return err
	}
	all := 0
	for _, w := range changeWords {
		p.Counts = append(p.Counts, scanCount{w.word, counts[w.kind]})
		all += counts[w.kind]
		for _, c := range changes {
			if c.Kind == w.kind {
				p.Changes = append(p.Changes, scanChange{c, w.word, movedFrom(c.Detail)})
			}
		}
	}
	p.More = max(all-len(p.Changes), 0)
	sources, err := tx.UnresolvedBySource(ctx, s.ProjectID, s.Ref)
	for _, source := range sources {
		if source.Source == s.Source {
			p.Own = source.Count
		} else {
			p.Others = append(p.Others, source)
		}
	}
	return err
}

// movedFrom says where a finding was before, or nothing.
func movedFrom(detail string) string {
	var d struct {
		From string `json:"from"`
		To   string `json:"to"`
	}
	if detail == "" || json.Unmarshal([]byte(detail), &d) != nil || d.From == "" {
		return ""
	}
	if d.From == d.To {
		return "its rule changed its text"
	}
	return "from " + d.From
}
