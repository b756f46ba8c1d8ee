package agent

import (
	"context"
	"fmt"
	"net/http"
	"regexp"
	"strings"

	"github.com/redoubt/redoubt"
	"github.com/redoubt/redoubt/internal/auth"
	"github.com/redoubt/redoubt/internal/store"
)

// badRule is the exit code of a scanner that could not parse a rule: it ends
// every scan that is served it.
const badRule = 7

type errorRequest struct {
	ExitCode int `json:"exit_code"`
}

// fail ends a scan that its scanner gave up.
func (a *Agent) fail(w http.ResponseWriter, r *http.Request, caller auth.Caller) error {
	id, err := scanID(r)
	if err != nil {
		return err
	}
	var request errorRequest
	if err := decode(r, &request); err != nil {
		return err
	}
	err = a.Store.Update(r.Context(), caller.Deployment.ID, caller.Actor(), func(ctx context.Context, tx *store.Tx) error {
		known, scan, err := find(ctx, tx, caller, id)
		if err != nil || scan.Status != redoubt.ScanRunning || known.Done != nil { // it ended already, or is being applied
			return err
		}
		cause, err := a.causeOf(ctx, tx, id, request.ExitCode)
		if err != nil {
			return err
		}
		return end(ctx, tx, scan, request.ExitCode, cause)
	})
	if err != nil {
		return err
	}
	return answer(w, struct{}{})
}

// causeOf says why a scan failed. Where a rule may be to blame it names the
// suspects, here and in the log: those that no scanner has parsed.
func (a *Agent) causeOf(ctx context.Context, tx *store.Tx, id int64, exitCode int) (string, error) {
	cause := fmt.Sprintf("the scanner ended with exit code %d", exitCode)
	if exitCode != badRule {
		return cause, nil
	}
	scan, err := tx.Scan(ctx, id)
	if err != nil {
		return "", err
	}
	project, err := tx.Project(ctx, scan.ProjectID)
	if err != nil {
		return "", err
	}
	served, err := given(ctx, tx, project)
	if err != nil {
		return "", err
	}
	suspects := []string{}
	for _, s := range served.Rules {
		if !s.Checked {
			suspects = append(suspects, s.Rule.Name)
		}
	}
	a.Logger.WarnContext(ctx, "a scanner could not parse a rule that it was served; every scan fails until the rule is mended or removed",
		"scan", id, "deployment", tx.Deployment().ID, "suspects", suspects)
	return cause + ": it could not parse a rule; not checked by semgrep --validate: " + strings.Join(suspects, ", "), nil
}

func end(ctx context.Context, tx *store.Tx, scan redoubt.Scan, exitCode int, cause string) error {
	scan.Status, scan.ExitCode, scan.CompletedAt, scan.Error = redoubt.ScanError, exitCode, tx.Now(), cause
	return tx.FinishScan(ctx, scan)
}

type failureRequest struct {
	Error     string `json:"error"`
	RequestID string `json:"request_id"`
	ExitCode  int    `json:"exit_code"`
}

// failure hears of an error that a scanner hides from its build. It needs no
// token, since a wrong one is among the reasons; with one that fits, the scan
// learns its cause. It always says yes: the scanner ends either way.
func (a *Agent) failure(w http.ResponseWriter, r *http.Request, caller auth.Caller) error {
	var request failureRequest
	if err := decode(r, &request); err != nil {
		return err
	}
	name := request.RequestID
	if !uniqueID.MatchString(name) {
		name = ""
	}
	a.Logger.WarnContext(r.Context(), "a scanner failed and hides it from its build",
		"unique_id", name, "exit_code", request.ExitCode, "known_caller", caller.CanUpload())
	if name == "" || !caller.CanUpload() || !caller.CanWrite() {
		return answer(w, struct{}{})
	}
	err := a.Store.Update(r.Context(), caller.Deployment.ID, caller.Actor(), func(ctx context.Context, tx *store.Tx) error {
		known, err := tx.AgentScan(ctx, name)
		if err != nil || known.ScanID == 0 {
			return err
		}
		_, scan, err := find(ctx, tx, caller, known.ScanID)
		if err != nil || scan.Status == redoubt.ScanCompleted {
			return err
		}
		cause := printable(request.Error)
		if strings.Contains(scan.Error, cause) {
			return nil
		}
		return end(ctx, tx, scan, request.ExitCode, strings.TrimPrefix(scan.Error+"; "+cause, "; "))
	})
	if err != nil {
		a.Logger.WarnContext(r.Context(), "the cause of a failed scan was not kept", "unique_id", name, "error", err)
	}
	return answer(w, struct{}{})
}

// maxCause bounds what is kept of a scanner's own words, in bytes.
const maxCause = 2000

var tokenText = regexp.MustCompile(`rdt_[0-9a-z_]+`)

// printable is the scanner's own words on one line, without tokens.
func printable(s string) string {
	s = strings.Map(func(r rune) rune {
		if r < 0x20 || r == 0x7f {
			return ' '
		}
		return r
	}, tokenText.ReplaceAllString(s, "[token]"))
	s = strings.Join(strings.Fields(s), " ")
	// A traceback ends with what matters.
	return strings.ToValidUTF8(s[max(0, len(s)-maxCause):], "")
}
