package webapi

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/redoubt/redoubt/api"
)

// Login is the stored result of redoubt login. A token from the tokens page is stored alone. A
// token that was approved in the browser is stored with its refresh token.
type Login struct {
	URL      string    `json:"url"`
	Token    string    `json:"token"`
	Refresh  string    `json:"refresh,omitempty"`
	ClientID string    `json:"client_id,omitempty"`
	Expires  time.Time `json:"expires,omitzero"`
}

// LoginFile returns the path of the login file in the user's configuration directory. Only the user
// can read it.
func LoginFile() (string, error) {
	folder, err := os.UserConfigDir()
	return filepath.Join(folder, "redoubt", "login.json"), err
}

// ReadLogin reads the stored login. It is zero if there is none.
func ReadLogin() (stored Login, err error) {
	name, err := LoginFile()
	if err != nil {
		return stored, nil //nolint:nilerr // a machine without such a folder keeps no login
	}
	text, err := os.ReadFile(name)
	if errors.Is(err, fs.ErrNotExist) {
		return stored, nil
	}
	if err == nil {
		err = json.Unmarshal(text, &stored)
	}
	if err != nil {
		return stored, fmt.Errorf("cannot read the stored login: run redoubt logout, then redoubt login: %w",
			err)
	}
	return stored, nil
}

// Save tests a login and stores it instead of the previous one.
func (l Login) Save(ctx context.Context) (*api.MeResponse, error) {
	client, err := ServerClient(l.URL, l.Token)
	if err != nil {
		return nil, err
	}
	me, err := client.Me(ctx)
	if err != nil {
		return nil, serverAdvice(l.URL, err)
	}
	return me, replaceLogin(ctx, l)
}

// RevokeUnused revokes a login that was not stored and is therefore unused. A token from the tokens
// page is not revoked.
func (l Login) RevokeUnused(ctx context.Context) error {
	if err := l.Revoke(context.WithoutCancel(ctx)); err != nil {
		return fmt.Errorf("the new token is unused and could not be revoked: revoke it on the tokens page, "+
			"%s/orgs/-/settings/tokens: %w", l.URL, err)
	}
	return nil
}

// replaceLogin stores a login and revokes the previous one if it has a refresh token. Only this
// program uses such a login.
func replaceLogin(ctx context.Context, fresh Login) error {
	unlock, err := LockLogin(ctx)
	if err != nil {
		return err
	}
	defer unlock()
	before, err := ReadLogin()
	if err != nil {
		before = Login{} // an unreadable login is replaced
	}
	if err := storeLogin(fresh); err != nil {
		return err
	}
	_ = before.Revoke(ctx) // it expires and is on the tokens page until then
	return nil
}

// storeLogin writes the login atomically, so that a full disk preserves the previous one.
func storeLogin(l Login) error {
	name, err := LoginFile()
	if err != nil {
		return err
	}
	text, err := json.Marshal(l)
	if err != nil {
		return err
	}
	fresh, err := os.CreateTemp(filepath.Dir(name), "login-*") // with mode 0600
	if err != nil {
		return err
	}
	_, err = fresh.Write(text)
	if err = errors.Join(err, fresh.Close()); err == nil {
		err = os.Rename(fresh.Name(), name)
	}
	if err != nil {
		return errors.Join(err, os.Remove(fresh.Name()))
	}
	return nil
}
