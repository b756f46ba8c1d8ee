package account

import (
	"cmp"
	"context"
	"errors"
	"net/http"
	"net/url"
	"strings"

	"github.com/redoubt/redoubt/internal/auth"
	"github.com/redoubt/redoubt/internal/auth/oauth"
	"github.com/redoubt/redoubt/internal/httpx"
	"github.com/redoubt/redoubt/internal/model"
	"github.com/redoubt/redoubt/internal/store"
	"github.com/redoubt/redoubt/internal/web/ui"
)

// approveView is the data of the page that approves a token request, or of the form for its code.
type approveView struct {
	Typed   string // entered code that matches no request
	Request model.LoginRequest
	Host    string // host of this server
	Near    bool   // the request came from the viewer's network
	Choose  string // address of the page to choose another deployment
	Fault   string
	Denied  bool
}

// approvePage returns the path of the page about a request, below a deployment.
func approvePage(l model.LoginRequest) string {
	if l.ByProgram() {
		return ui.DevicePath + "?code=" + url.QueryEscape(l.Code)
	}
	return strings.Replace(ui.ApprovePath, "{code}", url.PathEscape(l.Code), 1)
}

// goToDevice redirects to the device page of the deployment that the user chooses next.
func goToDevice(req *ui.Request) error {
	req.Redirect("/orgs/-" + req.HTTP.URL.RequestURI())
	return nil
}

// waiting returns the request for the viewer's code. If another page decides about the request, it
// shows a message or redirects, and done is true.
func waiting(req *ui.Request, form url.Values) (l model.LoginRequest, done bool, err error) {
	code := auth.TidyLoginCode(cmp.Or(req.HTTP.PathValue("code"), form.Get("code")))
	if code == "" && req.HTTP.Method == http.MethodGet {
		return l, true, showApproval(req, http.StatusOK, approveView{})
	}
	err = req.View(func(ctx context.Context, tx *store.Tx) (err error) {
		l, err = tx.WaitingLogin(ctx, code)
		return err
	})
	if errors.Is(err, model.ErrNotFound) {
		if g := req.CodeLimiter.Allow(req.Viewer.User); !g.OK {
			return l, true, &model.BusyError{
				Text: "Too many invalid codes. Wait a minute.",
				Wait: g.Wait,
			}
		}
		return l, true, showApproval(req, http.StatusNotFound, approveView{Typed: code})
	}
	if onDevicePage := strings.HasSuffix(req.HTTP.Pattern, ui.DevicePath); err == nil && onDevicePage != l.ByProgram() {
		if onDevicePage && req.HTTP.Method != http.MethodGet { // only GET requests are redirected
			return l, true, model.ErrNotFound
		}
		req.Redirect(req.To(approvePage(l)))
		done = true
	}
	return l, done, err
}

// showLoginRequest shows the request for a code, or the form for the code. It changes no data.
func showLoginRequest(req *ui.Request) error {
	l, done, err := waiting(req, req.HTTP.URL.Query())
	if err != nil || done {
		return err
	}
	return showApproval(req, http.StatusOK, approveView{Request: l})
}

func showApproval(req *ui.Request, status int, v approveView) error {
	v.Host = strings.TrimPrefix(strings.TrimPrefix(req.BaseURL(), "https://"), "http://")
	v.Near = model.Network(v.Request.Address) == model.Network(httpx.OriginOf(req.HTTP).Address)
	v.Choose = ui.ChoosePath + "?next=" + url.QueryEscape("/orgs/-"+approvePage(v.Request))
	title := "A scanner requests a token"
	if v.Request.Code == "" || v.Request.ByProgram() {
		title = "An application requests access"
	}
	return req.Show(status, ui.Page{Template: "approve", Title: title, Section: "tokens", Data: v})
}

// decideToken approves or denies a token request.
func decideToken(req *ui.Request, form url.Values) error {
	l, done, err := waiting(req, form)
	if err != nil || done {
		return err
	}
	if l.ByProgram() && form.Get("answer") != "allow" {
		if err := req.Update(func(ctx context.Context, tx *store.Tx) error { return tx.DenyLogin(ctx, l) }); err != nil {
			return err
		}
		return showApproval(req, http.StatusOK, approveView{Denied: true})
	}
	token := model.Token{
		Name:    "semgrep login " + l.Code,
		Scopes:  []model.Scope{model.ScopeCI},
		Dialect: model.DialectContract,
	}
	kind := "scanner"
	if l.ByProgram() {
		token.Name = "OAuth: " + clientName(l.Program.Name)
		token.Scopes = oauth.TokenScopes(l.Program.Write && form.Get("access") == oauth.ScopeWrite)
		kind = "program"
	}
	err = req.Update(func(ctx context.Context, tx *store.Tx) error {
		me, err := tx.Member(ctx, req.Viewer.User)
		if err != nil {
			return err
		}
		token.UserID = me.ID
		return tx.ApproveLogin(ctx, l, token)
	})
	if message, ok := ui.InputError(err); ok {
		return showApproval(req, http.StatusConflict, approveView{Request: l, Fault: message})
	}
	return ui.RedirectAfter(req, err, ui.TokensPath+"?done="+kind)
}
