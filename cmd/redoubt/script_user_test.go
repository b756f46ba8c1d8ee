package main

import (
	"fmt"
	"io"
	"net/http"
	"net/http/cookiejar"
	"net/url"
	"regexp"

	"github.com/rogpeppe/go-internal/testscript"
)

// setupScript opens the setup link of the ready file in a browser of its own
// and makes an admin.
func setupScript(ts *testscript.TestScript, neg bool, args []string) {
	if len(args) != 2 {
		ts.Fatalf("usage: setup NAME PASSWORD")
	}
	form := url.Values{"name": {args[0]}, "password": {args[1]}, "again": {args[1]}}
	visit(ts, neg, func(c *http.Client) (*http.Response, error) { return c.PostForm(ts.Getenv("SETUP_URL"), form) })
}

// signInScript opens the sign-in link of the ready file in a browser of its own.
func signInScript(ts *testscript.TestScript, neg bool, _ []string) {
	visit(ts, neg, func(c *http.Client) (*http.Response, error) { return c.PostForm(ts.Getenv("SIGN_IN_URL"), nil) })
}

// signInAsScript signs in by name and password in a browser of its own.
func signInAsScript(ts *testscript.TestScript, neg bool, args []string) {
	if len(args) != 2 {
		ts.Fatalf("usage: sign-in-as NAME PASSWORD")
	}
	form := url.Values{"name": {args[0]}, "password": {args[1]}}
	visit(ts, neg, func(c *http.Client) (*http.Response, error) { return c.PostForm(ts.Getenv("URL")+"/login", form) })
}

var accountLink = regexp.MustCompile(`your account">([^<]*)</a>`)

// visit prints who is signed in after a request and the redirects it led to.
func visit(ts *testscript.TestScript, neg bool, request func(*http.Client) (*http.Response, error)) {
	jar, err := cookiejar.New(nil)
	ts.Check(err)
	res, err := request(&http.Client{Jar: jar})
	ts.Check(err)
	defer res.Body.Close()
	text, err := io.ReadAll(res.Body)
	ts.Check(err)
	who := accountLink.FindSubmatch(text)
	if (who == nil) != neg {
		ts.Fatalf("%s: signed in: %v\n%s", res.Status, who != nil, text)
	}
	if who != nil {
		_, err = fmt.Fprintf(ts.Stdout(), "signed in as %s\n", who[1])
		ts.Check(err)
	}
}
