package agent

import (
	"context"
	"fmt"
	"net/http"
	"strings"

	"github.com/redoubt/redoubt/internal/auth"
	"github.com/redoubt/redoubt/internal/httpx"
	"github.com/redoubt/redoubt/internal/model"
	"github.com/redoubt/redoubt/internal/policy"
	"github.com/redoubt/redoubt/internal/redact"
	"github.com/redoubt/redoubt/internal/store"
)

// badRule is the exit code of a scanner that could not parse a rule. Such a rule fails every scan
// that uses it.
const badRule = 7

type errorRequest struct {
	ExitCode int `json:"exit_code"`
}

// fail ends a scan that its scanner aborted.
func (a *Agent) fail(w http.ResponseWriter, r *http.Request, caller auth.Caller) error {
	id, err := scanID(r)
	if err != nil {
		return err
	}
	var request errorRequest
	if err := decode(r, &request); err != nil {
		return err
	}
	attempt := a.attemptOf(r, model.FailedScan)
	err = a.Store.Update(r.Context(), caller.Deployment.ID, caller.Actor(), func(ctx context.Context, tx *store.Tx) error {
		known, scan, err := find(ctx, tx, caller, id)
		if err != nil {
			return err
		}
		attempt.Name = known.UniqueID
		if attempt.Cause, err = a.causeOf(ctx, tx, id, request.ExitCode); err != nil {
			return err
		}
		if err := scanFailed(ctx, tx, &attempt, scan); err != nil || scan.Status != model.ScanRunning || known.Done != nil {
			return err // already ended or being applied
		}
		return end(ctx, tx, scan, request.ExitCode, attempt.Cause)
	})
	if err != nil {
		return err
	}
	attempt.DeploymentID, attempt.TokenID, attempt.ExitCode = caller.Deployment.ID, caller.Token.PublicID, request.ExitCode
	if a.attempts.allow(attempt.Step, attempt.DeploymentID, attempt.Address) {
		a.enqueue(attempt)
	}
	return answer(w, struct{}{})
}

// causeOf returns the reason why a scan failed. If a rule may be the cause, the reason and the log
// contain the rules that no scanner has parsed.
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
	served, err := policy.LoadEffectivePolicy(ctx, tx, project)
	if err != nil {
		return "", err
	}
	suspects := []string{}
	for _, s := range served.Rules {
		if !s.Checked {
			suspects = append(suspects, s.Rule.Name)
		}
	}
	a.Logger.WarnContext(ctx, "a scanner could not parse a served rule; scans fail until the rule is fixed or removed",
		"scan", id, "deployment", tx.Deployment().ID, "suspects", suspects)
	return cause + ": it could not parse a rule; not checked by semgrep --validate: " + strings.Join(suspects, ", "), nil
}

func end(ctx context.Context, tx *store.Tx, scan model.Scan, exitCode int, cause string) error {
	scan.Status, scan.ExitCode, scan.CompletedAt, scan.Error = model.ScanError, exitCode, tx.Now(), cause
	return tx.FinishScan(ctx, scan)
}

type failureRequest struct {
	Error     string `json:"error"`
	RequestID string `json:"request_id"`
	ExitCode  int    `json:"exit_code"`
}

// failure records an error that a scanner hides from its build. It needs no token, because an
// invalid token is a possible cause. With a valid token the scan gets the cause. The response is
// always successful, because the scanner exits in any case.
func (a *Agent) failure(w http.ResponseWriter, r *http.Request, caller auth.Caller) error {
	var request failureRequest
	if err := decode(r, &request); err != nil {
		return err
	}
	attempt := a.attemptOf(r, model.FailedOpen)
	if isUniqueID(request.RequestID) {
		attempt.Name = request.RequestID
	}
	cause := strings.ReplaceAll(request.Error, orNever(httpx.Credential(r)), redact.Mark)
	attempt.ExitCode, attempt.Cause = request.ExitCode, printable(cause)
	known := caller.CanUpload() && caller.CanWrite()
	a.Logger.WarnContext(r.Context(), "a scanner failed without failing its build",
		"unique_id", brief(attempt.Name, maxAgent), "exit_code", request.ExitCode, "known_caller", known)
	if known {
		attempt.DeploymentID, attempt.TokenID = caller.Deployment.ID, caller.Token.PublicID
		if err := a.failScan(r.Context(), caller, &attempt); err != nil {
			a.Logger.WarnContext(r.Context(), "the cause of a failed scan was not stored",
				"unique_id", brief(attempt.Name, maxAgent), "error", err)
		}
	}
	if a.attempts.allow(attempt.Step, attempt.DeploymentID, attempt.Address) {
		if !known {
			attempt.DeploymentID, attempt.TokenID, _ = a.presented(r.Context(), r)
		}
		a.enqueue(attempt)
	}
	return answer(w, struct{}{})
}

// orNever replaces an empty text by one that is never found.
func orNever(s string) string {
	if s == "" {
		return "\x00"
	}
	return s
}

// failScan ends a scan with the cause of its failure, unless it was completed. It adds the data of
// the scan to the attempt. Runs without a scan are ignored.
func (a *Agent) failScan(ctx context.Context, caller auth.Caller, attempt *model.FailedAttempt) error {
	return a.Store.Update(ctx, caller.Deployment.ID, caller.Actor(), func(ctx context.Context, tx *store.Tx) error {
		known, err := findRun(ctx, tx, caller, attempt.Name)
		if err != nil || known.ScanID == 0 {
			return ignoreMissing(err)
		}
		_, scan, err := find(ctx, tx, caller, known.ScanID)
		if err != nil {
			return ignoreMissing(err)
		}
		if err := scanFailed(ctx, tx, attempt, scan); err != nil {
			return err
		}
		recorded := strings.Contains(scan.Error, attempt.Cause) || len(scan.Error) >= maxCause
		if scan.Status == model.ScanCompleted || known.Done != nil || recorded {
			return nil
		}
		return end(ctx, tx, scan, attempt.ExitCode, strings.TrimPrefix(scan.Error+"; "+attempt.Cause, "; "))
	})
}
