package agent

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"

	"github.com/redoubt/redoubt"
	"github.com/redoubt/redoubt/internal/auth"
	"github.com/redoubt/redoubt/internal/store"
)

// outcomeResponse is what the latest scan of a ref came to.
type outcomeResponse struct {
	ScanID  int64           `json:"scan_id"` // 0 where there is none
	Commit  string          `json:"commit"`
	Outcome json.RawMessage `json:"outcome,omitempty"` // as Config.EncodeOutcome made it
}

// outcome answers what the latest scan of a project's ref came to that was applied.
// `redoubt ci` asks before and after it has the scanner run: the scanner itself
// is told only whether the build may pass.
func (a *Agent) outcome(w http.ResponseWriter, r *http.Request, caller auth.Caller) error {
	name, branch := r.URL.Query().Get("project"), redoubt.FullRef(r.URL.Query().Get("ref"))
	if name == "" {
		return redoubt.Invalid("query.project", "is needed: the project that was scanned")
	}
	var out outcomeResponse
	err := a.Store.View(r.Context(), caller.Deployment.ID, func(ctx context.Context, tx *store.Tx) error {
		project, err := tx.ProjectByName(ctx, name)
		if err != nil || !caller.Globs().Allows(project.Name) {
			return ignoreMissing(err)
		}
		stream, err := tx.Stream(ctx, project.ID, branch, source, "")
		if err != nil || stream.LastScanID == 0 {
			return err
		}
		known, err := tx.AgentScanOf(ctx, stream.LastScanID)
		if errors.Is(err, redoubt.ErrNotFound) {
			return nil // an import, or long ago
		}
		if err != nil {
			return err
		}
		scan, err := tx.Scan(ctx, stream.LastScanID)
		if err != nil {
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
