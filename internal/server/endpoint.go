package server

import (
	"context"
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

// call is one request on its way through the server.
type call struct {
	server    *Server
	requestID string
	path      string // as sent
	base      string // address of the server as the client knows it
	secure    bool   // the client came over TLS
	route     string // pattern, for the log
	challenge string // of WWW-Authenticate; empty for that of all operations

	w           http.ResponseWriter
	r           *http.Request
	caller      auth.Caller
	dialect     model.Dialect
	hostedQuery hostedFindingsQuery
	tx          *store.Tx          // of operations that the table gives one
	nulls       []model.FieldError // of the body, where none may be
	hasBody     bool               // the body has members
	idempotent  *idempotentRequest // nil without a key
	tag         string             // of what can be changed here; empty for none
	state       string             // of all of such an answer
	cause       error              // why it failed, for the log
	panicked    bool               // the cause is a panic, however much was sent by then
}

// newCall is a call that the server makes itself, as for a form of the pages.
func newCall(
	s *Server, w http.ResponseWriter, r *http.Request, caller auth.Caller, idempotent *idempotentRequest,
) *call {
	return &call{server: s, w: w, r: r, caller: caller, idempotent: idempotent}
}

type callKey struct{}

func callOf(ctx context.Context) *call {
	c, ok := ctx.Value(callKey{}).(*call)
	if !ok {
		panic("a request came past observe")
	}
	return c
}

// endpoint takes every request of a route through the same steps.
type endpoint struct {
	server *Server
	route  Route
	op     *operation
}

// ServeHTTP checks who calls, whether they may, and what they sent; what is
// left is decoding into structs, validating and the handler.
func (e *endpoint) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	c := callOf(r.Context())
	c.w, c.r = w, r
	w.Header().Set("Cache-Control", "no-store")
	if err := e.admit(c, httpx.Bearer(r)); err != nil {
		writeProblem(w, r, problemOf(err))
		return
	}
	if err := c.settleDialect(e.route.ID); err != nil {
		writeProblem(w, r, problemOf(err))
		return
	}
	if err := e.canonical(c); err != nil {
		writeProblem(w, r, problemOf(err))
		return
	}
	e.op.handle(humago.NewContext(e.op.described, c.r, w))
}

// admit answers who calls and whether they may: 401, 429, 403, 404, in this
// order, so that nobody learns what is there before being known.
func (e *endpoint) admit(c *call, token string) (err error) {
	if !httpx.IsText(c.r.URL.Path) {
		return model.ErrNotFound
	}
	if e.route.Scope == httpx.Anyone {
		return nil
	}
	if c.caller, err = e.server.callers.Find(c.w.Header(), c.r, token); err != nil {
		return err
	}
	may := c.caller.CanUse() || e.route.Scope == httpx.Upload && c.caller.CanUpload()
	if e.route.Scope == httpx.Runner {
		may = c.caller.CanRun()
	}
	switch {
	case !may && e.route.Scope == httpx.Runner:
		return newProblem(api.CodePermissionDenied,
			"This token does not have the scope runner. Ask for a token that may take managed runs.", nil)
	case !may && e.route.Scope == httpx.Upload:
		return newProblem(api.CodePermissionDenied,
			"This token has neither the scope ci nor web_api. Ask for a token that may hand in scans.", nil)
	case !may:
		return newProblem(
			api.CodePermissionDenied, "This token does not have Web API access. Ask for a token with the scope web_api.", nil,
		)
	case e.route.Writes && !e.route.Asks && !c.caller.Has(model.RoleTriager):
		return newProblem(api.CodePermissionDenied,
			"Whoever made this token may only look. Ask an admin for the role triager to change anything.", nil)
	case e.route.Writes && c.caller.Token.Has(model.ScopeReadOnly):
		return newProblem(api.CodePermissionDenied,
			"This token is read-only. Ask for a token without the scope read_only to change anything.", nil)
	case !c.caller.Has(e.route.Role):
		return newProblem(
			api.CodePermissionDenied, "Whoever made this token is no admin. Ask an admin to do this, or for the role.", nil,
		)
	}
	if d := c.deployment(); d != "" && !c.caller.Is(d) || e.route.Bound == httpx.Refused && len(c.caller.Globs()) > 0 {
		return model.ErrNotFound
	}
	return nil
}

