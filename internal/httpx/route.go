package httpx

import (
	"net/http"
	"slices"
	"strings"

	"github.com/redoubt/redoubt/internal/auth"
	"github.com/redoubt/redoubt/internal/model"
)

// Scope is what a request must show to use a route (docs/reference/tokens.md).
type Scope string

// Scopes of routes.
const (
	Anyone Scope = "none"    // nothing at all
	WebAPI Scope = "web_api" // a token with Web API access
	Upload Scope = "ci"      // a token with the scope ci, or Web API access
	Runner Scope = "runner"  // a token with the scope runner
	Person Scope = "person"  // the session of a person
)

// Bound is how a route holds a token that is bound to projects by globs to them
// (docs/reference/tokens.md). What they leave out is as if it did not exist.
type Bound string

// Ways to hold a token to its projects.
const (
	ByName    Bound = "by name"    // the request names a project, which must be one of them
	ByProject Bound = "by project" // what the request names is of a project, which must be one of them
	Filtered  Bound = "filtered"   // the request takes in and answers what is of them alone
	Refused   Bound = "refused"    // what is done here is done to all projects: a bound token may not
	Unbound   Bound = "unbound"    // nothing here is of a project, or no token is asked for
)

// Whether a route changes anything; what does is refused to read-only tokens.
const (
	Reads  = false
	Writes = true
)

// Route is what every table of routes says of a row: that of the Web API, that
// of scanners and that of the pages. Each adds its handler.
type Route struct {
	Method  string
	Pattern string // of http.ServeMux
	Scope   Scope
	Role    model.Role // least one of the person, or of the user who made the token; none for Anyone
	Writes  bool
	Bound   Bound
	// Asks says that what it writes decides nothing: it asks somebody to, and so is open to
	// those who may only look. A read-only token may not.
	Asks bool
}

// Row is a row of a table.
func Row(method, pattern string, scope Scope, role model.Role, writes bool, bound Bound) Route {
	return Route{Method: method, Pattern: pattern, Scope: scope, Role: role, Writes: writes, Bound: bound}
}

// Asking is the row with Asks.
func (r Route) Asking() Route {
	r.Asks = true
	return r
}

var methods = []string{http.MethodGet, http.MethodPost, http.MethodPut, http.MethodPatch, http.MethodDelete}

// Faults lists what a row does not say, or what contradicts itself.
func (r Route) Faults() (faults []string) {
	fault := func(is bool, text string) {
		if is {
			faults = append(faults, r.Method+" "+r.Pattern+": "+text)
		}
	}
	token := r.Scope == WebAPI || r.Scope == Upload || r.Scope == Runner
	fault(!slices.Contains(methods, r.Method), "no method")
	fault(!strings.HasPrefix(r.Pattern, "/"), "no pattern")
	fault(!token && r.Scope != Person && r.Scope != Anyone, "does not say who may use it")
	fault(r.Scope != Anyone && !slices.Contains(model.Roles(), r.Role), "does not say the least role")
	fault(r.Scope == Anyone && r.Role != model.RoleNone, "asks for a role, and is for anyone")
	fault(token && r.Writes && r.Role < model.RoleTriager && !r.Asks, "is a write, and open to those who may only look")
	fault(r.Asks && !r.Writes, "asks, and writes nothing")
	fault(token && r.Method != http.MethodGet && r.Method != http.MethodPost && !r.Writes,
		"changes something by its method, and is said to read")
	fault(!slices.Contains([]Bound{ByName, ByProject, Filtered, Refused, Unbound}, r.Bound),
		"does not say how a bound token is held to its projects")
	shown := r.Scope == Anyone && r.Bound == Filtered // to a token that is sent all the same
	fault(!token && r.Bound != Unbound && !shown, "holds a token to its projects, and asks for none")
	fault(token && strings.Contains(r.Pattern, "{projectName}") && r.Bound != ByName,
		"names a project, and does not hold a bound token to the name")
	return faults
}

// Mounted is a row of a room that the server mounts. The server admits its
// callers, bounds and inflates its body, writes its errors as problems and logs
// it, as it does for its own. A pattern has one method.
type Mounted struct {
	Route // Anyone lets everybody in; a caller who sends a valid token is known all the same
	// When leaves requests that it denies to the pages; nil takes all.
	When func(*http.Request) bool
	// Basic takes a token as the password of Basic authentication too. Only for
	// what changes nothing: see Credential.
	Basic bool
	// Refused, if it is not nil, hears of callers who are not known, or may not
	// do this, before they are told.
	Refused func(r *http.Request, cause error, status int)
	// Challenge is what a request without a valid token is told in WWW-Authenticate;
	// nil says no more than Bearer.
	Challenge func(r *http.Request) string
	// Handle answers. OriginOf tells where its request comes from.
	Handle func(w http.ResponseWriter, r *http.Request, caller auth.Caller) error
}
