package account

import (
	"cmp"
	"context"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/redoubt/redoubt/internal/auth"
	"github.com/redoubt/redoubt/internal/model"
	"github.com/redoubt/redoubt/internal/store"
	"github.com/redoubt/redoubt/internal/web/component"
	"github.com/redoubt/redoubt/internal/web/ui"
)

// tokenRow is a token in the list.
type tokenRow struct {
	model.Token
	Owner   string // empty: created on the command line
	State   string
	Revoker bool // the token works, and the viewer may revoke it
}

// tokensView is the data of the tokens page.
type tokensView struct {
	Rows    []tokenRow
	All     bool        // the list includes tokens of other users
	Made    string      // the secret of a new token, shown once
	MadeAs  model.Token // the new token; zero if none was just created
	Address string      // of the server, for the example command
	Form    tokenForm
	Fault   string
	Done    *ui.Message
}

// Reads reports whether the new token may use the Web API.
func (s tokensView) Reads() bool { return s.MadeAs.Has(model.ScopeWebAPI) }

// Lasts returns the available lifetimes of a token in days.
func (tokensView) Lasts() []int { return lasts }

// tokenForm is the form that creates a token.
type tokenForm struct {
	Name     string
	WebAPI   bool
	ReadOnly bool
	CI       bool
	Days     int // 0: never expires
	Globs    string
	Dialect  model.Dialect
}

// lasts are the available lifetimes of a token in days; 0 never expires.
var lasts = []int{30, 90, 365, 0}

func tokens(req *ui.Request) error {
	s := tokensView{
		Form: tokenForm{Days: 90, ReadOnly: !req.Viewer.May(model.RoleTriager)},
		Done: ui.DoneMessage(done, req.HTTP.URL.Query().Get("done")),
	}
	var err error
	if s.MadeAs, s.Made, err = component.CreatedToken(req, ui.TokensPath); err != nil {
		return err
	}
	return showTokens(req, http.StatusOK, s)
}

func showTokens(req *ui.Request, status int, s tokensView) error {
	s.All, s.Address = req.Viewer.May(model.RoleAdmin), req.BaseURL()
	err := req.View(func(ctx context.Context, tx *store.Tx) error {
		all, err := tx.Tokens(ctx)
		if err != nil {
			return err
		}
		members, err := tx.Members(ctx)
		names := map[int64]string{}
		for _, m := range members {
			names[m.ID] = m.Name
		}
		now := req.Clock()
		for _, t := range all {
			mine := t.UserID != 0 && names[t.UserID] == req.Viewer.User
			if mine || s.All {
				s.Rows = append(s.Rows, tokenRow{t, names[t.UserID], tokenState(t, now), !t.Ended(now)})
			}
		}
		slices.Reverse(s.Rows)
		return err
	})
	if err != nil {
		return err
	}
	return req.Show(status, ui.Page{Template: "tokens", Title: "Tokens", Section: "tokens", Data: s})
}

func tokenState(t model.Token, now time.Time) string {
	switch {
	case !t.RevokedAt.IsZero():
		return "revoked"
	case t.Ended(now):
		return "expired"
	case !t.RenewableUntil.IsZero():
		return "renewable"
	}
	return "active"
}

// createToken creates a token of the viewer with at most the viewer's permissions.
func createToken(req *ui.Request, form url.Values) error {
	days, err := strconv.Atoi(form.Get("days"))
	if err != nil || !slices.Contains(lasts, days) {
		return model.Invalid("days", "invalid value %.20q: use one of the choices", form.Get("days"))
	}
	s := tokensView{Form: tokenForm{
		Name: strings.TrimSpace(model.Line(form.Get("name"))), WebAPI: form.Has("web_api"),
		ReadOnly: form.Has("read_only"), CI: form.Has("ci"), Days: days, Globs: form.Get("globs"),
		Dialect: cmp.Or(model.Dialect(form.Get("dialect")), model.DialectContract),
	}}
	token, err := s.Form.token(req.Clock())
	if message, ok := ui.InputError(err); ok {
		s.Fault = message
		return showTokens(req, http.StatusBadRequest, s)
	}
	secret := auth.NewSecret(req.Viewer.Deployment.ID)
	token.PublicID = secret.PublicID
	if token, err = component.CreateToken(req, token, secret); err != nil {
		return err
	}
	req.ShowOnce(ui.TokensPath, token.ID, secret.Text)
	return nil
}

// Limits of a token's name and globs.
const (
	maxTokenName = 100
	maxGlobs     = 50
)

// token validates the form.
func (f tokenForm) token(now time.Time) (model.Token, error) {
	t := model.Token{Name: f.Name, ProjectGlobs: strings.Fields(strings.ReplaceAll(f.Globs, ",", " ")), Dialect: f.Dialect}
	switch {
	case f.Name == "" || len([]rune(f.Name)) > maxTokenName:
		return t, model.Invalid("name", "must have 1 to %d characters", maxTokenName)
	case !f.WebAPI && !f.CI:
		return t, model.Invalid("permissions", "choose Web API access or Upload scans")
	case f.ReadOnly && !f.WebAPI:
		return t, model.Invalid("permissions", "read-only requires Web API access: choose both")
	case t.Dialect != model.DialectContract && t.Dialect != model.DialectHosted:
		return t, model.Invalid("dialect", "must be one of the choices")
	case len(t.ProjectGlobs) > maxGlobs:
		return t, model.Invalid("projects", "%d patterns are too many: use at most %d", len(t.ProjectGlobs), maxGlobs)
	}
	for scope, selected := range map[model.Scope]bool{
		model.ScopeWebAPI:   f.WebAPI,
		model.ScopeReadOnly: f.ReadOnly,
		model.ScopeCI:       f.CI,
	} {
		if selected {
			t.Scopes = append(t.Scopes, scope)
		}
	}
	slices.Sort(t.Scopes)
	if f.Days > 0 {
		t.ExpiresAt = now.AddDate(0, 0, f.Days)
	}
	return t, nil
}

// revokeToken revokes a token of the viewer. An administrator may revoke any token.
func revokeToken(req *ui.Request) error {
	err := req.Update(func(ctx context.Context, tx *store.Tx) error {
		all, err := tx.Tokens(ctx)
		if err != nil {
			return err
		}
		me, err := tx.Member(ctx, req.Viewer.User)
		if err != nil {
			return err
		}
		at := slices.IndexFunc(all, func(t model.Token) bool { return t.ID == req.PathID })
		if at < 0 || all[at].UserID != me.ID && !req.Viewer.May(model.RoleAdmin) {
			return model.ErrNotFound
		}
		return tx.RevokeToken(ctx, req.PathID)
	})
	return ui.RedirectAfter(req, err, ui.TokensPath+"?done=token-revoked")
}
