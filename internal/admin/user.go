// Package admin contains the commands for the operator of a server. They access the store directly,
// on the machine of the database, whether or not a server is running. They manage deployments,
// users, tokens and keys, and check and copy the data.
package admin

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/redoubt/redoubt/internal/auth"
	"github.com/redoubt/redoubt/internal/cli/command"
	"github.com/redoubt/redoubt/internal/config"
	"github.com/redoubt/redoubt/internal/model"
	"github.com/redoubt/redoubt/internal/store"
)

// UserCmd manages users.
type UserCmd struct {
	Create      userCreateCmd      `cmd:"" help:"Create a user with a role in a deployment."`
	List        userListCmd        `cmd:"" help:"List users and their roles."`
	Role        userRoleCmd        `cmd:"" help:"Change or remove a user's role in a deployment."`
	Reset       userResetCmd       `cmd:"" help:"Set a user's password, or print a one-time link."`
	ResetFactor userResetFactorCmd `cmd:"" name:"reset-2fa" help:"Remove a user's second factor and end their sessions."`
	Disable     userDisableCmd     `cmd:"" help:"Disable a user, end their sessions and revoke their tokens."`
	Enable      userEnableCmd      `cmd:"" help:"Enable a disabled user."`
	SetupLink   userSetupLinkCmd   `cmd:"" help:"Print a one-time link that creates an admin."`
}

// linkFlags are the flags of commands that print a one-time link.
type linkFlags struct {
	PublicURL string        `help:"Public address of the server, for links (default: the server started last)." env:"REDOUBT_PUBLIC_URL" placeholder:"URL"`
	LinkFor   time.Duration `help:"Lifetime of the link." default:"24h"`
}

// defaultAddress is the address of a server without a configured one.
const defaultAddress = "http://127.0.0.1:8080"

// Print creates a link and prints it.
func (f linkFlags) Print(a *command.App, st *store.Store, l model.UserLink) error {
	if f.LinkFor <= 0 {
		return errors.New("--link-for must be positive")
	}
	base, err := f.base(a, st)
	if err != nil {
		return err
	}
	text, err := NewLink(a, st, l, f.LinkFor, base)
	if err == nil {
		fmt.Fprintln(a.Out, text)
		fmt.Fprintf(a.Err, "the link is valid once, until %s\n", command.Day(a.Clock().Add(f.LinkFor)))
	}
	return err
}

// base returns the address for links: that of the flag, or of the server that started last, or
// defaultAddress.
func (f linkFlags) base(a *command.App, st *store.Store) (string, error) {
	if f.PublicURL != "" {
		return f.PublicURL, nil
	}
	address, err := st.StoredSetting(a.Ctx, AddressSetting)
	if errors.Is(err, model.ErrNotFound) {
		return defaultAddress, nil
	}
	return string(address), err
}

// NewLink stores a one-time link and returns its address.
func NewLink(a *command.App, st *store.Store, l model.UserLink, lasts time.Duration, base string) (string, error) {
	code, hash := auth.NewCode()
	l.ExpiresAt = a.Clock().Add(lasts)
	if err := st.CreateLink(a.Ctx, l, hash, a.Actor()); err != nil {
		return "", err
	}
	path := "/setup/"
	if l.Kind == model.LinkSignIn {
		path = "/sign-in/"
	}
	return strings.TrimSuffix(base, "/") + path + code, nil
}

type userCreateCmd struct {
	command.Tenant
	linkFlags
	Name        string `arg:"" help:"Username: lower-case letters, digits and . _ @ + -."`
	Role        string `help:"Role: viewer (read), triager (triage, upload scans) or admin (manage)." enum:"viewer,triager,admin" default:"viewer"`
	DisplayName string `help:"Full name." placeholder:"NAME"`
	Link        bool   `help:"Print a one-time password link instead of a prompt."`
}

// Run creates the user. The password is read from the terminal or from the first line of standard
// input.
func (c userCreateCmd) Run(a *command.App) error {
	st, d, err := c.Use(a)
	if err != nil {
		return err
	}
	return errors.Join(c.Create(a, st, d), st.Close())
}

func (c userCreateCmd) Create(a *command.App, st *store.Store, d model.Deployment) error {
	u := model.User{Name: model.NormalUserName(c.Name), DisplayName: c.DisplayName}
	if err := errors.Join(model.CheckUserName(u.Name), model.CheckDisplayName(u.DisplayName)); err != nil {
		return err
	}
	if _, err := st.User(a.Ctx, u.Name); err == nil {
		return fmt.Errorf("user %s exists: to set a role, run redoubt user role --deployment %s %s %s",
			u.Name, d.Slug, u.Name, c.Role)
	}
	if !c.Link {
		var err error
		if u.PasswordHash, err = readNewPassword(a, u.Name, u.DisplayName, d.Slug, d.Name); err != nil {
			return err
		}
	}
	role, _ := model.ParseRole(c.Role)
	err := st.Update(a.Ctx, d.ID, a.Actor(), func(ctx context.Context, tx *store.Tx) (err error) {
		u, err = tx.CreateUser(ctx, u, role)
		return err
	})
	if err != nil {
		return err
	}
	fmt.Fprintf(a.Err, "created user %s, %s of %s\n", u.Name, role, d.Slug)
	if !c.Link {
		return nil
	}
	return c.Print(a, st, model.UserLink{Kind: model.LinkReset, UserID: u.ID})
}

type userListCmd struct{ config.Storage }

