// Package agent implements the protocol of scanners that report by themselves, such as `semgrep
// ci`. It converts requests to model.Report values; package ingest updates findings and package
// policy judges builds. Responses must not contain null, because the scanner treats it as a value
// of a wrong type and exits.
package agent

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"strconv"
	"time"

	"github.com/redoubt/redoubt/internal/advisory"
	"github.com/redoubt/redoubt/internal/auth"
	"github.com/redoubt/redoubt/internal/httpx"
	"github.com/redoubt/redoubt/internal/ingest"
	"github.com/redoubt/redoubt/internal/model"
	"github.com/redoubt/redoubt/internal/policy"
	"github.com/redoubt/redoubt/internal/report"
	"github.com/redoubt/redoubt/internal/store"
)

// Config contains the dependencies and settings of an agent.
type Config struct {
	Store  *store.Store
	Logger *slog.Logger
	// Clock returns the current time.
	Clock func() time.Time
	// SecretKey is the key for hashes of secrets (docs/reference/secrets.md).
	SecretKey []byte
	// Advisories match inventories. Nil disables matching.
	Advisories *advisory.Library
	// EncodeOutcome encodes the outcome of a scan as JSON for later requests. If nil, no outcome is
	// stored.
	EncodeOutcome func(ingest.Summary, policy.Verdict) ([]byte, error)
	// MaxUpload limits the size of an upload, in bytes.
	MaxUpload int64
	// Wait is how long a completion waits for its scan to be applied before the scanner must retry.
	// 0 disables waiting.
	Wait time.Duration
	// CloneSource returns the location of a project's repository for runners, or model.ErrNotFound
	// if it is unknown. If nil, all locations are unknown.
	CloneSource func(context.Context, *store.Tx, model.Project) (model.CloneSource, error)
}

// Agent handles requests of scanners.
type Agent struct {
	Config
	applied broadcast // notified when a scan was applied
	logins  *auth.Limiter
	readers *auth.Limiter // limits reading of rules without a token

	attempts *attempts
}

// New returns an agent. A job runner must run ScanJob with Apply, at most Attempts times, and
// Background must run concurrently.
func New(c Config) *Agent {
	return &Agent{
		Config: c, logins: auth.NewLimiter(loginsPerSecond, loginsAtOnce, c.Clock), attempts: newAttempts(c.Clock),
		readers: auth.NewLimiter(readersPerSecond, readersAtOnce, c.Clock),
	}
}

// Routes returns all operations.
func (a *Agent) Routes() []httpx.Mounted {
	const (
		get, post       = http.MethodGet, http.MethodPost
		anyone, ci      = httpx.Anyone, httpx.Upload
		noRole          = model.RoleNone
		viewer, triager = model.RoleViewer, model.RoleTriager
		reads, writes   = httpx.Reads, httpx.Writes

		byName, byProject, unbound = httpx.ByName, httpx.ByProject, httpx.Unbound
	)
	routes := append([]httpx.Mounted{
		{Route: httpx.Row(post, "/api/cli/v2/scans", ci, triager, writes, byName), Handle: a.begin},
		{Route: httpx.Row(get, "/api/cli/v2/scans/{uniqueId}/config", ci, viewer, reads, byProject), Handle: a.config},
		{Route: httpx.Row(post, "/api/cli/scans", ci, triager, writes, byName), Handle: a.beginAtOnce},
		{Route: httpx.Row(post, "/api/agent/scans/{scanId}/results", ci, triager, writes, byProject), Handle: a.results},
		{Route: httpx.Row(post, "/api/agent/scans/{scanId}/complete", ci, triager, writes, byProject), Handle: a.complete},
		{Route: httpx.Row(post, "/api/agent/scans/{scanId}/error", ci, triager, writes, byProject), Handle: a.fail},
		{Route: httpx.Row(get, "/api/agent/scans/outcome", ci, viewer, reads, byName), Handle: a.outcome},
		{Route: httpx.Row(post, "/failure", anyone, noRole, reads, unbound), Handle: a.failure},
		{Route: httpx.Row(get, "/api/agent/deployments/current", ci, viewer, reads, unbound), Handle: a.deployment},
		{Route: httpx.Row(get, "/api/agent/identity", ci, viewer, reads, unbound), Handle: a.identity},
		{Route: httpx.Row(get, "/api/auth/users/current", ci, viewer, reads, unbound), Handle: a.currentUser},
		{Route: httpx.Row(post, "/api/agent/tokens/requests", anyone, noRole, reads, unbound), Handle: a.login},
		{Route: httpx.Row(get, "/login", anyone, noRole, reads, unbound), When: isLogin, Handle: a.loginPage},
		{Route: httpx.Row(get, "/api/agent/deployments/scans/config", ci, viewer, reads, byName), Handle: a.editor},
		{Route: httpx.Row(get, "/api/agent/deployments/deepbinary/{platform}", ci, viewer, reads, unbound), Handle: a.engine},
		{Route: httpx.Row(post, "/api/registry/rules", ci, viewer, reads, unbound), Handle: a.publish},
		{Route: httpx.Row(post, "/api/cli/tr_cache/lookup", ci, viewer, reads, unbound), Handle: a.reachabilityCache},
		{Route: httpx.Row(post, "/api/cli/tr_cache", ci, viewer, reads, unbound), Handle: a.acceptReachability},
		{Route: httpx.Row(get, "/c/p/semgrep-rule-lints", anyone, noRole, reads, unbound), Handle: a.lints},
	}, a.ruleRoutes()...)
	routes = append(routes, a.runnerRoutes()...)
	for i := range routes {
		routes[i].Refused = a.refused
	}
	return routes
}

// maxSmall limits request bodies that are not uploads, in bytes.
const maxSmall = 1 << 20

// decode parses a small JSON body. It ignores unknown members, because new versions of scanners add
// some.
func decode(r *http.Request, v any) error {
	err := json.NewDecoder(http.MaxBytesReader(nil, r.Body, maxSmall)).Decode(v)
	var oversize *http.MaxBytesError
	var wrong *json.UnmarshalTypeError
	switch {
	case err == nil, errors.As(err, &oversize), errors.Is(err, model.ErrTooLarge), errors.Is(err, model.ErrUnavailable):
		return err
	case errors.As(err, &wrong):
		return model.Invalid("body."+wrong.Field, "has the wrong type: %s", wrong.Value)
	}
	return model.Invalid("body", "malformed JSON: %v", err)
}

// scanID returns the scan id in the path, or model.ErrNotFound if it is invalid.
func scanID(r *http.Request) (int64, error) {
	id, err := strconv.ParseInt(r.PathValue("scanId"), 10, 64)
	if err != nil || id <= 0 {
		return 0, model.ErrNotFound
	}
	return id, nil
}

// options returns the options for parsing an upload.
func (a *Agent) options(name string, body io.Reader) report.Options {
	return report.Options{
		Name: name, Built: httpx.Build(body), Key: a.SecretKey, Limits: report.Limits{Input: a.MaxUpload},
	}
}
