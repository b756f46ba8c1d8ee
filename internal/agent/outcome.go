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

// outcomeResponse is what the latest scan of a ref came to.
type outcomeResponse struct {
	ScanID  int64           `json:"scan_id"` // 0 where there is none
	Commit  string          `json:"commit"`
	Outcome json.RawMessage `json:"outcome,omitempty"` // as Config.EncodeOutcome made it
}

// outcome answers what a scan of a project's ref came to: the one that the run
// of `redoubt ci` began that asks, applied or recorded only, else the latest that
// was applied. `redoubt ci` asks before and after it has the scanner run: the
// scanner itself is told only whether the build may pass.
func (a *Agent) outcome(w http.ResponseWriter, r *http.Request, caller auth.Caller) error {
	q := r.URL.Query()
	names := redact.Finder{Key: a.SecretKey}
	name, branch := names.Name(q.Get("project")), model.FullRef(names.Name(q.Get("ref")))
	if name == "" {
		return model.Invalid("query.project", "is needed: the project that was scanned")
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
		var answer kept
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

// newestScans is among how many of a ref's scans that of a run is looked for.
const newestScans = 50

// scanOfRun finds the scan that a run began, else the latest of the ref that was
// applied; the zero scan where there is none, or an import was the latest.
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
		return scan, known, nil // an import, or long ago
	}
	if err == nil {
		scan, err = tx.Scan(ctx, stream.LastScanID)
	}
	return scan, known, err
}
