// Package agent speaks the protocol of scanners that report by themselves, as
// `semgrep ci` does: it tells them what to look for, takes in what they found
// and answers whether the build may pass.
//
// Its border: wire on one side, redoubt.Report on the other. What a finding's
// life is, ingest decides; what fails a build, policy. Who calls, how errors
// look and what is logged is the server's, which mounts the routes.
//
// No answer holds a null: the scanner takes one for a value of a wrong type and
// ends.
package agent

import (
	"encoding/json"
	"errors"
	"log/slog"
	"net/http"
	"strconv"
	"time"

	"github.com/redoubt/redoubt"
	"github.com/redoubt/redoubt/internal/advisory"
	"github.com/redoubt/redoubt/internal/auth"
	"github.com/redoubt/redoubt/internal/ingest"
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
	// SecretKey hashes what identifies secrets (semantics §16).
	SecretKey []byte
	// Advisories are what inventories are matched against. Nil matches nothing.
	Advisories *advisory.Library
	// EncodeOutcome says what a scan came to, as JSON, for who asks later. Nil keeps
	// nothing of it.
	EncodeOutcome func(ingest.Summary, policy.Verdict) ([]byte, error)
	// Base is the address that a request reached the server at, for links in
	// answers to it, without a slash at the end. Nil gives none.
	Base func(*http.Request) string
	// MaxUpload bounds an upload, in bytes.
	MaxUpload int64
	// Wait is how long a completion waits for its scan to be applied before the
	// scanner is asked to come back; 0 does not wait.
	Wait time.Duration
	// Queued is told that there is a scan to apply. It may be nil.
	Queued func()
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

// Route is one operation of the protocol.
type Route struct {
	Method  string
	Pattern string // of http.ServeMux
	Anyone  bool   // answered without a token
	Writes  bool   // refused to read-only tokens
	// When leaves requests that it denies to the pages; nil takes all.
	When func(*http.Request) bool
	// Basic takes the token as the password of Basic authentication too.
	Basic  bool
	Handle func(w http.ResponseWriter, r *http.Request, caller auth.Caller) error
}

// Routes returns every operation there is.
func (a *Agent) Routes() []Route {
	const get, post = http.MethodGet, http.MethodPost
	return append([]Route{
		{Method: post, Pattern: "/api/cli/v2/scans", Writes: true, Handle: a.begin},
		{Method: get, Pattern: "/api/cli/v2/scans/{uniqueId}/config", Handle: a.config},
		{Method: post, Pattern: "/api/cli/scans", Writes: true, Handle: a.beginAtOnce},
		{Method: post, Pattern: "/api/agent/scans/{scanId}/results", Writes: true, Handle: a.results},
		{Method: post, Pattern: "/api/agent/scans/{scanId}/complete", Writes: true, Handle: a.complete},
		{Method: post, Pattern: "/api/agent/scans/{scanId}/error", Writes: true, Handle: a.fail},
		{Method: get, Pattern: "/api/agent/scans/outcome", Handle: a.outcome},
		{Method: post, Pattern: "/failure", Anyone: true, Handle: a.failure},
		{Method: get, Pattern: "/api/agent/deployments/current", Handle: a.deployment},
		{Method: get, Pattern: "/api/agent/identity", Handle: a.identity},
		{Method: post, Pattern: "/api/agent/tokens/requests", Anyone: true, Handle: a.login},
		{Method: get, Pattern: "/login", Anyone: true, When: isLogin, Handle: a.loginPage},
		{Method: get, Pattern: "/api/agent/deployments/scans/config", Handle: a.editor},
		{Method: get, Pattern: "/api/agent/deployments/deepbinary/{platform}", Handle: a.engine},
		{Method: post, Pattern: "/api/registry/rules", Handle: a.publish},
		{Method: post, Pattern: "/api/cli/tr_cache/lookup", Handle: a.reachabilityCache},
		{Method: post, Pattern: "/api/cli/tr_cache", Handle: a.keepReachability},
		{Method: get, Pattern: "/c/p/semgrep-rule-lints", Anyone: true, Handle: a.lints},
	}, a.ruleRoutes()...)
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
	case err == nil, errors.As(err, &oversize), errors.Is(err, redoubt.ErrTooLarge), errors.Is(err, redoubt.ErrUnavailable):
		return err
	case errors.As(err, &wrong):
		return redoubt.Invalid("body."+wrong.Field, "is a %s, which does not fit", wrong.Value)
	}
	return redoubt.Invalid("body", "malformed JSON: %v", err)
}

// scanID reads the number in the path; what is not a number is not there.
func scanID(r *http.Request) (int64, error) {
	id, err := strconv.ParseInt(r.PathValue("scanId"), 10, 64)
	if err != nil || id <= 0 {
		return 0, redoubt.ErrNotFound
	}
	return id, nil
}

// options tell how an upload is read.
func (a *Agent) options(name string) report.Options {
	return report.Options{Name: name, Key: a.SecretKey, Limits: report.Limits{Input: a.MaxUpload}}
}
