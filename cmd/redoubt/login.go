package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"golang.org/x/term"

	"github.com/redoubt/redoubt/api"
	"github.com/redoubt/redoubt/internal/auth/oauth"
	"github.com/redoubt/redoubt/internal/config"
)

type loginCmd struct {
	URL       string        `arg:"" help:"Address of the server, as https://redoubt.example."`
	Token     config.Secret `help:"Keep this token instead of asking for one in the browser; - reads it from standard input or, unseen, from the terminal. A pipe is read without it." placeholder:"TOKEN"`
	ReadOnly  bool          `help:"Ask to read only."`
	NoBrowser bool          `help:"Open no browser; the address and the code are printed all the same."`
}

// Run gets a token, tries it and keeps it for the commands at the desk: one that a
// person lets it have in the browser, or one that was made by hand.
func (c loginCmd) Run(a *app) error {
	if _, err := serverClient(c.URL, ""); err != nil {
		return err
	}
	server := strings.TrimSuffix(c.URL, "/")
	fresh, err := c.token(a, server)
	if err != nil {
		return err
	}
	me, err := fresh.keep(a.ctx)
	if err != nil {
		return errors.Join(err, fresh.giveBack(a.ctx))
	}
	fmt.Fprintf(a.out, "signed in to %s, deployment %s, with the token %q (%s)\n",
		server, me.Deployment.Slug, me.Token.Name, strings.Join(me.Token.Scopes, ", "))
	if fresh.Refresh != "" { // the program is registered for so long
		fmt.Fprintf(a.out, "it is renewed as you use it, until %s at most; then run redoubt login again\n",
			a.clock().Add(oauth.ClientFor).Format(time.DateOnly))
	}
	return nil
}

// keep tries a login, and keeps it in the place of the one before.
func (l keptLogin) keep(ctx context.Context) (*api.MeResponse, error) {
	client, err := serverClient(l.URL, l.Token)
	if err != nil {
		return nil, err
	}
	me, err := client.Me(ctx)
	if err != nil {
		return nil, serverAdvice(l.URL, err)
	}
	return me, replaceLogin(ctx, l)
}

// giveBack ends a login that was not kept: nobody would ever use its token. What a
// person made by hand stays theirs.
func (l keptLogin) giveBack(ctx context.Context) error {
	if err := l.revoke(context.WithoutCancel(ctx)); err != nil {
		return fmt.Errorf("what the server let this program have is not used, and could not be taken back: revoke it on "+
			"the tokens page, %s/orgs/-/settings/tokens: %w", l.URL, err)
	}
	return nil
}

// token gets what is to be kept.
func (c loginCmd) token(a *app, server string) (keptLogin, error) {
	switch {
	case c.Token != "" && c.Token != "-":
		return keptLogin{URL: server, Token: string(c.Token)}, nil
	case c.Token == "" && !isPiped(os.Stdin):
		return c.byBrowser(a, server)
	}
	fmt.Fprintf(a.err, "Make a token on the tokens page, %s/orgs/-/settings/tokens, with what you want to do with it, "+
		"and paste it here.\nToken: ", server)
	text, err := readSecret(os.Stdin)
	fmt.Fprintln(a.err)
	if err != nil {
		return keptLogin{}, fmt.Errorf("read the token: %w", err)
	}
	return keptLogin{URL: server, Token: text}, nil
}

// isPiped reports whether somebody hands something in: neither a terminal nor
// nothing at all, as /dev/null.
func isPiped(in *os.File) bool {
	info, err := in.Stat()
	return err == nil && info.Mode()&os.ModeCharDevice == 0
}

// maxTyped bounds what is read of a token.
const maxTyped = 4096

// readSecret reads a line, which a terminal does not show.
func readSecret(in *os.File) (string, error) {
	if term.IsTerminal(int(in.Fd())) {
		text, err := term.ReadPassword(int(in.Fd()))
		return strings.TrimSpace(string(text)), err
	}
	text, err := bufio.NewReader(io.LimitReader(in, maxTyped)).ReadString('\n')
	if errors.Is(err, io.EOF) {
		err = nil
	}
	if text = strings.TrimSpace(text); text == "" && err == nil {
		err = errors.New("standard input is empty; it has one line, the token")
	}
	return text, err
}

// replaceLogin keeps a login in the place of another, which is ended where it is one
// that would renew itself: nobody else knows it.
func replaceLogin(ctx context.Context, fresh keptLogin) error {
	unlock, err := lockLogin(ctx)
	if err != nil {
		return err
	}
	defer unlock()
	before, err := readLogin()
	if err != nil {
		before = keptLogin{} // what cannot be read is replaced
	}
	if err := keepLogin(fresh); err != nil {
		return err
	}
	_ = before.revoke(ctx) // it ends by itself, and is on the tokens page until then
	return nil
}

// keepLogin writes the login in one step, so that a full disk leaves the old one.
func keepLogin(l keptLogin) error {
	name, err := loginFile()
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

type logoutCmd struct{}

// Run forgets the login, and revokes a token that a person let this program have in
// the browser. One that was made by hand may be in use elsewhere and stays.
func (logoutCmd) Run(a *app) error {
	name, err := loginFile()
	if err == nil {
		_, err = os.Stat(name)
	}
	if errors.Is(err, fs.ErrNotExist) {
		_, err = fmt.Fprintln(a.out, "no login was kept")
		return err
	}
	if err != nil {
		return err
	}
	unlock, err := lockLogin(a.ctx)
	if err != nil {
		return err
	}
	defer unlock()
	kept, broken := readLogin()
	if err := os.Remove(name); err != nil {
		return err
	}
	if broken != nil || kept.Refresh == "" {
		_, err = fmt.Fprintln(a.out, "the login is forgotten; the token is valid until it is revoked on the tokens page")
		return err
	}
	if err := kept.revoke(a.ctx); err != nil {
		return fmt.Errorf("the login is forgotten here, but %s could not be told: revoke the token on its tokens page: %w",
			kept.URL, err)
	}
	_, err = fmt.Fprintln(a.out, "signed out: the login is forgotten, and its token is revoked")
	return err
}
