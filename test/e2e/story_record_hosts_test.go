//go:build hosts && linux

package e2e

import (
	"fmt"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
	"text/tabwriter"

	"github.com/google/go-cmp/cmp"
)

// The page of the story, and the lines that enclose it.
const (
	storyPage  = "../../docs/guides/managed-scans-example.md"
	storyBegin = "<!-- What follows is recorded: make test-hosts compares it, and make transcript-hosts writes it again. -->\n"
	storyEnd   = "<!-- Here ends what is recorded. -->\n"
)

// storyTranscript is the text of the story. For each step it has the entered commands or the state of the
// host, and the output.
type storyTranscript struct {
	text  strings.Builder
	begun bool // a block of the step has begun
}

// step begins a step.
func (t *storyTranscript) step(name string) {
	t.close()
	fmt.Fprintf(&t.text, "\n%s%s:\n", strings.ToUpper(name[:1]), name[1:])
}

// add adds a command, or a line with the prefix # about the host, and its output.
func (t *storyTranscript) add(line, seen string) {
	if !t.begun {
		t.text.WriteString("\n```console\n")
		t.begun = true
	}
	t.text.WriteString(line + "\n" + seen)
	if seen != "" && !strings.HasSuffix(seen, "\n") {
		t.text.WriteString("\n")
	}
}

func (t *storyTranscript) close() {
	if t.begun {
		t.text.WriteString("```\n")
	}
	t.begun = false
}

// typed runs a command on the server's machine and adds it to the story.
func (s *story) typed(args ...string) string {
	s.Helper()
	output := s.redoubt(args...)
	words := slices.Clone(args)
	if at := slices.Index(words, "--connect-to"); at >= 0 { // needed only for a host on the same machine
		words = slices.Delete(words, at, at+2)
	}
	for i, w := range words {
		if strings.ContainsAny(w, "*! ") {
			words[i] = "'" + w + "'"
		}
	}
	s.transcript.add("$ redoubt "+s.maskValues(strings.Join(words, " ")), aligned(s.maskValues(output)))
	return output
}

// tableHead matches the header of a table whose columns are separated by two spaces.
var tableHead = regexp.MustCompile(`(?m)^[A-Z]+(  [A-Z]+)+$`)

// aligned aligns the columns of a table, without the ids.
func aligned(text string) string {
	at := tableHead.FindStringIndex(text)
	if at == nil {
		return text
	}
	var out strings.Builder
	to := tabwriter.NewWriter(&out, 0, 0, 2, ' ', 0)
	for i, line := range strings.Split(text[at[0]:], "\n") {
		cells := strings.Split(line, "  ")
		if i > 0 && strings.HasPrefix(text[at[0]:], "ID  ") {
			cells[0] = "…"
		}
		fmt.Fprintln(to, strings.Join(cells, "\t"))
	}
	_ = to.Flush() // a builder accepts all writes
	return text[:at[0]] + out.String()
}

// atHost adds the status of the newest commit, and new comments.
func (s *story) atHost(comments ...giteaNote) {
	s.Helper()
	st := s.statusOf(s.head)
	s.transcript.add("# at the host, beside the commit", s.maskValues(st.Context+"  "+st.Status+"  "+st.Description+"  "+st.TargetURL))
	slices.SortFunc(comments, func(a, b giteaNote) int { return strings.Compare(a.Path+a.Body, b.Path+b.Body) })
	for _, n := range comments {
		where := "the change request"
		if n.Path != "" {
			where = fmt.Sprintf("%s line %d", n.Path, n.Position)
		}
		s.transcript.add("# a comment of "+n.User.Login+" at "+where, s.maskValues(n.Body))
	}
}

// linesWith returns the lines of a text that contain a word.
func linesWith(text, word string) (out string) {
	for line := range strings.Lines(text) {
		if strings.Contains(line, word) {
			out += line
		}
	}
	return out
}

// blanks are the patterns of variable text and their replacements.
var blanks = []struct {
	is *regexp.Regexp
	to string
}{
	{regexp.MustCompile(`<!--[^>]*-->`), ""},
	{regexp.MustCompile(`\d{4}-\d\d-\d\d[T ]\d\d:\d\d(:\d\d)?(\.\d+)?Z?`), "…"},
	{regexp.MustCompile(`\b[0-9a-f]{12,64}\b`), "…"},
	{regexp.MustCompile(`(/scans/|/findings/|/runs/|finding:|"id":|"comment":"(line:)?|#)\d+`), "${1}…"},
	{regexp.MustCompile(`[^ ]*/bot\.token`), "bot.token"},
	{regexp.MustCompile(` {2,}`), "  "},
	{regexp.MustCompile(`[ \n]+\n`), "\n"},
}

func (s *story) maskValues(text string) string {
	text = strings.NewReplacer(s.gitea.URL, "https://git.example.com", s.proxy.URL, "https://redoubt.example.com").Replace(text)
	for _, b := range blanks {
		text = b.is.ReplaceAllString(text, b.to)
	}
	return strings.TrimSpace(text)
}

// compare compares the page with the story, or writes it with -record.
func (s *story) compare(t *testing.T) {
	s.transcript.close()
	page, err := os.ReadFile(storyPage)
	if err != nil {
		t.Fatal(err)
	}
	before, rest, is := strings.Cut(string(page), storyBegin)
	_, after, ends := strings.Cut(rest, storyEnd)
	if !is || !ends {
		t.Fatalf("%s has no marker for the record: %s%s", storyPage, storyBegin, storyEnd)
	}
	got := before + storyBegin + s.transcript.text.String() + "\n" + storyEnd + after
	if *record {
		if err := os.WriteFile(storyPage, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	} else if diff := cmp.Diff(string(page), got); diff != "" {
		t.Errorf("%s differs from the run; make transcript-hosts rewrites it (-page +run):\n%s", storyPage, diff)
	}
}
