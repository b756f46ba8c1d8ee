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

// Login is what redoubt login keeps. A token that was made by hand is there alone;
// one that a person let this program have is with what renews it.
type Login struct {
	URL      string    `json:"url"`
	Token    string    `json:"token"`
	Refresh  string    `json:"refresh,omitempty"`
	ClientID string    `json:"client_id,omitempty"`
	Expires  time.Time `json:"expires,omitzero"`
}

// LoginFile is the path of the login in the user's settings. Only the user can read it.
func LoginFile() (string, error) {
	folder, err := os.UserConfigDir()
	return filepath.Join(folder, "redoubt", "login.json"), err
}

// ReadLogin reads what is kept; the zero one where nothing is.
func ReadLogin() (kept Login, err error) {
	name, err := LoginFile()
	if err != nil {
		return kept, nil //nolint:nilerr // a machine without such a folder keeps no login
	}
	text, err := os.ReadFile(name)
	if errors.Is(err, fs.ErrNotExist) {
		return kept, nil
	}
	if err == nil {
		err = json.Unmarshal(text, &kept)
	}
	if err != nil {
		return kept, fmt.Errorf("what redoubt login kept cannot be read; run redoubt logout, then redoubt login again: %w",
			err)
	}
	return kept, nil
}

// Keep tries a login, and keeps it in the place of the one before.
func (l Login) Keep(ctx context.Context) (*api.MeResponse, error) {
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

// GiveBack ends a login that was not kept: nobody would ever use its token. What a
// person made by hand stays theirs.
func (l Login) GiveBack(ctx context.Context) error {
	if err := l.Revoke(context.WithoutCancel(ctx)); err != nil {
		return fmt.Errorf("what the server let this program have is not used, and could not be taken back: revoke it on "+
			"the tokens page, %s/orgs/-/settings/tokens: %w", l.URL, err)
	}
	return nil
}

// replaceLogin keeps a login in the place of another, which is ended where it is one
// that would renew itself: nobody else knows it.
func replaceLogin(ctx context.Context, fresh Login) error {
	unlock, err := LockLogin(ctx)
	if err != nil {
		return err
	}
	defer unlock()
	before, err := ReadLogin()
	if err != nil {
		before = Login{} // what cannot be read is replaced
	}
	if err := keepLogin(fresh); err != nil {
		return err
	}
	_ = before.Revoke(ctx) // it ends by itself, and is on the tokens page until then
	return nil
}

// keepLogin writes the login in one step, so that a full disk leaves the old one.
func keepLogin(l Login) error {
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
