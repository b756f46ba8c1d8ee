package updater

import (
	"bytes"
	"context"
	"io"
	"net/http/httptest"
	"os"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/redoubt/redoubt/internal/cli/command"
	"github.com/redoubt/redoubt/internal/testutil/advisorytest"
)

func testApp(out io.Writer) *command.App {
	return &command.App{Ctx: context.Background(), Out: out, Err: io.Discard, Clock: time.Now, Getenv: os.Getenv, Environ: os.Environ}
}

// output runs the command and returns its output.
func (c advisoriesUpdateCmd) output(t *testing.T) (string, error) {
	t.Helper()
	var out bytes.Buffer
	err := c.Run(testApp(&out))
	return out.String(), err
}

var figure = regexp.MustCompile(`\b\d+\b`)

// figures returns the numbers in the line about a source, in order.
func figures(out, source string) string {
	_, rest, _ := strings.Cut(out, source+":")
	line, _, _ := strings.Cut(rest, "\n")
	return strings.Join(figure.FindAllString(line, -1), " ")
}

func TestUpdateFromPublisher(t *testing.T) {
	p := &advisorytest.Publisher{Tag: `"one"`, Files: map[string][]byte{
		"/npm/all.zip":       advisorytest.Archive(t, map[string]string{"A-1": advisorytest.OSVRecord("A-1", "a", "1.0.0"), "A-2": advisorytest.OSVRecord("A-2", "b", "1.0.0"), "bad": "{"}),
		"/crates.io/all.zip": advisorytest.Archive(t, map[string]string{"C-1": advisorytest.OSVRecord("C-1", "c", "1.0.0")}),
	}}
	h := httptest.NewServer(p)
	defer h.Close()
	c := advisoriesUpdateCmd{Archives: h.URL, Ecosystems: []string{"npm", "cargo"}}
	c.Data = t.TempDir()
	counts := func(what, npm, crates string) {
		t.Helper()
		out, err := c.output(t)
		if got := figures(out, "/npm/all.zip"); err != nil || got != npm {
			t.Errorf("%s: of npm %q, want %q: %v\n%s", what, got, npm, err, out)
		}
		if got := figures(out, "/crates.io/all.zip"); got != crates {
			t.Errorf("%s: of crates.io %q, want %q:\n%s", what, got, crates, out)
		}
		if refused := strings.Contains(out, "bad.json"); refused != (npm == "2 2 1") {
			t.Errorf("%s: bad.json is named: %v\n%s", what, refused, out)
		}
	}
	counts("the first update", "2 2 1", "1 1 0") // records, new or changed, rejected
	p.Requests = nil
	counts("nothing new", "", "")
	if tag := p.Requests[0].Get("If-None-Match"); tag != `"one"` || p.Requests[0].Get("If-Modified-Since") == "" {
		t.Errorf("asked with %v", p.Requests[0])
	}

	p.Tag, p.Breaks = `"two"`, true
	p.Files["/npm/all.zip"] = advisorytest.Archive(t, map[string]string{"A-1": advisorytest.OSVRecord("A-1", "a", "1.0.0"), "A-2": advisorytest.OSVRecord("A-2", "b", "2.0.0"), "A-3": advisorytest.OSVRecord("A-3", "c", "1.0.0")})
	c.Ecosystems = []string{"npm"}
	if out, err := c.output(t); err == nil || !strings.Contains(err.Error(), "/npm/all.zip") {
		t.Errorf("a download that breaks off: %q %v", out, err)
	}
	p.Breaks, p.Requests = false, nil
	counts("after it broke off", "3 2 0", "")
	if r := p.Requests[0]; r.Get("Range") == "" || r.Get("If-Range") != `"two"` {
		t.Errorf("it did not go on with the part: %v", r)
	}

	delete(p.Files, "/npm/all.zip")
	c.Ecosystems = []string{"npm", "cargo"}
	c.Force = true
	out, err := c.output(t)
	if err == nil || !strings.Contains(err.Error(), "404") || figures(out, "/crates.io/all.zip") != "1 0 0" {
		t.Errorf("a source that fails stops another: %q %v", out, err)
	}
	var status bytes.Buffer
	if err := (advisoriesStatusCmd{storageOnly{c.Storage}}).Run(testApp(&status)); err != nil || !strings.Contains(status.String(), "4 advisories (0 withdrawn)") {
		t.Errorf("%s %v", status.String(), err)
	}
}