// canonical brings query and body into the one spelling that is decoded.
func (e *endpoint) canonical(c *call) error {
	strict := slices.Contains(strictQueries, e.route.ID)
	query, err := canonicalQuery(c.r.URL.RawQuery, e.op.params, strict, c.lenient(e.op))
	if err != nil {
		return err
	}
	if e.op.keyed {
		if c.idempotent, err = newIdempotentRequest(c.r); err != nil {
			return err
		}
	}
	c.r = c.r.WithContext(c.r.Context())
	u := *c.r.URL
	u.RawQuery = query
	c.r.URL = &u
	if e.op.body == nil {
		return nil
	}
	body, err := readJSON(c.r, e.server.Limits.Body)
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
	c.idempotent.add(string(body))
	c.r.Body = memory(body)
	c.r.Header = c.r.Header.Clone()
	c.r.Header.Set("Content-Type", "application/json")
	return nil
}

// deployment is the one that the path names, empty where it names none.
func (c *call) deployment() string {
	if id := c.r.PathValue("deploymentId"); id != "" {
		return id
	}
	return c.r.PathValue("deploymentSlug")
}

// view runs fn on one state of the deployment.
func (c *call) view(ctx context.Context, fn func(context.Context) error) error {
	return c.server.Store.View(ctx, c.caller.Deployment.ID, c.within(fn))
}

// update runs fn in a transaction of the deployment, whole or not at all.
func (c *call) update(ctx context.Context, fn func(context.Context) error) error {
	return c.server.Store.Update(ctx, c.caller.Deployment.ID, c.caller.Actor(), c.within(fn))
}

func (c *call) within(fn func(context.Context) error) func(context.Context, *store.Tx) error {
	return func(ctx context.Context, tx *store.Tx) error {
		c.tx = tx
		defer func() { c.tx = nil }()
		return fn(ctx)
	}
}

// findings returns the deployment's findings, as new as its newest commit.
func (c *call) findings(ctx context.Context) (*index.View, error) {
	return c.server.Index.Deployment(ctx, c.caller.Deployment.ID)
}

// id reads a numeric part of the path; what is not a number is not there.
func (c *call) id(name string) (int64, error) {
	n, err := strconv.ParseInt(c.r.PathValue(name), 10, 64)
	if err != nil || n <= 0 || strconv.FormatInt(n, 10) != c.r.PathValue(name) {
		return 0, model.ErrNotFound
	}
	return n, nil
}

// pathID reads an id of the path. It is 0, which nothing has, for anything else.
func (c *call) pathID(name string) int64 {
	n, _ := c.id(name)
	return n
}

// seen answers as if a project that the token's globs leave out did not exist.
func (c *call) seen(p model.Project, err error) (model.Project, error) {
	return gate.Seen(c.caller.Globs(), p, err)
}

// project finds the project that the path names.
func (c *call) project(ctx context.Context) (model.Project, error) {
	name := c.r.PathValue("projectName")
	if model.CheckProjectName(name) != nil {
		return model.Project{}, model.ErrNotFound
	}
	return c.seen(c.tx.ProjectByName(ctx, name))
}

// methods answers one pattern: it finds the endpoint of the method, HEAD among
// GETs, and refuses others with what is allowed.
type methods map[string]*endpoint

// ServeHTTP finds the endpoint.
func (m methods) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	method := r.Method
	if method == http.MethodHead {
		method = http.MethodGet
	}
	c := callOf(r.Context())
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
		newProblem(api.CodeMethodNotAllowed, "This address does not take the method of the request. It takes "+list+".", nil))
}

// unmatched answers every address that the table does not have.
func unmatched(w http.ResponseWriter, r *http.Request) {
	writeProblem(w, r, newProblem(api.CodeNotFound, notFound, errors.New("no such route")))
}

// projectNamed finds a project that the request names outside of the path.
func projectNamed(ctx context.Context, c *call, name string) (model.Project, error) {
	if model.CheckProjectName(name) != nil {
		return model.Project{}, model.ErrNotFound
	}
	return c.seen(c.tx.ProjectByName(ctx, name))
}
