package ci

import (
	"bytes"
	"errors"
	"log/slog"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/redoubt/redoubt/internal/ci"
	"github.com/redoubt/redoubt/internal/cli/command"
	"github.com/redoubt/redoubt/internal/testutil/doctest"
)

// TestExitCodesOfCI checks that a run exits with the codes in redoubt-ci.md, and that its output
// states the same.
func TestExitCodesOfCI(t *testing.T) {
	codes := doctest.ExitCodes(t, "../../../docs/guides/redoubt-ci.md", "| exit code | means |")
	if diff := cmp.Diff([]string{"0", "1", "2"}, codes); diff != "" {
		t.Fatalf("docs/guides/redoubt-ci.md (-here +there):\n%s", diff)
	}
	unread := []ci.UnreadFile{{Name: "a/uv.lock", Reason: "it is cut off"}}
	for name, test := range map[string]struct {
		blocked, open bool
		trouble       []string
		unread        []ci.UnreadFile
		code          int
		want          string
	}{
		"passes":                {code: ciPasses},
		"blocked":               {blocked: true, code: ciBlocked, want: "BLOCKED"},
		"blocked beside others": {blocked: true, open: true, trouble: []string{"x"}, code: ciBlocked, want: "BLOCKED"},
		"trouble":               {trouble: []string{"no server"}, code: ciTrouble, want: "no server"},
		"trouble, open":         {trouble: []string{"no server"}, open: true, code: ciPasses, want: "NOT CHECKED"},
		"unread":                {trouble: []string{"a/uv.lock"}, unread: unread, code: ciTrouble, want: "a/uv.lock"},
		"unread, open":          {trouble: []string{"a/uv.lock"}, unread: unread, open: true, code: ciPasses, want: "ONLY PARTLY CHECKED"},
	} {
		var out, stderr bytes.Buffer
		b := &build{Command: Command{FailOpen: test.open}, App: &command.App{Ctx: t.Context(), Out: &out, Err: &stderr, Clock: time.Now, Log: slog.New(slog.DiscardHandler), Getenv: os.Getenv, Environ: os.Environ}}
		b.result = ci.Outcome{Blocked: test.blocked, Trouble: test.trouble, Unread: test.unread}
		err := b.End()
		var ended *command.ExitError
		if errors.As(err, &ended) != (test.code != ciPasses) || ended != nil && ended.Code != test.code {
			t.Errorf("%s: %v, want code %d", name, err, test.code)
		}
		if b.result.ExitCode != test.code || !strings.Contains(stderr.String(), test.want) {
			t.Errorf("%s: the result says %d, and %q", name, b.result.ExitCode, stderr.String())
		}
	}
}
