package httpx

import (
	"net/http"
	"slices"
	"strings"

	"github.com/redoubt/redoubt/internal/auth"
	"github.com/redoubt/redoubt/internal/model"
)

// Scope is the credential that a route requires (docs/reference/tokens.md).
type Scope string

// Scopes of routes.
const (
	Anyone Scope = "none"    // no credential
	WebAPI Scope = "web_api" // a token with Web API access
	Upload Scope = "ci"      // a token with the scope ci, or Web API access
	Runner Scope = "runner"  // a token with the scope runner
	Person Scope = "person"  // a session of a user
)

// Bound is the restriction of a route for tokens with project globs (docs/reference/tokens.md).
// Excluded projects appear not to exist.
type Bound string

// Restrictions of routes.
const (
	ByName    Bound = "by name"    // the request names a project, which must be allowed
	ByProject Bound = "by project" // the object of the request belongs to a project, which must be allowed
	Filtered  Bound = "filtered"   // only data of allowed projects is accepted and returned
	Refused   Bound = "refused"    // the operation affects all projects: restricted tokens are denied
	Unbound   Bound = "unbound"    // the operation concerns no project, or needs no token
)

// Whether a route changes data. Read-only tokens cannot use routes that do.
const (
	Reads  = false
	Writes = true
)

// Route contains the common fields of a row in the route tables of the Web API, the scanners and
// the pages. Each table adds its handler.
type Route struct {
	Method  string
	Pattern string // of http.ServeMux
	Scope   Scope
	Role    model.Role // minimum role of the user or of the token's creator; none for Anyone
	Writes  bool
	Bound   Bound
	// IsRequest marks a write that only requests a decision, so users with the viewer role can use it.
	// Read-only tokens cannot.
	IsRequest bool
}

// Row returns a row of a table.
func Row(method, pattern string, scope Scope, role model.Role, writes bool, bound Bound) Route {
	return Route{Method: method, Pattern: pattern, Scope: scope, Role: role, Writes: writes, Bound: bound}
}

// AsRequest returns the row with IsRequest set.
func (r Route) AsRequest() Route {
	r.IsRequest = true
	return r
}

var methods = []string{http.MethodGet, http.MethodPost, http.MethodPut, http.MethodPatch, http.MethodDelete}

// Faults returns missing and contradictory fields of a row.
func (r Route) Faults() (faults []string) {
	fault := func(is bool, text string) {
		if is {
			faults = append(faults, r.Method+" "+r.Pattern+": "+text)
		}
	}
	token := r.Scope == WebAPI || r.Scope == Upload || r.Scope == Runner
	fault(!slices.Contains(methods, r.Method), "no method")
	fault(!strings.HasPrefix(r.Pattern, "/"), "no pattern")
	fault(!token && r.Scope != Person && r.Scope != Anyone, "has no scope")
	fault(r.Scope != Anyone && !slices.Contains(model.Roles(), r.Role), "has no minimum role")
	fault(r.Scope == Anyone && r.Role != model.RoleNone, "requires a role, and is for anyone")
	fault(token && r.Writes && r.Role < model.RoleTriager && !r.IsRequest, "is a write, and open to viewers")
	fault(r.IsRequest && !r.Writes, "requests something, and writes nothing")
	fault(token && r.Method != http.MethodGet && r.Method != http.MethodPost && !r.Writes,
		"has a method that writes, and is marked as a read")
	fault(!slices.Contains([]Bound{ByName, ByProject, Filtered, Refused, Unbound}, r.Bound),
		"has no rule for tokens bound to projects")
	shown := r.Scope == Anyone && r.Bound == Filtered // for a token that is sent although none is needed
	fault(!token && r.Bound != Unbound && !shown, "has a rule for bound tokens, and requires no token")
	fault(token && strings.Contains(r.Pattern, "{projectName}") && r.Bound != ByName,
		"names a project, and does not check it for bound tokens")
	return faults
}

// Mounted is a row of another package that the server mounts. The server authenticates its callers,
// limits and decompresses the body, writes its errors as problems, and logs it like its own
// operations. A pattern has one method.
type Mounted struct {
	Route // with Anyone, a valid token is still authenticated
	// When reports whether the row handles a request; others are passed to the pages. Nil handles
	// all.
	When func(*http.Request) bool
	// Basic also accepts a token as the password of Basic authentication. It is only for operations
	// without side effects: see Credential.
	Basic bool
	// Refused, if set, is called for callers that are unauthenticated or denied, before the
	// response is written.
	Refused func(r *http.Request, cause error, status int)
	// Challenge returns the WWW-Authenticate header for requests without a valid token. Nil means
	// plain Bearer.
	Challenge func(r *http.Request) string
	// Handle handles the request. OriginOf returns its origin.
	Handle func(w http.ResponseWriter, r *http.Request, caller auth.Caller) error
}
