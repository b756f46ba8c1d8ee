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

// TestScripts runs the command lines of testdata/script as a person would type
// them, against real processes. Beside testscript's own commands they use
//
//	ready FILE       wait for a server's ready file, and set URL, TOKEN, SLUG and ID from it
//	api METHOD PATH [BODY]   ask the server as $TOKEN; the answer is standard output, its status the first line
//	id-from FILE PATTERN NAME   set NAME to the id in front of what a pattern fits, of a table
//	token-from FILE  set TOKEN to the text of a file
//	setup NAME PASSWORD   make an admin with the setup link of the ready file
//	sign-in          sign in with the link of the ready file
//	sign-in-as NAME PASSWORD   sign in on the page
//	let-in NAME PASSWORD FILE read|write|deny   decide about the redoubt login whose standard error FILE is
//	tracker [down|up]   start an issue tracker at $TRACKER, or say whether it answers
//	git-host FOLDER  have a host of git at $HOST, which has the files of a folder as acme/payments.git
//	eventually-made   list the tickets until none is requested any more
//	eventually-401   ask until the token is refused, for a second at most
//
// and the condition [semgrep]: the real one is in $SEMGREP_FOLDER.
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
				return false, fmt.Errorf("no condition is called %s", name)
			}
			return os.Getenv("REDOUBT_TEST_SEMGREP") != "", nil
		},
		Cmds: map[string]func(*testscript.TestScript, bool, []string){
			"ready": readyScript, "api": apiScript, "eventually-401": refusedScript, "setup": setupScript, "sign-in": signInScript, "sign-in-as": signInAsScript, "let-in": letInScript,
			"tracker": trackerScript, "git-host": gitHostScript, "eventually-made": madeScript, "id-from": idScript,

			"token-from": func(ts *testscript.TestScript, _ bool, args []string) {
				ts.Setenv("TOKEN", strings.TrimSpace(ts.ReadFile(args[0])))
			},
		},
	})
}

// idScript takes the id of the first line of a table that a pattern fits, behind the id, for a variable.
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
	status, text, err := ask(ts, args[0], args[1], body)
	ts.Check(err)
	_, err = fmt.Fprintf(ts.Stdout(), "%d\n%s\n", status, text)
	ts.Check(err)
}

func ask(ts *testscript.TestScript, method, path, body string) (int, string, error) {
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

// refusedScript allows the second that docs/reference/tokens.md and the server's cache
// take, and as much again for a busy machine.
func refusedScript(ts *testscript.TestScript, _ bool, _ []string) {
	for range 40 {
		status, _, err := ask(ts, "GET", "/deployments", "")
		ts.Check(err)
		if status == http.StatusUnauthorized {
			return
		}
		time.Sleep(50 * time.Millisecond)
	}
	ts.Fatalf("the token still works two seconds after it was revoked")
}
