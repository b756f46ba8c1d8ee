package main

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"golang.org/x/term"
)

type loginCmd struct {
	URL string `arg:"" help:"Address of the server, as https://redoubt.example."`
}

// Run asks for a token, tries it and keeps it for the commands at the desk. It is
// read from the terminal without being shown, or from standard input.
func (c loginCmd) Run(a *app) error {
	if _, err := deskClient(c.URL, ""); err != nil {
		return err
	}
	server := strings.TrimSuffix(c.URL, "/")
	fmt.Fprintf(a.err, "Make a token on the tokens page, %s/orgs/-/settings/tokens, with what you want to do with it, and paste it here.\nToken: ", server)
	token, err := readSecret(os.Stdin)
	fmt.Fprintln(a.err)
	if err != nil {
		return fmt.Errorf("read the token: %w", err)
	}
	client, err := deskClient(server, token)
	if err != nil {
		return err
	}
	me, err := client.Me(a.ctx)
	if err != nil {
		return deskAdvice(server, err)
	}
	if err := keepLogin(keptLogin{server, token}); err != nil {
		return err
	}
	_, err = fmt.Fprintf(a.out, "signed in to %s, deployment %s, with the token %q (%s)\n", server, me.Deployment.Slug, me.Token.Name, strings.Join(me.Token.Scopes, ", "))
	return err
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

// keepLogin writes the login in one step, so that a full disk leaves the old one.
func keepLogin(l keptLogin) error {
	name, err := loginFile()
	if err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(name), 0o700); err != nil {
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

// Run forgets the login. The token itself stays valid on the server.
func (logoutCmd) Run(a *app) error {
	name, err := loginFile()
	if err == nil {
		err = os.Remove(name)
	}
	if errors.Is(err, fs.ErrNotExist) {
		_, err = fmt.Fprintln(a.out, "no login was kept")
		return err
	}
	if err == nil {
		_, err = fmt.Fprintln(a.out, "the login is forgotten; the token is valid until it is revoked on the tokens page")
	}
	return err
}
