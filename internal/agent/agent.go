// Package agent speaks the protocol of scanners that report by themselves, as
// `semgrep ci` does: it tells them what to look for, takes in what they found
// and answers whether the build may pass.
//
// Its border: wire on one side, model.Report on the other. What a finding's
// life is, ingest decides; what fails a build, policy. Who calls, how errors
// look and what is logged is the server's, which mounts the routes.
//
// No answer holds a null: the scanner takes one for a value of a wrong type and
// ends.
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

// Config is what an agent is made of.
type Config struct {
	Store  *store.Store
	Logger *slog.Logger
	// Clock tells the time.
	Clock func() time.Time
	// SecretKey hashes what identifies secrets (docs/reference/secrets.md).
	SecretKey []byte
	// Advisories are what inventories are matched against. Nil matches nothing.
	Advisories *advisory.Library
	// EncodeOutcome says what a scan came to, as JSON, for who asks later. Nil keeps
	// nothing of it.
	EncodeOutcome func(ingest.Summary, policy.Verdict) ([]byte, error)
	// MaxUpload bounds an upload, in bytes.
	MaxUpload int64
	// Wait is how long a completion waits for its scan to be applied before the
	// scanner is asked to come back; 0 does not wait.
	Wait time.Duration
	// CloneSource tells where a project's repository is, for the runner that it is given
	// to; model.ErrNotFound where nobody knows. Nil knows of none.
	CloneSource func(context.Context, *store.Tx, model.Project) (model.CloneSource, error)
}

// Agent answers scanners.
type Agent struct {
	Config
	applied broadcast // that some scan was
	logins  *auth.Limiter
	readers *auth.Limiter // of rules, without a token

	attempts *attempts
}

// New makes an agent. Its scans are applied by a job.Runner that does ScanJob
// with Apply, Attempts times at most, and Background runs beside it.
func New(c Config) *Agent {
	return &Agent{
		Config: c, logins: auth.NewLimiter(loginsPerSecond, loginsAtOnce, c.Clock), attempts: newAttempts(c.Clock),
		readers: auth.NewLimiter(readersPerSecond, readersAtOnce, c.Clock),
	}
}

// Routes returns the table: every operation there is.
func (a *Agent) Routes() []httpx.Mounted {
	const (
		get, post       = http.MethodGet, http.MethodPost
		anyone, ci      = httpx.Anyone, httpx.Upload
		nobody          = model.RoleNone
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
		{Route: httpx.Row(post, "/failure", anyone, nobody, reads, unbound), Handle: a.failure},
		{Route: httpx.Row(get, "/api/agent/deployments/current", ci, viewer, reads, unbound), Handle: a.deployment},
		{Route: httpx.Row(get, "/api/agent/identity", ci, viewer, reads, unbound), Handle: a.identity},
		{Route: httpx.Row(get, "/api/auth/users/current", ci, viewer, reads, unbound), Handle: a.currentUser},
		{Route: httpx.Row(post, "/api/agent/tokens/requests", anyone, nobody, reads, unbound), Handle: a.login},
		{Route: httpx.Row(get, "/login", anyone, nobody, reads, unbound), When: isLogin, Handle: a.loginPage},
		{Route: httpx.Row(get, "/api/agent/deployments/scans/config", ci, viewer, reads, byName), Handle: a.editor},
		{Route: httpx.Row(get, "/api/agent/deployments/deepbinary/{platform}", ci, viewer, reads, unbound), Handle: a.engine},
		{Route: httpx.Row(post, "/api/registry/rules", ci, viewer, reads, unbound), Handle: a.publish},
		{Route: httpx.Row(post, "/api/cli/tr_cache/lookup", ci, viewer, reads, unbound), Handle: a.reachabilityCache},
		{Route: httpx.Row(post, "/api/cli/tr_cache", ci, viewer, reads, unbound), Handle: a.keepReachability},
		{Route: httpx.Row(get, "/c/p/semgrep-rule-lints", anyone, nobody, reads, unbound), Handle: a.lints},
	}, a.ruleRoutes()...)
	routes = append(routes, a.runnerRoutes()...)
	for i := range routes {
		routes[i].Refused = a.refused
	}
	return routes
}

// maxSmall bounds the bodies that are not uploads, in bytes.
const maxSmall = 1 << 20

// decode reads a small JSON body. Members that are not known are ignored, for
// scanners gain some with every version.
func decode(r *http.Request, v any) error {
	err := json.NewDecoder(http.MaxBytesReader(nil, r.Body, maxSmall)).Decode(v)
	var oversize *http.MaxBytesError
	var wrong *json.UnmarshalTypeError
	switch {
	case err == nil, errors.As(err, &oversize), errors.Is(err, model.ErrTooLarge), errors.Is(err, model.ErrUnavailable):
		return err
	case errors.As(err, &wrong):
		return model.Invalid("body."+wrong.Field, "is a %s, which does not fit", wrong.Value)
	}
	return model.Invalid("body", "malformed JSON: %v", err)
}

// scanID reads the number in the path; what is not a number is not there.
func scanID(r *http.Request) (int64, error) {
	id, err := strconv.ParseInt(r.PathValue("scanId"), 10, 64)
	if err != nil || id <= 0 {
		return 0, model.ErrNotFound
	}
	return id, nil
}

// options tell how an upload is read.
func (a *Agent) options(name string, body io.Reader) report.Options {
	return report.Options{
		Name: name, Built: httpx.Build(body), Key: a.SecretKey, Limits: report.Limits{Input: a.MaxUpload},
	}
}
