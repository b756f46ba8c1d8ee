package e2e

import (
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// documentsWithTests are the documents whose commands have a test of their own. The generated
// reference of the command line has no examples.
var documentsWithTests = map[string]string{
	"README.md":                            "scripts, readme.txtar",
	"docs/guides/administration.md":        "scripts, readme.txtar",
	"docs/guides/connect-your-ci.md":       "TestConnectYourCI",
	"docs/guides/managed-scans-example.md": "TestHostsStory",
	"docs/start/first-scan.md":             "TestFirstScan",
}

// example is a code block that a reader would run or copy, with the comment above it.
var example = regexp.MustCompile("(?ms)(?:^<!-- (Not run: [^\n]+) -->\n+)?^```(console|sh|yaml|groovy|caddyfile|powershell|dockerfile)\n(.*?)^```$")

// TestDocumentedCommands runs the console blocks of the documents with a demo server. Each command
// must succeed; their output is not compared. A block that needs more has the comment
// "<!-- Not run: REASON -->" above it, as have files for other programs.
func TestDocumentedCommands(t *testing.T) {
	for _, tool := range []string{"bash", "curl", "man"} {
		if _, err := exec.LookPath(tool); err != nil {
			t.Skipf("%s is not installed: run make setup", tool)
		}
	}
	t.Parallel()
	data := t.TempDir()
	ready := runDemo(t, data)
	address := strings.NewReplacer("https://redoubt.example.com", ready.BaseURL, "https://redoubt.example", ready.BaseURL,
		"http://127.0.0.1:8080", ready.BaseURL, "/deployments/acme/", "/deployments/"+ready.DeploymentSlug+"/")
	env := append(os.Environ(), "REDOUBT_URL="+ready.BaseURL, "REDOUBT_TOKEN="+ready.Token,
		"URL="+ready.BaseURL+"/api/v1/deployments/"+ready.DeploymentSlug, "TOKEN="+ready.Token, "NO_PROXY=127.0.0.1", "LC_ALL=C.UTF-8")
	ran := 0
	for _, page := range documents(t) {
		t.Run(page, func(t *testing.T) {
			var script strings.Builder
			for _, command := range documentedCommands(t, page) {
				fmt.Fprintf(&script, "cat <<'COMMAND'\n$ %[1]s\nCOMMAND\n%[1]s\n", address.Replace(command))
				ran++
			}
			if script.Len() == 0 {
				return
			}
			shell := exec.Command("bash", "-e", "-o", "pipefail")
			shell.Dir = t.TempDir()
			for _, files := range []string{"testdata/documents", "../../internal/demo/samples/reports/acme/payments/main-1"} {
				if err := os.CopyFS(shell.Dir, os.DirFS(files)); err != nil {
					t.Fatal(err)
				}
			}
			if err := os.Symlink(data, filepath.Join(shell.Dir, "redoubt-data")); err != nil {
				t.Fatal(err)
			}
			shell.Env, shell.Stdin = append(env, "HOME="+shell.Dir), strings.NewReader(strings.ReplaceAll(script.String(), "curl ", "curl -f "))
			if out, err := shell.CombinedOutput(); err != nil {
				t.Errorf("%v, in the last of these commands:\n%s", err, out)
			}
		})
	}
	if ran < 40 {
		t.Errorf("only %d commands were found", ran)
	}
}

// documents returns the paths of the documents with examples that have no other test.
func documents(t *testing.T) (pages []string) {
	t.Helper()
	root := os.DirFS("../..")
	err := fs.WalkDir(root, ".", func(path string, entry fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case entry.IsDir() && path != "." && (path[0] == '.' || strings.Contains(path, "testdata")):
			return fs.SkipDir
		case filepath.Ext(path) == ".md" && documentsWithTests[path] == "":
			pages = append(pages, path)
		}
		return nil
	})
	if err != nil || len(pages) < 50 {
		t.Fatalf("%d documents, %v", len(pages), err)
	}
	return pages
}

// documentedCommands returns the commands of a document, without those that are marked as not run.
func documentedCommands(t *testing.T, page string) (commands []string) {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("../..", page))
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range example.FindAllStringSubmatch(string(text), -1) {
		switch reason, language, block := m[1], m[2], m[3]; {
		case reason != "":
		case language == "console":
			commands = append(commands, parseCommands(block)...)
		default:
			t.Errorf("no test runs this %s: add a comment, <!-- Not run: REASON -->\n%s", language, block)
		}
	}
	return commands
}

// parseCommands returns the commands of a block with the lines on which they continue: after a
// backslash, or within quotes.
func parseCommands(block string) (commands []string) {
	open := false
	for line := range strings.Lines(block) {
		line = strings.TrimSuffix(line, "\n")
		command, is := strings.CutPrefix(line, "$ ")
		switch {
		case open:
			commands[len(commands)-1] += "\n" + line
		case is:
			commands = append(commands, command)
		default:
			continue
		}
		last := commands[len(commands)-1]
		open = strings.HasSuffix(last, `\`) || strings.Count(last, "'")%2 == 1
	}
	return commands
}
