package projects

import (
	"context"
	"encoding/json"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/redoubt/redoubt/internal/model"
	"github.com/redoubt/redoubt/internal/store"
	"github.com/redoubt/redoubt/internal/web/component"
	"github.com/redoubt/redoubt/internal/web/ui"
)

// scanPage is the page of one scan.
type scanPage struct {
	component.ScanRecord
	Counts  []scanCount
	Show    string // selected count; empty for all changes
	Title   string // heading of the rows
	Changes []scanChange
	Pages   ui.Pager
	Gaps    []gapGroup
	AllGaps int                 // some may be omitted
	AnyLeft bool                // some are omitted
	Others  []store.SourceCount // unresolved findings of other sources, which this scan does not affect
	Own     int                 // unresolved findings of its own source
	List    string              // address of the open findings on its branch
	Self    string              // address with the selected count
}

// scanCount is a count of a scan, with a link to its rows.
type scanCount struct {
	Key     string
	Word    string
	Count   int
	Address string // empty if the rows are not stored
	Current bool
}

type scanChange struct {
	store.ScanChange
	Word string
	Note string
	// Unrated reports whether the vulnerability has no rating, so that its severity defaults to
	// medium.
	Unrated bool
}

// reportedKey selects all findings that a scan reported.
const reportedKey = "reported"

// changeWords contains the labels of a scan's changes, in display order.
var changeWords = []struct {
	kind model.FindingEventKind
	word string
}{
	{store.EventNew, "New"},
	{model.EventReturned, "Reopened"},
	{model.EventFixed, "Fixed"},
	{model.EventMoved, "Moved"},
	{model.EventRemoved, "Out of scope"},
	{model.EventMuted, "Suppressed"},
	{model.EventUnmuted, "No longer suppressed"},
}

func changeWord(kind model.FindingEventKind) string {
	for _, w := range changeWords {
		if w.kind == kind {
			return w.word
		}
	}
	return ""
}

// showScan shows a scan and its changes.
func showScan(req *ui.Request) error {
	q := req.HTTP.URL.Query()
	bad := &model.InvalidError{}
	page := max(ui.Number(q, "page", bad), 1)
	p := &scanPage{Show: q.Get("show"), Self: req.HTTP.URL.RequestURI()}
	if p.Show != "" && p.Show != reportedKey && changeWord(model.FindingEventKind(p.Show)) == "" {
		bad.Fields = append(bad.Fields, model.FieldError{
			Location: "show",
			Message:  "invalid kind of change",
			Value:    p.Show,
		})
	}
	if len(bad.Fields) > 0 {
		return bad
	}
	err := req.View(func(ctx context.Context, tx *store.Tx) (err error) {
		if p.ScanRecord, err = component.ReadScanRecord(ctx, req, tx, req.PathID); err != nil {
			return err
		}
		return p.read(ctx, tx, page, req.To("/scans/"+ui.Decimal(req.PathID)))
	})
	if err != nil {
		return err
	}
	if err := rateChanges(req, p); err != nil {
		return err
	}
	p.List = req.To("/findings?" + url.Values{"repos": {p.Project}, "ref": {p.Ref}}.Encode())
	return req.Show(http.StatusOK, ui.Page{
		Template: "scan",
		Title:    "Scan " + ui.Decimal(req.PathID),
		Section:  "scans",
		Data:     p,
		Part:     "content",
	})
}

// rateChanges marks changes without a severity rating.
func rateChanges(req *ui.Request, p *scanPage) error {
	view, err := req.Findings()
	if err != nil {
		return err
	}
	ids := make([]int64, len(p.Changes))
	for i := range p.Changes {
		ids[i] = p.Changes[i].FindingID
	}
	unrated, err := component.Unrated(req, view, ids)
	for i := range p.Changes {
		p.Changes[i].Unrated = unrated[ids[i]]
	}
	return err
}

// read reads the changes of the scan and one page of the selected rows.
func (p *scanPage) read(ctx context.Context, tx *store.Tx, page int, base string) error {
	p.gaps()
	if p.Runs() { // a running scan has no changes yet, and its page polls often
		p.count(nil, base)
		p.opened()
		return nil
	}
	if err := p.readChanges(ctx, tx, page, base); err != nil {
		return err
	}
	sources, err := tx.UnresolvedBySource(ctx, p.ProjectID, p.Ref)
	for _, source := range sources {
		if source.Source == p.Source {
			p.Own = source.Count
		} else {
			p.Others = append(p.Others, source)
		}
	}
	return err
}

