package component

import (
	"context"
	"errors"
	"time"

	"github.com/redoubt/redoubt/internal/model"
	"github.com/redoubt/redoubt/internal/store"
	"github.com/redoubt/redoubt/internal/web/ui"
)

// ScanRow is a scan in a list.
type ScanRow struct {
	model.Scan
	Project string
	Status  model.ScanStatus // at the time of the request
	Stage   model.ScanStage  // stage of a running scan
	Blocked bool             // the scan failed its build
}

// ScanRows reads the list rows of scans. names maps project ids to names.
func ScanRows(
	ctx context.Context, req *ui.Request, tx *store.Tx, scans []model.Scan, names map[int64]string,
) ([]ScanRow, error) {
	now := req.Clock()
	rows, ids := make([]ScanRow, len(scans)), make([]int64, len(scans))
	for i, s := range scans {
		rows[i], ids[i] = ScanRow{Scan: s, Project: names[s.ProjectID], Status: s.StatusAt(now)}, s.ID
	}
	if len(ids) == 0 {
		return rows, nil
	}
	blocked, err := tx.BlockedScans(ctx, ids)
	if err != nil {
		return nil, err
	}
	stages, err := tx.AgentStages(ctx, ids)
	for i := range rows {
		rows[i].Blocked, rows[i].Stage = blocked[rows[i].ID], stages[rows[i].ID]
	}
	return rows, err
}

// ScanRecord is a scan with its stored details.
type ScanRecord struct {
	ScanRow
	Of      model.Project
	Account model.ScanAccount
	Known   bool // Account is set
}

// ReadScanRecord reads a scan, its project and, if stored, its account.
func ReadScanRecord(ctx context.Context, req *ui.Request, tx *store.Tx, id int64) (r ScanRecord, err error) {
	s, err := tx.Scan(ctx, id)
	if err != nil {
		return r, err
	}
	if r.Of, err = tx.Project(ctx, s.ProjectID); err != nil {
		return r, err
	}
	rows, err := ScanRows(ctx, req, tx, []model.Scan{s}, map[int64]string{s.ProjectID: r.Of.Name})
	if err != nil {
		return r, err
	}
	r.ScanRow = rows[0]
	r.Account, err = tx.ScanAccount(ctx, id)
	if errors.Is(err, model.ErrNotFound) {
		return r, nil
	}
	r.Known = err == nil
	return r, err
}

// Runs reports whether the scan is running.
func (r ScanRow) Runs() bool { return r.Status == model.ScanRunning }

// Steps returns the stages of a running scan and their progress.
func (r ScanRow) Steps() []ScanStep {
	words := []string{"Registered", "Results received", "Applying"}
	steps := make([]ScanStep, len(words))
	for i, word := range words {
		steps[i] = ScanStep{word, i < int(r.Stage), i == int(r.Stage)}
	}
	return steps
}

// ScanStep is a stage of a running scan.
type ScanStep struct {
	Word      string
	Done, Now bool
}

// Word returns the status as a label.
func (r ScanRow) Word() string {
	switch r.Status {
	case model.ScanRunning:
		return r.Steps()[r.Stage].Word
	case model.ScanError:
		return "Failed"
	case model.ScanNeverFinished:
		return "Never finished"
	}
	switch r.Outcome {
	case model.ScanLate:
		return "Late"
	case model.ScanSuperseded:
		return "Superseded"
	}
	return "Completed"
}

// Tone returns the color class of the status.
func (r ScanRow) Tone() string {
	switch r.Status {
	case model.ScanRunning:
		return "accent"
	case model.ScanError, model.ScanNeverFinished:
		return "bad"
	}
	if r.Outcome == model.ScanLate || r.Outcome == model.ScanSuperseded {
		return "warn"
	}
	return "good"
}

// Took returns the duration of the scan, or an empty string if unknown.
func (r ScanRow) Took() string {
	if r.TotalTime < 0 {
		return ""
	}
	return ui.Duration(r.TotalTime.Round(time.Second))
}
