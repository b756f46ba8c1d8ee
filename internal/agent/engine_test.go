package agent_test

import (
	"context"
	"fmt"
	"net/http"
	"testing"

	"github.com/redoubt/redoubt/internal/model"
	"github.com/redoubt/redoubt/internal/store"
)

// scanStatus returns the status of a scan and the exit code of its scanner.
func (w *world) scanStatus(id int64) (status string, exitCode int) {
	w.Helper()
	w.update(func(ctx context.Context, tx *store.Tx) error {
		scan, err := tx.Scan(ctx, id)
		status, exitCode = scan.Status.String(), scan.ExitCode
		return err
	})
	return status, exitCode
}

// TestRefusedEngineEndsScan checks that a scan ends with an error when the Pro engine is
// refused. A concurrent scan of the same token must complete.
func TestRefusedEngineEndsScan(t *testing.T) {
	each(t, func(w *world) {
		const download = "/api/agent/deployments/deepbinary/manylinux-x86?version=1.180.0"
		_, refused, _ := w.beginAs(w.token, claim{name: "acme/one", run: "run-one"})
		_, other, _ := w.beginAs(w.token, claim{name: "acme/two", run: "run-two"})
		reader := w.newToken(model.Token{Name: "reader", Scopes: []model.Scope{model.ScopeCI, model.ScopeReadOnly}})
		for _, c := range []struct{ what, run, token string }{
			{"a run that never began", "run-none", w.token}, {"no run", "", w.token}, {"a token that may only read", "run-one", reader},
		} {
			w.sendAs(c.run, "GET", download, c.token, nil)
			if status, _ := w.scanStatus(refused); status != model.ScanRunning.String() {
				w.Errorf("%s: the scan is %s", c.what, status)
			}
		}
		if code := w.sendAs("run-one", "GET", download, w.token, nil); code != http.StatusForbidden {
			w.Errorf("the download is answered %d", code)
		}
		status, exitCode := w.scanStatus(refused)
		w.same("the refused scan", model.ScanError.String()+" 2", fmt.Sprint(status, " ", exitCode))
		if status, _ := w.scanStatus(other); status != model.ScanRunning.String() {
			w.Errorf("the other scan is %s", status)
		}
		if results, complete := w.finishAs(w.token, other); results != http.StatusOK || complete != http.StatusOK {
			w.Errorf("the other scan is answered %d and %d", results, complete)
		}
		status, _ = w.scanStatus(other)
		w.same("the other scan", model.ScanCompleted.String(), status)
	})
}
