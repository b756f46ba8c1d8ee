package scripts

import (
	"fmt"
	"io"
	"net/http"
	"net/http/cookiejar"
	"net/url"
	"os"
	"regexp"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/redoubt/redoubt/internal/testutil/programtest"
)

// setupScript opens the setup link of the ready file in a separate browser session and creates an
// admin.
func setupScript(ts *testscript.TestScript, neg bool, args []string) {
	if len(args) != 2 {
		ts.Fatalf("usage: setup NAME PASSWORD")
	}
	form := url.Values{"name": {args[0]}, "password": {args[1]}, "again": {args[1]}}
	visit(ts, neg, func(c *http.Client) (*http.Response, error) { return c.PostForm(ts.Getenv("SETUP_URL"), form) })
}

// signInScript opens the sign-in link of the ready file in a separate browser session.
func signInScript(ts *testscript.TestScript, neg bool, _ []string) {
	visit(ts, neg, func(c *http.Client) (*http.Response, error) { return c.PostForm(ts.Getenv("SIGN_IN_URL"), nil) })
}

// signInAsScript signs in by name and password in a separate browser session.
func signInAsScript(ts *testscript.TestScript, neg bool, args []string) {
	if len(args) != 2 {
		ts.Fatalf("usage: sign-in-as NAME PASSWORD")
	}
	form := url.Values{"name": {args[0]}, "password": {args[1]}}
	visit(ts, neg, func(c *http.Client) (*http.Response, error) { return c.PostForm(ts.Getenv("URL")+"/login", form) })
}

var accountLink = regexp.MustCompile(`data-user="[^"]*"[^>]*>([^<]*)</a>`)

// visit prints the signed-in user after a request and its redirects.
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

var shownCode = regexp.MustCompile(`enter the code ([A-Z2-7]{4}-[A-Z2-7]{4})`)

// decideLoginScript waits until redoubt login has written a code to a file. It signs in and presses a
// button of the page for that code; read and write approve it.
func decideLoginScript(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 4 {
		ts.Fatalf("usage: let-in NAME PASSWORD FILE read|write|deny")
	}
	var code []string
	for end := time.Now().Add(programtest.WaitAtMost); code == nil && time.Now().Before(end); time.Sleep(50 * time.Millisecond) {
		if text, err := os.ReadFile(ts.MkAbs(args[2])); err == nil {
			code = shownCode.FindStringSubmatch(string(text))
		}
	}
	if code == nil {
		ts.Fatalf("no code was printed within %v", programtest.WaitAtMost)
	}
	jar, err := cookiejar.New(nil)
	ts.Check(err)
	c := &http.Client{Jar: jar}
	send := func(path string, form url.Values) {
		res, err := c.PostForm(ts.Getenv("URL")+path, form)
		ts.Check(err)
		defer res.Body.Close()
		text, err := io.ReadAll(res.Body)
		ts.Check(err)
		if res.StatusCode != http.StatusOK {
			ts.Fatalf("POST %s: %s\n%s", path, res.Status, text)
		}
	}
	send("/login", url.Values{"name": {args[0]}, "password": {args[1]}})
	answer := url.Values{"code": {code[1]}, "answer": {"allow"}, "access": {args[3]}}
	if args[3] == "deny" {
		answer.Set("answer", "deny")
	}
	send("/orgs/acme/device", answer)
}
