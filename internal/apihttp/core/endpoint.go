package core

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"github.com/danielgtaylor/huma/v2/adapters/humago"

	"github.com/redoubt/redoubt/api"
	"github.com/redoubt/redoubt/internal/auth"
	"github.com/redoubt/redoubt/internal/gate"
	"github.com/redoubt/redoubt/internal/httpx"
	"github.com/redoubt/redoubt/internal/index"
	"github.com/redoubt/redoubt/internal/model"
	"github.com/redoubt/redoubt/internal/store"
)

// Call is the state of one request.
type Call struct {
	Server    *Server
	requestID string
	path      string // as sent
	Base      string // address of the server as the client sees it
	secure    bool   // the client came over TLS
	route     string // pattern, for the log
	challenge string // WWW-Authenticate header; empty for the default

	W           http.ResponseWriter
	R           *http.Request
	Caller      auth.Caller
	dialect     model.Dialect
	HostedQuery hostedFindingsQuery
	Tx          *store.Tx          // of operations that run in a transaction
	nulls       []model.FieldError // of the body, where null is not permitted
	hasBody     bool               // the body has members
	Idempotent  *idempotentRequest // nil without an Idempotency-Key
	Tag         string             // ETag of the editable state; empty for none
	state       string             // tag of the whole response
	cause       error              // cause of the failure, for the log
	panicked    bool               // the cause is a panic, even if the response was already started
}

// NewCall returns a call by the server itself, for example for a form of the web pages. Its
// response is stored under a key that clients cannot send.
func NewCall(s *Server, w http.ResponseWriter, r *http.Request, caller auth.Caller, key string) *Call {
	return &Call{Server: s, W: w, R: r, Caller: caller, Idempotent: &idempotentRequest{key: key, sum: sha256.New()}}
}

type callKey struct{}

// CallOf returns the call of a request. It panics if the request did not pass observe.
func CallOf(ctx context.Context) *Call {
	c, ok := ctx.Value(callKey{}).(*Call)
	if !ok {
		panic("request without observe")
	}
	return c
}

// endpoint handles the requests of one route.
type endpoint struct {
	server *Server
	route  Route
	op     *operation
}

// ServeHTTP authenticates and authorizes the request and rewrites it to its canonical form. The
// library then decodes and validates it and calls the handler.
func (e *endpoint) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	c := CallOf(r.Context())
	c.W, c.R = w, r
	w.Header().Set("Cache-Control", "no-store")
	if err := e.admit(c, httpx.Bearer(r)); err != nil {
		writeProblem(w, r, ProblemOf(err))
		return
	}
	if err := c.negotiateDialect(e.route.ID); err != nil {
		writeProblem(w, r, ProblemOf(err))
		return
	}
	if err := e.canonical(c); err != nil {
		writeProblem(w, r, ProblemOf(err))
		return
	}
	e.op.handle(humago.NewContext(e.op.described, c.R, w))
}

// admit authenticates and authorizes the request. The order of its errors is 401, 429, 403, 404, so
// that unauthenticated callers cannot probe for resources.
func (e *endpoint) admit(c *Call, token string) (err error) {
	if !httpx.IsText(c.R.URL.Path) {
		return model.ErrNotFound
	}
	if e.route.Scope == httpx.Anyone {
		return nil
	}
	if c.Caller, err = e.server.callers.Find(c.W.Header(), c.R, token); err != nil {
		return err
	}
	may := c.Caller.CanUse() || e.route.Scope == httpx.Upload && c.Caller.CanUpload()
	if e.route.Scope == httpx.Runner {
		may = c.Caller.CanRun()
	}
	switch {
	case !may && e.route.Scope == httpx.Runner:
		return NewProblem(api.CodePermissionDenied,
			"This token does not have the scope runner. Use a runner token.", nil)
	case !may && e.route.Scope == httpx.Upload:
		return NewProblem(api.CodePermissionDenied,
			"This token has neither the scope ci nor web_api. Use a token with one of them.", nil)
	case !may:
		return NewProblem(api.CodePermissionDenied,
			"This token does not have Web API access. Use a token with the scope web_api.", nil)
	case e.route.Writes && !e.route.IsRequest && !c.Caller.Has(model.RoleTriager):
		return NewProblem(api.CodePermissionDenied,
			"The creator of this token has read-only access. An administrator can grant the role triager.", nil)
	case e.route.Writes && c.Caller.Token.Has(model.ScopeReadOnly):
		return NewProblem(api.CodePermissionDenied,
			"This token is read-only. Use a token without the scope read_only for changes.", nil)
	case !c.Caller.Has(e.route.Role):
		return NewProblem(api.CodePermissionDenied,
			"The creator of this token is not an administrator. An administrator can grant the role.", nil)
	}
	if d := c.deployment(); d != "" && !c.Caller.Is(d) || e.route.Bound == httpx.Refused && len(c.Caller.Globs()) > 0 {
		return model.ErrNotFound
	}
	return nil
}

