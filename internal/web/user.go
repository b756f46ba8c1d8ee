package web

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"time"

	"github.com/redoubt/redoubt"
	"github.com/redoubt/redoubt/internal/auth"
	"github.com/redoubt/redoubt/internal/store"
)

// resetFor is how long a link to set a password is good for.
const resetFor = 48 * time.Hour

// memberRow is a user in the list.
type memberRow struct {
	redoubt.Member
	Self bool
	// Ours is whether the viewer is admin wherever the user has a role, and so
	// may do things to the account and not only to the role here.
	Ours bool
}

// usersSheet is the users of the deployment.
type usersSheet struct {
	Rows    []memberRow
	Roles   []redoubt.Role
	Link    string // to set a password with, this once
	LinkFor string
	Form    redoubt.Member
	Fault   string
	Done    string
}

func (v *visit) users() error {
	return v.showUsers(http.StatusOK, usersSheet{Done: done[v.r.URL.Query().Get("done")]})
}

func (v *visit) showUsers(status int, s usersSheet) error {
	s.Roles = redoubt.Roles()
	if s.Form.Role == redoubt.RoleNone {
		s.Form.Role = redoubt.RoleViewer
	}
	var list []redoubt.Member
	err := v.view(func(ctx context.Context, tx *store.Tx) (err error) {
		list, err = tx.Members(ctx)
		return err
	})
	if err != nil {
		return err
	}
	for _, m := range list {
		ours := v.ours(m) == nil
		s.Rows = append(s.Rows, memberRow{Member: m, Self: m.Name == v.viewer.User, Ours: ours})
	}
	return v.show(status, sheet{Template: "users", Title: "Users", Section: "users", Data: s})
}

// member finds the user that the address names.
func (v *visit) member() (m redoubt.Member, err error) {
	err = v.view(func(ctx context.Context, tx *store.Tx) error {
		m, err = tx.Member(ctx, v.r.PathValue("name"))
		return err
	})
	return m, err
}

// ours refuses what concerns a whole account unless the viewer is admin in
// every deployment that the user has a role in: a tenant's admin must not come
// into another tenant through its users.
func (v *visit) ours(m redoubt.Member) error {
	if !m.Foreign {
		return nil
	}
	me, err := v.me()
	if err != nil {
		return err
	}
	theirs, err := v.Store.Memberships(v.r.Context(), m.ID)
	if err != nil {
		return err
	}
	for _, t := range theirs {
		if _, role := me.Role(t.Deployment.Slug); role < redoubt.RoleAdmin {
			return errForeign
		}
	}
	return nil
}

// createUser makes a user, or gives one of another deployment a role here.
func (v *visit) createUser() error {
	form, err := v.form()
	if err != nil {
		return err
	}
	role, ok := redoubt.ParseRole(form.Get("role"))
	if !ok {
		return redoubt.Invalid("role", "%.20q is no role", form.Get("role"))
	}
	s := usersSheet{Form: redoubt.Member{User: redoubt.User{
		Name: redoubt.NormalUserName(form.Get("name")), DisplayName: strings.TrimSpace(form.Get("display_name")),
	}, Role: role}}
	known, err := v.Store.User(v.r.Context(), s.Form.Name)
	if err == nil {
		return v.addMember(s, known, role)
	}
	if !errors.Is(err, redoubt.ErrNotFound) {
		return err
	}
	u := s.Form.User
	err = v.update(func(ctx context.Context, tx *store.Tx) (err error) {
		u, err = tx.CreateUser(ctx, u, role)
		return err
	})
	if said, ok := sayable(err); ok {
		s.Fault = said
		return v.showUsers(http.StatusBadRequest, s)
	}
	if err != nil {
		return err
	}
	return v.showLink(u)
}

// addMember gives a user who is known to the server a role here.
func (v *visit) addMember(s usersSheet, u redoubt.User, role redoubt.Role) error {
	err := v.update(func(ctx context.Context, tx *store.Tx) error {
		if _, err := tx.Member(ctx, u.Name); err == nil {
			return redoubt.Invalid("name", "%s is in the list below already", u.Name)
		}
		return tx.SetRole(ctx, u.ID, role)
	})
	if said, ok := sayable(err); ok {
		s.Fault = said
		return v.showUsers(http.StatusBadRequest, s)
	}
	if err != nil {
		return err
	}
	v.SignIn.Sessions.Forget()
	return v.showUsers(http.StatusOK, usersSheet{Done: "The server knows a user " + u.Name + " from elsewhere, who now has a role here too."})
}

// showLink makes a link to set a password with and shows it, this once.
func (v *visit) showLink(u redoubt.User) error {
	code, hash := auth.NewCode()
	l := redoubt.UserLink{Kind: redoubt.LinkReset, UserID: u.ID, ExpiresAt: v.Clock().Add(resetFor)}
	var err error
	if l.Within, err = v.administers(); err != nil {
		return err
	}
	err = v.Store.CreateLink(v.r.Context(), l, hash, v.viewer.Actor())
	if said, ok := sayable(err); ok {
		return v.showUsers(http.StatusConflict, usersSheet{Fault: said})
	}
	if err != nil {
		return err
	}
	v.unsaved()
	return v.showUsers(http.StatusOK, usersSheet{Link: v.base() + "/setup/" + code, LinkFor: u.Title()})
}

// administers lists the deployments in which the viewer is admin.
func (v *visit) administers() ([]int64, error) {
	me, err := v.me()
	if err != nil {
		return nil, err
	}
	ids := []int64{}
	for _, m := range me.Memberships {
		if m.Role >= redoubt.RoleAdmin {
			ids = append(ids, m.Deployment.ID)
		}
	}
	return ids, nil
}

// resetUser makes a link to set a password with.
func (v *visit) resetUser() error {
	m, err := v.member()
	if err == nil {
		err = v.ours(m)
	}
	if err != nil {
		return err
	}
	return v.showLink(m.User)
}

// setUserRole gives a user another role here, or none.
func (v *visit) setUserRole() error {
	m, err := v.member()
	if err != nil {
		return err
	}
	form, err := v.form()
	if err != nil {
		return err
	}
	word, role := "user-role", redoubt.RoleNone
	if form.Get("role") == "none" {
		word = "user-removed"
	} else if chosen, ok := redoubt.ParseRole(form.Get("role")); ok {
		role = chosen
	} else {
		return redoubt.Invalid("role", "%.20q is no role", form.Get("role"))
	}
	return v.changed(word, v.update(func(ctx context.Context, tx *store.Tx) error { return tx.SetRole(ctx, m.ID, role) }))
}

func (v *visit) disableUser() error {
	m, err := v.member()
	if err == nil {
		err = v.ours(m)
	}
	if err != nil {
		return err
	}
	return v.changed("user-disabled", v.Store.DisableUser(v.r.Context(), m.ID, v.viewer.Actor()))
}

func (v *visit) enableUser() error {
	m, err := v.member()
	if err == nil {
		err = v.ours(m)
	}
	if err != nil {
		return err
	}
	return v.changed("user-enabled", v.Store.EnableUser(v.r.Context(), m.ID, v.viewer.Actor()))
}

// changed goes back to the list after a change, which holds at once.
func (v *visit) changed(word string, err error) error {
	if said, ok := sayable(err); ok {
		return v.showUsers(http.StatusConflict, usersSheet{Fault: said})
	}
	if err != nil {
		return err
	}
	if v.SignIn != nil {
		v.SignIn.Sessions.Forget()
	}
	v.redirect(v.to("/settings/users?done=" + word))
	return nil
}
