package agent

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"

	"github.com/redoubt/redoubt/internal/auth"
	"github.com/redoubt/redoubt/internal/model"
	"github.com/redoubt/redoubt/internal/redact"
	"github.com/redoubt/redoubt/internal/store"
)

// outcomeResponse is the outcome of the latest scan of a ref.
type outcomeResponse struct {
	ScanID  int64           `json:"scan_id"` // 0 if there is none
	Commit  string          `json:"commit"`
	Outcome json.RawMessage `json:"outcome,omitempty"` // as encoded by Config.EncodeOutcome
}

// outcome returns the outcome of a scan of a project's ref. It is the scan that the calling run of
// `redoubt ci` started, whether applied or recorded only, and otherwise the latest applied one.
// `redoubt ci` requests it before and after the scan, because the scanner itself only receives the
// result of the gate.
func (a *Agent) outcome(w http.ResponseWriter, r *http.Request, caller auth.Caller) error {
	q := r.URL.Query()
	names := redact.Finder{Key: a.SecretKey}
	name, branch := names.Name(q.Get("project")), model.FullRef(names.Name(q.Get("ref")))
	if name == "" {
		return model.Invalid("query.project", "is required: the scanned project")
	}
	var out outcomeResponse
	err := a.Store.View(r.Context(), caller.Deployment.ID, func(ctx context.Context, tx *store.Tx) error {
		project, err := tx.ProjectByName(ctx, name)
		if err != nil || !caller.Globs().Allows(project.Name) {
			return ignoreMissing(err)
		}
		scan, known, err := scanOfRun(ctx, tx, project.ID, branch, q.Get("run"))
		if err != nil || scan.ID == 0 {
			return err
		}
		var answer storedResponse
		out.ScanID, out.Commit = scan.ID, scan.Commit
		if len(known.Answer) > 0 {
			if err := json.Unmarshal(known.Answer, &answer); err != nil {
				return err
			}
		}
		out.Outcome = answer.Outcome
		return nil
	})
	if err != nil {
		return err
	}
	return answer(w, out)
}

// newestScans is the number of a ref's newest scans that are searched for a run.
const newestScans = 50

// scanOfRun returns the scan that a run started, and otherwise the latest applied scan of the ref.
// It returns the zero scan if there is none, or if the latest one is an import.
func scanOfRun(
	ctx context.Context, tx *store.Tx, projectID int64, ref, run string,
) (scan model.Scan, known model.AgentScan, err error) {
	var scans []model.Scan
	if run != "" {
		if scans, _, err = tx.Scans(ctx, model.ScanFilter{ProjectID: projectID, Ref: ref}, store.ScanCursor{},
			newestScans); err != nil {
			return scan, known, err
		}
	}
	for _, s := range scans {
		known, err := tx.AgentScanOf(ctx, s.ID)
		if errors.Is(err, model.ErrNotFound) {
			continue
		}
		var b begun
		if err == nil {
			err = json.Unmarshal(known.Begun, &b)
		}
		if err != nil || b.Run == run {
			return s, known, err
		}
	}
	stream, err := tx.Stream(ctx, projectID, ref, source, "")
	if err != nil || stream.LastScanID == 0 {
		return scan, known, err
	}
	known, err = tx.AgentScanOf(ctx, stream.LastScanID)
	if errors.Is(err, model.ErrNotFound) {
		return scan, known, nil // an import, or an expired scan
	}
	if err == nil {
		scan, err = tx.Scan(ctx, stream.LastScanID)
	}
	return scan, known, err
}