// canonical rewrites the query and the body to the spelling that is decoded.
func (e *endpoint) canonical(c *Call) error {
	strict := slices.Contains(strictQueries, e.route.ID)
	query, err := canonicalQuery(c.R.URL.RawQuery, e.op.params, strict, c.lenient(e.op))
	if err != nil {
		return err
	}
	if e.op.keyed {
		if c.Idempotent, err = newIdempotentRequest(c.R); err != nil {
			return err
		}
	}
	c.R = c.R.WithContext(c.R.Context())
	u := *c.R.URL
	u.RawQuery = query
	c.R.URL = &u
	if e.op.body == nil {
		return nil
	}
	body, err := readJSON(c.R, e.server.Limits.Body)
	if err != nil {
		return err
	}
	tree, nulls, err := e.server.spec.readBody(body, e.op.body)
	if err != nil {
		return err
	}
	c.nulls = nulls
	members, isObject := tree.(map[string]any)
	c.hasBody = len(members) > 0 || !isObject
	c.lenientBody(e.op, tree)
	if body, err = json.Marshal(tree); err != nil {
		return err
	}
	c.Idempotent.Add(string(body))
	c.R.Body = memory(body)
	c.R.Header = c.R.Header.Clone()
	c.R.Header.Set("Content-Type", "application/json")
	return nil
}

// deployment returns the deployment that the path contains, or "".
func (c *Call) deployment() string {
	if id := c.R.PathValue("deploymentId"); id != "" {
		return id
	}
	return c.R.PathValue("deploymentSlug")
}

// View runs fn on one state of the deployment.
func (c *Call) View(ctx context.Context, fn func(context.Context) error) error {
	return c.Server.Store.View(ctx, c.Caller.Deployment.ID, c.within(fn))
}

// Update runs fn in a transaction of the deployment.
func (c *Call) Update(ctx context.Context, fn func(context.Context) error) error {
	return c.Server.Store.Update(ctx, c.Caller.Deployment.ID, c.Caller.Actor(), c.within(fn))
}

func (c *Call) within(fn func(context.Context) error) func(context.Context, *store.Tx) error {
	return func(ctx context.Context, tx *store.Tx) error {
		c.Tx = tx
		defer func() { c.Tx = nil }()
		return fn(ctx)
	}
}

// Findings returns the deployment's findings, at least as new as its newest commit.
func (c *Call) Findings(ctx context.Context) (*index.View, error) {
	return c.Server.Index.Deployment(ctx, c.Caller.Deployment.ID)
}

// ID parses a numeric part of the path. It returns model.ErrNotFound for anything else.
func (c *Call) ID(name string) (int64, error) {
	n, err := strconv.ParseInt(c.R.PathValue(name), 10, 64)
	if err != nil || n <= 0 || strconv.FormatInt(n, 10) != c.R.PathValue(name) {
		return 0, model.ErrNotFound
	}
	return n, nil
}

// PathID parses an id of the path. It returns 0, which no object has, for anything else.
func (c *Call) PathID(name string) int64 {
	n, _ := c.ID(name)
	return n
}

// VisibleProject returns model.ErrNotFound for a project that the token's globs exclude.
func (c *Call) VisibleProject(p model.Project, err error) (model.Project, error) {
	return gate.VisibleProject(c.Caller.Globs(), p, err)
}

// Project returns the project of the path.
func (c *Call) Project(ctx context.Context) (model.Project, error) {
	name := c.R.PathValue("projectName")
	if model.CheckProjectName(name) != nil {
		return model.Project{}, model.ErrNotFound
	}
	return c.VisibleProject(c.Tx.ProjectByName(ctx, name))
}

// methods handles one pattern. It selects the endpoint by method, with HEAD served as GET, and
// rejects other methods with an Allow header.
type methods map[string]*endpoint

// ServeHTTP calls the endpoint of the method.
func (m methods) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	method := r.Method
	if method == http.MethodHead {
		method = http.MethodGet
	}
	c := CallOf(r.Context())
	if e, ok := m[method]; ok {
		c.route = e.route.Pattern
		e.ServeHTTP(w, r)
		return
	}
	var allowed []string
	for method, e := range m {
		c.route = e.route.Pattern
		allowed = append(allowed, method)
		if method == http.MethodGet {
			allowed = append(allowed, http.MethodHead)
		}
	}
	slices.Sort(allowed)
	refuseMethod(w, r, allowed)
}

func refuseMethod(w http.ResponseWriter, r *http.Request, allowed []string) {
	list := strings.Join(allowed, ", ")
	w.Header().Set("Allow", list)
	writeProblem(w, r,
		NewProblem(api.CodeMethodNotAllowed, "Method not supported. This address supports "+list+".", nil))
}

// unmatched responds to addresses without a route.
func unmatched(w http.ResponseWriter, r *http.Request) {
	writeProblem(w, r, NewProblem(api.CodeNotFound, notFound, errors.New("no such route")))
}

// ProjectNamed returns a project that the request identifies by name outside of the path.
func ProjectNamed(ctx context.Context, c *Call, name string) (model.Project, error) {
	if model.CheckProjectName(name) != nil {
		return model.Project{}, model.ErrNotFound
	}
	return c.VisibleProject(c.Tx.ProjectByName(ctx, name))
}