// readChanges counts the changes and reads one page of the selected rows.
func (p *scanPage) readChanges(ctx context.Context, tx *store.Tx, page int, base string) error {
	kind := model.FindingEventKind(p.Show)
	if p.Show == reportedKey {
		kind = ""
	}
	changes, counts, err := tx.ScanChanges(ctx, p.Scan, kind, (page-1)*changesPerPage, changesPerPage)
	if err != nil {
		return err
	}
	p.count(counts, base)
	total := p.opened()
	if p.Show == reportedKey {
		if changes, err = p.reported(ctx, tx, page); err != nil {
			return err
		}
	}
	for _, c := range changes {
		p.Changes = append(p.Changes, scanChange{ScanChange: c, Word: changeWord(c.Kind), Note: movedFrom(c.Detail)})
	}
	p.Pages = ui.NewPager(page, changesPerPage, total, func(n int) string {
		return base + "?" + url.Values{"show": {p.Show}, "page": {ui.Decimal(int64(n))}}.Encode() + "#rows"
	})
	return nil
}

// count converts the counts to their labels, in display order.
func (p *scanPage) count(counts map[model.FindingEventKind]int, base string) {
	add := func(key, word string, n int, opens bool) {
		c := scanCount{Key: key, Word: word, Count: n, Current: p.Show == key}
		if opens {
			c.Address = base + "?show=" + key + "#rows"
		}
		p.Counts = append(p.Counts, c)
	}
	for _, w := range changeWords {
		add(string(w.kind), w.word, counts[w.kind], true)
	}
	add(reportedKey, "Reported", p.Scan.Counts.Total(), p.Known && p.Outcome == model.ScanApplied)
}

// opened sets the heading of the rows and returns their number.
func (p *scanPage) opened() (total int) {
	p.Title = "Changes"
	for _, c := range p.Counts {
		switch {
		case p.Show == c.Key && c.Key == reportedKey:
			p.Title = "Reported findings"
			return len(p.Account.Reported)
		case p.Show == c.Key:
			p.Title = c.Word
			return c.Count
		case c.Key != reportedKey:
			total += c.Count
		}
	}
	return total
}

// reported reads a page of the reported findings.
func (p *scanPage) reported(ctx context.Context, tx *store.Tx, page int) ([]store.ScanChange, error) {
	ids := p.Account.Reported
	ids = ids[min((page-1)*changesPerPage, len(ids)):min(page*changesPerPage, len(ids))]
	if len(ids) == 0 {
		return nil, nil
	}
	rows, err := tx.FindingsByID(ctx, ids)
	out := make([]store.ScanChange, len(rows))
	for i, f := range rows {
		out[i] = store.ScanChange{
			FindingID: f.ID,
			IssueType: f.IssueType,
			Severity:  f.Severity,
			State:     f.State,
			RuleName:  f.RuleName,
			Path:      f.Path,
			Line:      f.Line,
		}
	}
	return out, err
}

// gapGroup contains what a scan skipped for one reason.
type gapGroup struct {
	Title string
	Why   string // for the whole group
	Gaps  []model.ScanGap
	Open  bool
}

// gapKinds contains the labels of the kinds of gaps.
var gapKinds = []struct{ kind, title, why string }{
	{
		model.GapLockfile,
		"Unreadable lockfiles", "Findings in them are unchanged.",
	},
	{model.GapTimeout, "Timeouts", "A rule took too long there. Its earlier findings are unchanged."},
	{model.GapFailed, "Unparsed files", "Findings on lines that the scanner could not parse are unchanged."},
	{model.GapParse, "Partly parsed languages", "The scanner does not report the files. Findings that it missed " +
		"are marked fixed. They do not fail builds when they return at the same place."},
	{model.GapRule, "Rules that did not run", "Their findings are unchanged."},
	{model.GapItem, "Rejected items of the report", ""},
	{
		model.GapPath,
		"Skipped files", "Ignored, too large, not text, or unchanged in a diff. Their findings are unchanged.",
	},
}

// gaps groups the gaps of the scan.
func (p *scanPage) gaps() {
	list := p.Account.Gaps
	if !p.Known {
		for _, path := range p.Unread {
			list = append(list, model.ScanGap{Kind: model.GapLockfile, What: path})
		}
	}
	p.AllGaps = max(p.Account.AllGaps, len(list))
	p.AnyLeft = p.AllGaps > len(list)
	for _, k := range gapKinds {
		g := gapGroup{Title: k.title, Why: k.why}
		for _, gap := range list {
			if gap.Kind == k.kind {
				g.Gaps = append(g.Gaps, gap)
			}
		}
		if g.Open = len(g.Gaps) <= 10; len(g.Gaps) > 0 {
			slices.SortStableFunc(g.Gaps, func(a, b model.ScanGap) int { return strings.Compare(a.What, b.What) })
			p.Gaps = append(p.Gaps, g)
		}
	}
}

// movedFrom describes the previous location of a finding, or returns an empty string.
func movedFrom(detail string) string {
	var d struct {
		From string `json:"from"`
		To   string `json:"to"`
	}
	if detail == "" || json.Unmarshal([]byte(detail), &d) != nil || d.From == "" {
		return ""
	}
	if d.From == d.To {
		return "rule message changed"
	}
	return "from " + d.From
}
