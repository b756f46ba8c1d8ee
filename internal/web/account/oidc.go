package account

import (
	"encoding/base64"
	"encoding/json"
	"errors"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/redoubt/redoubt/internal/auth"
	"github.com/redoubt/redoubt/internal/auth/sso"
	"github.com/redoubt/redoubt/internal/model"
	"github.com/redoubt/redoubt/internal/web/ui"
)

// away is the state that a browser stores during sign-in at the provider.
type away struct {
	sso.Flow
	Next   string `json:"x"`
	Forced bool   `json:"a,omitempty"` // the provider was asked to authenticate again
}

// awaySeconds is the lifetime of the state in seconds.
const awaySeconds = 600

// callbackPath is the path of the provider's redirect URI.
const callbackPath = "/login/oidc/callback"

func awayName(req *ui.Request) string { return req.SignIn.CookieName(req.HTTP) + "-oidc" }

// remember sets or deletes the cookie with the sign-in state. The state is only useful to this
// browser.
func remember(req *ui.Request, a away, seconds int) error {
	text, err := json.Marshal(a)
	if err != nil {
		return err
	}
	http.SetCookie(req.Writer, &http.Cookie{
		Name: awayName(req), Value: base64.RawURLEncoding.EncodeToString(text), Path: "/", MaxAge: seconds,
		HttpOnly: true, Secure: req.SignIn.IsSecure(req.HTTP), SameSite: http.SameSiteLaxMode,
	})
	return nil
}

// goToProvider redirects the browser to the provider.
func goToProvider(req *ui.Request) error {
	if req.SignIn == nil || req.SignIn.Provider == nil {
		return model.ErrNotFound
	}
	next := ui.SafeNext(req.HTTP.URL.Query().Get("next"))
	forced := req.HTTP.URL.Query().Get("again") != ""
	address, flow, err := req.SignIn.Provider.Start(req.HTTP.Context(), req.BaseURL()+callbackPath, forced)
	if err != nil {
		return providerFailed(req, next, err)
	}
	if err := remember(req, away{flow, next, forced}, awaySeconds); err != nil {
		return err
	}
	req.Redirect(address)
	return nil
}

// oidcCallback completes a sign-in at the provider.
func oidcCallback(req *ui.Request) error {
	if req.SignIn == nil || req.SignIn.Provider == nil {
		return model.ErrNotFound
	}
	var a away
	if cookie, err := req.HTTP.Cookie(awayName(req)); err == nil {
		if text, err := base64.RawURLEncoding.DecodeString(cookie.Value); err == nil {
			_ = json.Unmarshal(text, &a) // an invalid cookie has no state and is rejected
		}
	}
	if err := remember(req, away{}, -1); err != nil {
		return err
	}
	q := req.HTTP.URL.Query()
	who, err := req.SignIn.Provider.Finish(req.HTTP.Context(), req.BaseURL()+callbackPath, a.Flow,
		sso.Back{State: q.Get("state"), Code: q.Get("code"), Fault: q.Get("error"), Description: q.Get("error_description")})
	var secret string
	if err == nil {
		secret, err = signInIdentity(req, who, a.Forced)
	}
	if err != nil {
		return providerFailed(req, a.Next, err)
	}
	return startSession(req, secret, a.Next)
}

// signInIdentity creates or updates the user, assigns the roles of their groups and creates a
// session.
func signInIdentity(req *ui.Request, who sso.Person, forced bool) (string, error) {
	ctx := req.HTTP.Context()
	all, err := req.Store.Deployments(ctx)
	if err != nil {
		return "", err
	}
	roles := req.SignIn.Provider.Roles(who.Groups, all)
	known, err := req.Store.UserByIdentity(ctx, who.Identity)
	if err != nil && !errors.Is(err, model.ErrNotFound) {
		return "", err
	}
	if known.ID == 0 && len(roles) == 0 {
		return "", noRole(req, who)
	}
	u, retained, err := req.Store.Provision(ctx, who.Identity, who.User, roles)
	if errors.Is(err, model.ErrConflict) { // created by a concurrent request
		u, retained, err = req.Store.Provision(ctx, who.Identity, who.User, roles)
	}
	if errors.Is(err, model.ErrNotFound) {
		return "", &sso.RefusedError{
			User: known.Name, As: who.User.Name, Reason: "Your user is disabled here. Contact an administrator.",
		}
	}
	if err != nil {
		return "", err
	}
	req.SignIn.Sessions.Forget()
	if len(retained) > 0 {
		req.Logger.WarnContext(ctx, "the provider's groups would remove the last administrator: role kept",
			"user", u.Name, "deployments", retained)
	}
	if len(roles) == 0 && len(retained) == 0 {
		return "", noRole(req, who)
	}
	method := "oidc"
	if authenticatedRecently(who, forced, req.Clock()) {
		method = methodReauth
	}
	return req.SignIn.Sessions.Begin(ctx, u.ID, method, req.SignIn.Origin(req.HTTP), model.CheckedPassword{})
}

// authenticatedRecently reports whether the provider authenticated the user recently. Some providers do not return
// the time. Then a sign-in with forced reauthentication counts, as a stolen session cannot complete
// one.
func authenticatedRecently(who sso.Person, forced bool, now time.Time) bool {
	if who.AuthenticatedAt.IsZero() {
		return forced
	}
	return now.Sub(who.AuthenticatedAt) <= auth.ProofFor
}

func noRole(req *ui.Request, who sso.Person) error {
	groups := slices.Clone(who.Groups)
	slices.Sort(groups)
	names := "none"
	if len(groups) > 0 {
		names = strings.Join(groups[:min(len(groups), 20)], ", ")
	}
	return &sso.RefusedError{
		As:     who.User.Name,
		Reason: "None of your groups has a role here. Groups from " + req.SignIn.Provider.Title + ": " + names + ".",
	}
}

// providerFailed shows the error on the sign-in page.
func providerFailed(req *ui.Request, next string, err error) error {
	s, status := loginView{Next: ui.SafeNext(next)}, http.StatusForbidden
	var refused *sso.RefusedError
	switch {
	case errors.As(err, &refused):
		s.Fault = refused.Reason
		from := req.SignIn.Origin(req.HTTP)
		attempt := model.Attempt{
			Name:    refused.User,
			Method:  "oidc",
			Address: from.Address,
			Agent:   from.Agent,
			Reason:  refused.Reason,
		}
		if refused.As != "" {
			attempt.Reason += " (" + refused.As + ")"
		}
		var busy *auth.BusyError
		if limited := req.SignIn.Sessions.Admit("", from); !errors.As(limited, &busy) {
			if noted := req.Store.SignInFailed(req.HTTP.Context(), attempt); noted != nil {
				return noted
			}
		}
	case errors.Is(err, model.ErrUnavailable):
		req.Logger.WarnContext(req.HTTP.Context(), "single sign-on failed", "cause", err)
		s.Fault, status = req.SignIn.Provider.Title+" does not respond. Try again in a moment. An admin finds the "+
			"cause in the server's log.", http.StatusServiceUnavailable
	default:
		req.Logger.ErrorContext(req.HTTP.Context(), "single sign-on failed", "cause", err)
		s.Fault, status = req.SignIn.Provider.Title+" returned an invalid response. Try again. An admin finds the "+
			"cause in the server's log.", http.StatusBadGateway
	}
	return showLogin(req, status, s)
}
