package projects

import (
	"fmt"
	"os"
	"os/exec"
	"path"
	"regexp"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"
)

// TestSetupCommandsMatchDocs checks that the snippets are those of docs/guides/connect-your-ci.md,
// which other tests run.
func TestSetupCommandsMatchDocs(t *testing.T) {
	text, err := os.ReadFile("../../../docs/guides/connect-your-ci.md")
	if err != nil {
		t.Fatal(err)
	}
	fence := regexp.MustCompile("(?ms)^```[a-z]+\n(.*?)^```$")
	for heading, file := range map[string]string{"GitHub Actions": "github.yaml", "GitLab": "gitlab.yaml", "Jenkins": "jenkins.groovy"} {
		_, section, _ := strings.Cut(string(text), "\n## "+heading+"\n")
		documented := fence.FindStringSubmatch(section)
		ours, err := setupFiles.ReadFile("setup/" + file)
		if err != nil {
			t.Fatal(err)
		}
		if documented == nil || documented[1] != string(ours) {
			t.Errorf("%s is not what docs/guides/connect-your-ci.md shows under %s", file, heading)
		}
	}
}

// TestSetupCommandsAreComplete checks that each method contains the server's address and the required flags,
// and no token.
func TestSetupCommandsAreComplete(t *testing.T) {
	scans := regexp.MustCompile(`semgrep"? ci\b`)
	for _, w := range setupTabs("https://ours.example:8443", true, "", "") {
		all := ""
		for _, b := range w.Blocks {
			all += b.Text
			for line := range strings.Lines(b.Text) {
				if scans.MatchString(line) && !strings.Contains(line, " ci --oss-only --no-suppress-errors") {
					t.Errorf("%s lacks the flags that matter: %s", w.Key, line)
				}
			}
		}
		for text, want := range map[string]bool{"https://ours.example:8443": true, "TOKEN": true, exampleServer: false, "YOUR_": false} {
			if strings.Contains(all, text) != want {
				t.Errorf("%s contains %q: want %v", all, text, want)
			}
		}
	}
}

// TestSetupCommandsQuoteAddress checks the quoting of addresses, which may come from a request. A shell
// reads the address as one word and a document as one string.
func TestSetupCommandsQuoteAddress(t *testing.T) {
	for _, address := range []string{"http://a.example", `http://a';touch${IFS}x;'b`, "http://a$(touch x)b", "http://a`touch x`", `http://a"b c\d`, "http://a#b: c"} {
		for _, w := range setupTabs(address, false, "", "") {
			for _, b := range w.Blocks {
				switch path.Ext(b.file) {
				case ".sh":
					at := strings.Index(b.Text, "_URL=")
					if at < 0 {
						continue
					}
					word, _, _ := strings.Cut(b.Text[at+len("_URL="):], "\n")
					cmd := exec.CommandContext(t.Context(), "sh", "-c", "X="+word+"; printf %s \"$X\"")
					cmd.Dir = t.TempDir()
					out, err := cmd.CombinedOutput()
					if left, _ := os.ReadDir(cmd.Dir); string(out) != address || err != nil || len(left) > 0 {
						t.Errorf("%s of %s is %q to a shell, which made %v: %v", b.file, address, out, left, err)
					}
				case ".yaml":
					var doc any
					if err := yaml.Unmarshal([]byte(b.Text), &doc); err != nil || !strings.Contains(fmt.Sprint(doc), "SEMGREP_URL:"+address+" ") && !strings.Contains(fmt.Sprint(doc), "SEMGREP_URL:"+address+"]") {
						t.Errorf("%s of %s says %v: %v", b.file, address, doc, err)
					}
				case ".groovy":
					if m := regexp.MustCompile(`SEMGREP_URL = '((?:[^'\\]|\\.)*)'\n`).FindStringSubmatch(b.Text); m == nil || strings.NewReplacer(`\\`, `\`, `\'`, `'`).Replace(m[1]) != address {
						t.Errorf("%s of %s has %q", b.file, address, m)
					}
				}
			}
		}
	}
}
