package managed

import (
	"context"
	"errors"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/redoubt/redoubt/internal/model"
	"github.com/redoubt/redoubt/internal/store"
	"github.com/redoubt/redoubt/internal/web/ui"
)

const runsPerPage = 25

// runRow is a managed run in a list.
type runRow struct {
	model.Run
	Project string
	Runner  string
}

// runWords contains the display name and color class of each state.
var runWords = map[model.RunState][2]string{
	model.RunQueued: {"Waiting", "plain"}, model.RunLeased: {"Starting", "accent"},
	model.RunFetching:  {"Fetching", "accent"},
	model.RunScanning:  {"Scanning", "accent"},
	model.RunUploading: {"Uploading", "accent"}, model.RunDone: {"Done", "good"},
	model.RunFailed: {"Failed", "bad"}, model.RunCancelled: {"Stopped", "plain"},
	model.RunSuperseded: {"Superseded", "plain"}, model.RunTimedOut: {"Timed out", "bad"},
}

// Word and Tone return the display name and color class of the state.
func (r runRow) Word() string { return runWords[r.State][0] }
func (r runRow) Tone() string { return runWords[r.State][1] }

// Why describes the cause of the run.
func (r runRow) Why() string {
	switch r.Cause {
	case model.RunBySchedule:
		return "by schedule"
	case model.RunByPush:
		return "after a push"
	case model.RunByChangeRequest:
		return "for change request " + strconv.FormatInt(r.Change, 10)
	}
	return "on request"
}

// Took returns the duration of the latest attempt; empty until it has ended.
func (r runRow) Took() string {
	if r.BegunAt.IsZero() || r.EndedAt.IsZero() {
		return ""
	}
	return r.EndedAt.Sub(r.BegunAt).Round(time.Second).String()
}

// runRows returns runs with the names of their projects and runners.
func runRows(ctx context.Context, tx *store.Tx, runs []model.Run) ([]runRow, error) {
	ids := model.Map(runs, func(r model.Run) int64 { return r.ProjectID })
	names, err := tx.ProjectNames(ctx, ids)
	if err != nil {
		return nil, err
	}
	runners, err := tx.Runners(ctx)
	called := map[int64]string{}
	for _, r := range runners {
		called[r.ID] = r.Name
	}
	rows := model.Map(runs, func(r model.Run) runRow { return runRow{r, names[r.ProjectID], called[r.RunnerID]} })
	return rows, err
}

// runsPage is a list of managed runs.
type runsPage struct {
	Rows    []runRow
	Project string // filter by project; empty for all
	Next    string // address; empty on the last page
	First   string // address; empty on the first page
	Self    string
	Open    bool // some runs are pending or running, so the page polls
}

// listRuns lists managed runs, newest first.
func listRuns(req *ui.Request) error {
	q := req.HTTP.URL.Query()
	p := &runsPage{Project: strings.TrimSpace(q.Get("project")), Self: req.HTTP.URL.RequestURI()}
	query := store.RunQuery{Limit: runsPerPage + 1}
	if text := q.Get("before"); text != "" {
		var err error
		if query.Before, err = strconv.ParseInt(text, 10, 64); err != nil || query.Before <= 0 {
			return model.Invalid("before", "invalid position: start from the first page")
		}
	}
	err := req.View(func(ctx context.Context, tx *store.Tx) error {
		if p.Project != "" {
			project, err := tx.ProjectByName(ctx, p.Project)
			if err != nil {
				return err
			}
			query.ProjectID = project.ID
		}
		runs, err := tx.Runs(ctx, query)
		if err != nil {
			return err
		}
		if len(runs) > runsPerPage {
			runs = runs[:runsPerPage]
			q.Set("before", ui.Decimal(runs[runsPerPage-1].ID))
			p.Next = req.To("/runs?" + q.Encode())
		}
		p.Rows, err = runRows(ctx, tx, runs)
		return err
	})
	if err != nil {
		return err
	}
	if query.Before != 0 {
		q.Del("before")
		p.First = req.To("/runs?" + q.Encode())
	}
	for _, r := range p.Rows {
		p.Open = p.Open || !r.State.Ended()
	}
	return req.Show(http.StatusOK, ui.Page{
		Template: "runs",
		Title:    "Managed scans",
		Section:  "scans",
		Data:     p,
		Part:     "runlist",
	})
}

// runPage is a managed run with its log.
type runPage struct {
	runRow
	Log   string // log text from an offset on
	Next  string // address of the following text; empty: none
	Title string
}

// showRun shows a run with its log. A script polls for new log text by its offset and attempt.
func showRun(req *ui.Request) error {
	q := req.HTTP.URL.Query()
	offset, _ := strconv.ParseInt(q.Get("offset"), 10, 64)
	if offset < 0 || !req.Partial() {
		offset = 0
	}
	p := &runPage{}
	err := req.View(func(ctx context.Context, tx *store.Tx) error {
		run, err := tx.Run(ctx, req.PathID)
		if err != nil {
			return err
		}
		rows, err := runRows(ctx, tx, []model.Run{run})
		if err != nil {
			return err
		}
		log, err := tx.RunLog(ctx, req.PathID, min(offset, run.LogSize))
		p.runRow, p.Log = rows[0], string(log)
		return err
	})
	if err != nil {
		return err
	}
	if req.Partial() && q.Get("attempt") != strconv.Itoa(p.Attempt) { // another attempt has a new log
		req.Writer.Header().Set("HX-Refresh", "true")
		req.Writer.WriteHeader(http.StatusNoContent)
		return nil
	}
	if !p.State.Ended() {
		p.Next = req.To("/runs/"+ui.Decimal(req.PathID)) + "?" + url.Values{
			"offset":  {ui.Decimal(p.LogSize)},
			"attempt": {strconv.Itoa(p.Attempt)},
		}.Encode()
	}
	p.Title = "Managed scan " + ui.Decimal(req.PathID)
	return req.Show(http.StatusOK, ui.Page{Template: "run", Title: p.Title, Section: "scans", Data: p, Part: "runmore"})
}

// cancelRun cancels a run. A run that has already ended is only shown.
func cancelRun(req *ui.Request) error {
	err := req.Update(func(ctx context.Context, tx *store.Tx) error {
		return tx.CancelRun(ctx, req.PathID, model.RunStopped)
	})
	if err != nil && !errors.Is(err, model.ErrConflict) {
		return err
	}
	req.Redirect(req.To("/runs/" + ui.Decimal(req.PathID)))
	return nil
}

// retryRun queues a new run with the same parameters and redirects to it.
func retryRun(req *ui.Request) error {
	err := req.Update(func(ctx context.Context, tx *store.Tx) error {
		run, err := tx.RetryRun(ctx, req.PathID)
		req.PathID = run.ID
		return err
	})
	return ui.RedirectAfter(req, err, "/runs/"+ui.Decimal(req.PathID))
}
