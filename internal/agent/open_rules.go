package agent

import (
	"context"
	"errors"
	"net/http"
	"strconv"

	"github.com/redoubt/redoubt/internal/auth"
	"github.com/redoubt/redoubt/internal/httpx"
	"github.com/redoubt/redoubt/internal/model"
)

// Limits of reading rules from one address without a token.
const (
	readersPerSecond = 10
	readersAtOnce    = 100
)

type handler func(w http.ResponseWriter, r *http.Request, caller auth.Caller) error

// ruleRoutes returns the routes of rules for current and older scanners.
func (a *Agent) ruleRoutes() (routes []httpx.Mounted) {
	for _, prefix := range []string{"/c", ""} {
		add := func(place string, serve handler) {
			row := httpx.Row(http.MethodGet, prefix+place, httpx.Anyone, model.RoleNone, httpx.Reads, httpx.Filtered)
			routes = append(routes, httpx.Mounted{Route: row, Basic: true, Handle: a.readable(serve)})
		}
		add("/p/{policy}", a.policy)
		add("/p/{deployment}/{policy}", a.policy)
		add("/r/{rule}", a.rule)
		add("/r/{deployment}/{rule}", a.rule)
	}
	return routes
}

// readable serves rules to callers with a token, and to all callers if the deployment's rules are
// public. A path may contain the deployment before the policy or rule. Without a token it must,
// unless the server has only one deployment.
func (a *Agent) readable(serve handler) handler {
	return func(w http.ResponseWriter, r *http.Request, caller auth.Caller) error {
		named := r.PathValue("deployment")
		if caller.CanUpload() && (named == "" || caller.Is(named)) {
			return serve(w, r, caller)
		}
		if g := a.readers.Allow(model.Network(httpx.OriginOf(r).Address)); !g.OK {
			return httpx.Busy(g, "Too many rule downloads from this address without a token.")
		}
		d, err := a.openDeployment(r.Context(), named)
		switch {
		case caller.CanUpload() && errors.Is(err, auth.ErrUnauthenticated):
			return model.ErrNotFound // deployments of other tenants are hidden
		case err != nil:
			return err
		}
		return serve(w, r, auth.Caller{Deployment: d})
	}
}

// openDeployment returns the deployment with public rules, by id or slug. It returns the same error
// for deployments that are missing or not public.
func (a *Agent) openDeployment(ctx context.Context, named string) (d model.Deployment, err error) {
	if named != "" {
		d, err = a.Store.Deployment(ctx, named)
	} else {
		var all []model.Deployment
		if all, err = a.Store.Deployments(ctx); len(all) == 1 {
			d, err = a.Store.Deployment(ctx, strconv.FormatInt(all[0].ID, 10))
		}
	}
	if err = ignoreMissing(err); err == nil && !d.OpenRules {
		err = auth.ErrUnauthenticated
	}
	return d, err
}
