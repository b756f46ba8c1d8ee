package agent

import (
	"bytes"
	"cmp"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/redoubt/redoubt/internal/auth"
	"github.com/redoubt/redoubt/internal/httpx"
	"github.com/redoubt/redoubt/internal/model"
	"github.com/redoubt/redoubt/internal/store"
)

// Limits of stored failed attempts, for authenticated callers, and otherwise for an address and for
// all addresses. Attempts above the limits are only counted, so that they cannot fill the disk or
// displace others.
const (
	knownPerSecond, knownAtOnce = 20, 500
	onePerSecond, oneAtOnce     = 1, 30
	allPerSecond, allAtOnce     = 10, 200
	attemptsWaiting             = 256 // capacity of the queue
)

// attempts records failed attempts of scanners asynchronously.
type attempts struct {
	known, one, all *auth.Limiter
	queue           chan model.FailedAttempt
	failed          *prometheus.CounterVec
	dropped         prometheus.Counter
}

func newAttempts(clock func() time.Time) *attempts {
	return &attempts{
		known: auth.NewLimiter(knownPerSecond, knownAtOnce, clock), one: auth.NewLimiter(onePerSecond, oneAtOnce, clock),
		all: auth.NewLimiter(allPerSecond, allAtOnce, clock), queue: make(chan model.FailedAttempt, attemptsWaiting),
		failed: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "redoubt_scanner_failures_total", Help: "Failed steps of scanner runs, by kind.",
		}, []string{"step"}),
		dropped: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "redoubt_scanner_failures_dropped_total", Help: "Failed steps that were not stored because of the rate limit.",
		}),
	}
}

// Collectors returns the agent's metrics.
func (a *Agent) Collectors() []prometheus.Collector {
	return []prometheus.Collector{a.attempts.failed, a.attempts.dropped}
}

// Background stores failed attempts until the context ends, and then the remaining ones.
func (a *Agent) Background(ctx context.Context) {
	for {
		select {
		case attempt := <-a.attempts.queue:
			a.storeAttempt(ctx, attempt)
		case <-ctx.Done():
			for {
				select {
				case attempt := <-a.attempts.queue:
					a.storeAttempt(ctx, attempt)
				default:
					return
				}
			}
		}
	}
}

func (a *Agent) storeAttempt(ctx context.Context, attempt model.FailedAttempt) {
	if err := a.Store.AddFailedAttempt(context.WithoutCancel(ctx), attempt); err != nil {
		a.Logger.WarnContext(ctx, "a failed attempt was not stored", "name", attempt.Name, "error", err)
	}
}

// enqueue queues a failed attempt. Its deployment is 0 for unauthenticated callers. Callers must
// call allow first, before expensive lookups.
func (a *Agent) enqueue(attempt model.FailedAttempt) {
	if !isUniqueID(attempt.Name) {
		attempt.Name = "run_" + strings.ToLower(rand.Text())
	}
	select {
	case a.attempts.queue <- attempt:
	default:
		a.attempts.dropped.Inc()
	}
}

// allow counts a failed step and reports whether it may be stored.
func (t *attempts) allow(step model.FailedStep, known int64, address string) bool {
	t.failed.WithLabelValues(string(step)).Inc()
	var ok bool
	if known != 0 {
		ok = t.known.Allow(fmt.Sprint(known)).OK
	} else {
		ok = t.one.Allow(model.Network(address)).OK && t.all.Allow("").OK
	}
	if !ok {
		t.dropped.Inc()
	}
	return ok
}

// refused records an unauthenticated or unauthorized request, with its data about the run. The
// token is never stored.
func (a *Agent) refused(r *http.Request, cause error, status int) {
	step := model.FailedSignIn
	if status == http.StatusForbidden {
		step = model.FailedScope
	}
	if !a.attempts.allow(step, 0, httpx.OriginOf(r).Address) {
		return
	}
	attempt := a.attemptOf(r, step)
	var why string
	attempt.DeploymentID, attempt.TokenID, why = a.presented(r.Context(), r)
	if step == model.FailedScope {
		why = brief(cause.Error(), maxCause)
	}
	attempt.Cause = r.Method + " " + brief(r.URL.Path, maxAgent) + ": " + why
	attempt.Repository, attempt.Ref = a.beginning(r)
	a.enqueue(attempt)
}

// attemptOf returns an attempt with the data of any request.
func (a *Agent) attemptOf(r *http.Request, step model.FailedStep) model.FailedAttempt {
	return model.FailedAttempt{
		Name:    r.Header.Get("X-Semgrep-Scan-ID"),
		Step:    step,
		Agent:   userAgent(r),
		Address: httpx.OriginOf(r).Address,
	}
}

// presented returns the deployment and token id of a rejected request, and the reason. Both ids are
// zero for an unknown token. The deployment in an unknown token is ignored, because tokens can be
// forged.
func (a *Agent) presented(ctx context.Context, r *http.Request) (deployment int64, tokenID, why string) {
	secret := httpx.Credential(r)
	if secret == "" {
		return 0, "", "no token was sent: set SEMGREP_APP_TOKEN"
	}
	id, hash, err := auth.ParseSecret(secret)
	if err != nil {
		return 0, "", "not a token of this server: mistyped, truncated or from another server"
	}
	t, err := a.Store.TokenByHash(ctx, id, hash)
	switch now := a.Clock(); {
	case errors.Is(err, model.ErrNotFound):
		return 0, "", "unknown token: its deployment may be on another server, or deleted"
	case err != nil:
		return 0, "", "the token could not be looked up"
	case !t.RevokedAt.IsZero():
		why = "the token was revoked on " + t.RevokedAt.Format(time.DateOnly)
	case !t.Active(now):
		why = "the token expired on " + t.ExpiresAt.Format(time.DateOnly)
	default:
		why = "the token is valid, but only rule downloads accept it as a password: send it as a bearer token"
	}
	return t.DeploymentID, t.PublicID, why
}

// maxBeginning limits how much of a rejected request is read, in bytes.
const maxBeginning = 64 << 10

// beginning returns the repository and ref of a rejected request that starts a scan.
func (a *Agent) beginning(r *http.Request) (repository, ref string) {
	if r.Method != http.MethodPost || !strings.HasPrefix(r.URL.Path, "/api/cli/") ||
		r.Header.Get("Content-Encoding") != "" {
		return "", ""
	}
	text, err := io.ReadAll(io.LimitReader(r.Body, maxBeginning))
	if err != nil {
		return "", ""
	}
	var request beginRequest
	if json.NewDecoder(bytes.NewReader(text)).Decode(&request) != nil {
		return "", ""
	}
	begun, err := request.begun(a.SecretKey)
	if err != nil {
		return brief(cmp.Or(request.Project.DisplayName, request.Project.Repository), maxAgent), ""
	}
	return brief(begun.Project.Name, maxAgent), brief(begun.Ref, maxAgent)
}

// scanFailed adds the data of a known scan to an attempt.
func scanFailed(ctx context.Context, tx *store.Tx, attempt *model.FailedAttempt, scan model.Scan) error {
	attempt.ScanID, attempt.Ref = scan.ID, scan.Ref
	project, err := tx.Project(ctx, scan.ProjectID)
	attempt.Repository = project.Name
	return err
}
