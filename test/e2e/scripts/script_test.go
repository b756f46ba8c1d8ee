package scripts

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/redoubt/redoubt/internal/testutil/programtest"
)

func TestMain(m *testing.M) {
	programtest.Main(m, nil)
}

// TestScripts runs the scripts in testdata/script against real processes. In addition to the
// commands of testscript, scripts can use:
//
//	ready FILE       wait for a server's ready file, and set URL, TOKEN, SLUG and ID from it
//	api METHOD PATH [BODY]   send a request with $TOKEN; print the status and the response
//	id-from FILE PATTERN NAME   set NAME to the id in the table row whose text after the id matches a pattern
//	token-from FILE  set TOKEN to the text of a file
//	setup NAME PASSWORD   create an admin with the setup link of the ready file
//	sign-in          sign in with the link of the ready file
//	sign-in-as NAME PASSWORD   sign in on the page
//	let-in NAME PASSWORD FILE read|write|deny   decide about the redoubt login with the standard error FILE
//	tracker [down|up]   start an issue tracker at $TRACKER, or set whether it responds
//	git-host FOLDER  start a Git host at $HOST with the files of a directory as acme/payments.git
//	eventually-made   wait until no ticket is requested
//	eventually-401   wait until the token is rejected
//
// The condition [semgrep] is true if the real scanner is in $SEMGREP_FOLDER.
func TestScripts(t *testing.T) {
	testscript.Run(t, testscript.Params{
		Dir: "testdata/script",
		Setup: func(env *testscript.Env) error {
			env.Setenv("NO_PROXY", "127.0.0.1")
			env.Setenv(programtest.Collector, os.Getenv(programtest.Collector))
			env.Values["tracker"] = &tracker{}
			env.Setenv("SEMGREP_FOLDER", filepath.Dir(os.Getenv("REDOUBT_TEST_SEMGREP")))
			checkout, err := filepath.Abs("../../..")
			env.Setenv("CHECKOUT", checkout)
			return err
		},
		Condition: func(name string) (bool, error) {
			if name != "semgrep" {
				return false, fmt.Errorf("no condition has the name %s", name)
			}
			return os.Getenv("REDOUBT_TEST_SEMGREP") != "", nil
		},
		Cmds: map[string]func(*testscript.TestScript, bool, []string){
			"ready": readyScript, "api": apiScript, "eventually-401": refusedScript, "setup": setupScript, "sign-in": signInScript, "sign-in-as": signInAsScript, "let-in": decideLoginScript,
			"tracker": trackerScript, "git-host": gitHostScript, "eventually-made": madeScript, "id-from": idScript,

			"token-from": func(ts *testscript.TestScript, _ bool, args []string) {
				ts.Setenv("TOKEN", strings.TrimSpace(ts.ReadFile(args[0])))
			},
		},
	})
}

// idScript sets a variable to the id of the first table row whose text after the id matches a
// pattern.
func idScript(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 3 {
		ts.Fatalf("usage: id-from FILE PATTERN VARIABLE")
	}
	row, err := regexp.Compile(`(?m)^([0-9]+) +` + args[1])
	ts.Check(err)
	found := row.FindStringSubmatch(ts.ReadFile(args[0]))
	if found == nil {
		ts.Fatalf("no line is %s", args[1])
	}
	ts.Setenv(args[2], found[1])
}

func readyScript(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 {
		ts.Fatalf("usage: ready FILE")
	}
	var r programtest.Ready
	for end := time.Now().Add(programtest.WaitAtMost); time.Now().Before(end); {
		text, err := os.ReadFile(ts.MkAbs(args[0]))
		if err == nil {
			ts.Check(json.Unmarshal(text, &r))
			ts.Setenv("URL", r.BaseURL)
			ts.Setenv("TOKEN", r.Token)
			ts.Setenv("SLUG", r.DeploymentSlug)
			ts.Setenv("ID", r.DeploymentID)
			ts.Setenv("SETUP_URL", r.SetupURL)
			ts.Setenv("SIGN_IN_URL", r.SignInURL)
			return
		}
		time.Sleep(50 * time.Millisecond)
	}
	ts.Fatalf("no server was ready within %v", programtest.WaitAtMost)
}

func apiScript(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: api METHOD PATH [BODY]")
	}
	var body string
	if len(args) == 3 {
		body = args[2]
	}
	status, text, err := sendRequest(ts, args[0], args[1], body)
	ts.Check(err)
	_, err = fmt.Fprintf(ts.Stdout(), "%d\n%s\n", status, text)
	ts.Check(err)
}

func sendRequest(ts *testscript.TestScript, method, path, body string) (int, string, error) {
	req, err := http.NewRequest(method, ts.Getenv("URL")+"/api/v1"+path, strings.NewReader(body))
	if err != nil {
		return 0, "", err
	}
	req.Header.Set("Authorization", "Bearer "+ts.Getenv("TOKEN"))
	if body != "" {
		req.Header.Set("Content-Type", "application/json")
	}
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		return 0, "", err
	}
	defer res.Body.Close()
	text, err := io.ReadAll(res.Body)
	return res.StatusCode, string(text), err
}

// refusedScript waits until the token is rejected. It allows the second of caching that
// docs/reference/tokens.md documents, and another second for a busy machine.
func refusedScript(ts *testscript.TestScript, _ bool, _ []string) {
	for range 40 {
		status, _, err := sendRequest(ts, "GET", "/deployments", "")
		ts.Check(err)
		if status == http.StatusUnauthorized {
			return
		}
		time.Sleep(50 * time.Millisecond)
	}
	ts.Fatalf("the token still works two seconds after it was revoked")
}