// Run lists the users of the server.
func (c userListCmd) Run(a *command.App) error {
	st, err := a.Open(c.Storage)
	if err != nil {
		return err
	}
	users, err := st.Users(a.Ctx)
	rows := make([][]string, len(users))
	for i, u := range users {
		roles, rolesErr := st.Memberships(a.Ctx, u.ID)
		err = errors.Join(err, rolesErr)
		words := make([]string, len(roles))
		for j, m := range roles {
			words[j] = m.Deployment.Slug + "=" + m.Role.String()
		}
		state := "active"
		if !u.Enabled() {
			state = "disabled"
		}
		factor := "-"
		if u.HasSecondFactor() {
			factor = "yes"
		}
		rows[i] = []string{
			u.Name, state, joinAnd(words), command.Day(u.CreatedAt), command.Day(u.SignedInAt), factor, u.DisplayName,
		}
	}
	if err == nil {
		err = command.Table(a.Out, "USER STATE ROLES CREATED SIGNED-IN 2FA NAME", rows)
	}
	return errors.Join(err, st.Close())
}

// joinAnd joins words for a column; "-" for none.
func joinAnd(words []string) string {
	if len(words) == 0 {
		return "-"
	}
	return strings.Join(words, ",")
}

// userArg is the argument of commands about one user.
type userArg struct {
	Name string `arg:"" help:"Username (see redoubt user list)."`
}

func (e userArg) loadUser(a *command.App, st *store.Store) (model.User, error) {
	u, err := st.User(a.Ctx, e.Name)
	if errors.Is(err, model.ErrNotFound) {
		return u, fmt.Errorf("user %q not found: run redoubt user list", e.Name)
	}
	return u, err
}

type userRoleCmd struct {
	command.Tenant
	userArg
	Role string `arg:"" help:"Role: viewer, triager, admin or none." enum:"viewer,triager,admin,none"`
}

// Run sets the role of the user.
func (c userRoleCmd) Run(a *command.App) error {
	st, d, err := c.Use(a)
	if err != nil {
		return err
	}
	u, err := c.loadUser(a, st)
	if err == nil {
		role, _ := model.ParseRole(c.Role)
		err = st.Update(a.Ctx, d.ID, a.Actor(), func(ctx context.Context, tx *store.Tx) error {
			return tx.SetRole(ctx, u.ID, role)
		})
	}
	if err == nil {
		_, err = fmt.Fprintf(a.Out, "%s now has the role %s in %s\n", u.Name, c.Role, d.Slug)
	}
	return errors.Join(err, st.Close())
}

// onUser runs fn on a user of the server.
func (e userArg) onUser(a *command.App, c config.Storage, fn func(*store.Store, model.User) error) error {
	st, err := a.Open(c)
	if err != nil {
		return err
	}
	u, err := e.loadUser(a, st)
	if err == nil {
		err = fn(st, u)
	}
	return errors.Join(err, st.Close())
}

type userResetCmd struct {
	config.Storage
	linkFlags
	userArg
	Link         bool `help:"Print a one-time password link instead of a prompt."`
	RevokeTokens bool `help:"Also revoke the user's tokens."`
}

// Run sets the password. All sessions of the user end.
func (c userResetCmd) Run(a *command.App) error {
	return c.onUser(a, c.Storage, func(st *store.Store, u model.User) error {
		if c.Link {
			if c.RevokeTokens {
				return errors.New("--revoke-tokens cannot be used with --link: the link's page has this option")
			}
			return c.Print(a, st, model.UserLink{Kind: model.LinkReset, UserID: u.ID})
		}
		roles, err := st.Memberships(a.Ctx, u.ID)
		if err != nil {
			return err
		}
		hash, err := readNewPassword(a, u.Name, append(model.NamesOf(roles), u.DisplayName)...)
		if err != nil {
			return err
		}
		if err := st.SetPassword(a.Ctx, u.ID, hash, c.RevokeTokens, a.Actor()); err != nil {
			return err
		}
		_, err = fmt.Fprintf(a.Out, "set the password of %s and ended all sessions\n", u.Name)
		return err
	})
}

type userResetFactorCmd struct {
	config.Storage
	userArg
}

// Run removes the second factor.
func (c userResetFactorCmd) Run(a *command.App) error {
	return c.onUser(a, c.Storage, func(st *store.Store, u model.User) error {
		if err := st.ResetSecondFactor(a.Ctx, u.ID, nil, a.Actor()); err != nil {
			return err
		}
		_, err := fmt.Fprintf(a.Out, "removed the second factor of %s and ended all sessions\n", u.Name)
		return err
	})
}

type userDisableCmd struct {
	config.Storage
	userArg
}

// Run disables the user.
func (c userDisableCmd) Run(a *command.App) error {
	return c.onUser(a, c.Storage, func(st *store.Store, u model.User) error {
		if err := st.DisableUser(a.Ctx, u.ID, a.Actor()); err != nil {
			return err
		}
		_, err := fmt.Fprintf(a.Out, "disabled %s: sessions ended, tokens revoked\n", u.Name)
		return err
	})
}

type userEnableCmd struct {
	config.Storage
	userArg
}

// Run enables the user.
func (c userEnableCmd) Run(a *command.App) error {
	return c.onUser(a, c.Storage, func(st *store.Store, u model.User) error {
		if err := st.EnableUser(a.Ctx, u.ID, a.Actor()); err != nil {
			return err
		}
		_, err := fmt.Fprintf(a.Out, "enabled %s; revoked tokens stay revoked\n", u.Name)
		return err
	})
}

type userSetupLinkCmd struct {
	command.Tenant
	linkFlags
}

// Run prints the link.
func (c userSetupLinkCmd) Run(a *command.App) error {
	st, d, err := c.Use(a)
	if err != nil {
		return err
	}
	return errors.Join(c.Print(a, st, model.UserLink{Kind: model.LinkSetup, Deployment: d.ID}), st.Close())
}

// AddressSetting is the setting with the address of the server that started last. Commands that
// print links read it.
const AddressSetting = "address"
