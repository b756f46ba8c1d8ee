package ingest

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/redoubt/redoubt/internal/model"
	"github.com/redoubt/redoubt/internal/report"
)

// Reports of scanners for the small repository in testdata/pairs/_src. The command scripts/pairs
// recreates them.
const (
	semgrepJSON   = "semgrep.json"             // with a token: ids and code
	semgrepSilent = "semgrep-logged-out.json"  // neither
	semgrepSARIF  = "semgrep-logged-out.sarif" // code
	bandit        = "bandit.sarif"
	gosec         = "gosec.sarif"
	gitleaks      = "gitleaks.sarif"
)

var everyTool = []string{semgrepJSON, semgrepSilent, semgrepSARIF, bandit, gosec, gitleaks}

// pairsTable lists the expected matches by the change between two reports. Unlisted findings must
// match: they retain their id, possibly with another line or message.
var pairsTable = []struct {
	variant string
	tools   []string
	moved   string // match, and are reported as moved
	not     string // in the first report, must not match: fixed
	new     string // in the second report
}{
	// Lines above and function names are not part of a finding.
	{"lines-above", everyTool, "", "", ""},
	{"function-renamed", everyTool, "", "", ""},
	// Layout is not part of a finding.
	{"re-indented", everyTool, "", "", ""},
	// Rule metadata is not part of a finding if the finding has other distinguishing properties.
	{"severity", everyTool, "", "", ""},
	{"message", []string{semgrepJSON, semgrepSARIF, bandit, gosec, gitleaks}, "", "", ""},
	{"message", []string{semgrepSilent}, "", "same app.py:6", "same app.py:6"},
	{"rule-text", []string{semgrepJSON}, "same app.py:6", "", ""},
	{"rule-text", []string{semgrepSilent, semgrepSARIF, bandit, gosec, gitleaks}, "", "", ""},
	{"rules-in-folder", []string{semgrepJSON}, "md5 app.py:14, md5 main.go:10, same app.py:6, shell app.py:10, shell app.py:18, shell app.py:19", "", ""},
	// Comments that mute are not part of the code. If the report omits muted results, they look
	// fixed.
	{"nosem", []string{semgrepJSON, semgrepSARIF, bandit, gosec, gitleaks}, "", "", ""},
	{"nosem", []string{semgrepSilent}, "", "same app.py:6", ""},

	// Another variable makes other code. The scanner's id does not change if the pattern does not
	// bind the variable.
	{"variable-renamed", []string{semgrepJSON, semgrepSARIF, semgrepSilent}, "", "md5 main.go:10, same app.py:6", "md5 main.go:10, same app.py:6"},
	{"variable-renamed", []string{gosec}, "", "G401 main.go:10", "G401 main.go:10"},
	{"variable-renamed", []string{bandit, gitleaks}, "", "", ""},
	{"other-code", []string{semgrepJSON, semgrepSilent, semgrepSARIF}, "", "same app.py:6", "same app.py:6"},
	{"other-code", []string{bandit, gosec, gitleaks}, "", "", ""},

	// Of two equal findings in a file, one remains.
	{"one-of-two-gone", []string{semgrepJSON, semgrepSARIF}, "", "shell app.py:19", ""},
	// It is unknown which one is gone.
	{"one-of-two-gone", []string{semgrepSilent}, "", "shell app.py:18, shell app.py:19", "shell app.py:18"},
	{"one-of-two-gone", []string{bandit}, "", "B602 app.py:19, B607 app.py:19", ""},

	// Findings follow a moved file that retains its name, or that contains two different ones. A
	// single finding in another folder is new, and so is a copy.
	{
		"file-renamed",
		[]string{semgrepJSON, semgrepSARIF, semgrepSilent},
		"md5 service.py:14, same service.py:6, shell service.py:10, shell service.py:18, shell service.py:19",
		"md5 main.go:10",
		"md5 cmd/main.go:10",
	},
	{"file-renamed", []string{bandit}, "B324 service.py:14, B404 service.py:2, B602 service.py:10, B602 service.py:18, B602 service.py:19, B607 service.py:18, B607 service.py:19", "", ""},
	{"file-renamed", []string{gosec}, "G401 cmd/main.go:10, G501 cmd/main.go:4", "", ""},
	{"file-renamed", []string{gitleaks}, "", "token settings.ini:1", "token conf.ini:1"},
	{"file-copied", []string{semgrepJSON, semgrepSilent, semgrepSARIF}, "", "", "md5 copy.py:14, same copy.py:6, shell copy.py:10, shell copy.py:18, shell copy.py:19"},
	{"file-copied", []string{bandit}, "", "", "B324 copy.py:14, B404 copy.py:2, B602 copy.py:10, B602 copy.py:18, B602 copy.py:19, B607 copy.py:18, B607 copy.py:19"},
}

func TestPairsOfRealReports(t *testing.T) {
	for _, test := range pairsTable {
		for _, tool := range test.tools {
			t.Run(test.variant+" "+tool, func(t *testing.T) {
				m := newMemory()
				if sum := apply(t, m, pairUpload(t, "base", tool)); sum.New == 0 {
					t.Fatalf("the first report has nothing: %+v", sum)
				}
				sum := apply(t, m, pairUpload(t, test.variant, tool))
				want := map[ItemChange]string{ItemMoved: test.moved, ItemClosed: test.not, ItemNew: test.new}
				if diff := cmp.Diff(want, changesOf(sum)); diff != "" {
					t.Errorf("moved, closed, new (-want +got):\n%s", diff)
				}
			})
		}
	}
}

// TestPairsOfOneCommit checks that more and less detailed reports of one commit have the same
// findings, in any order.
func TestPairsOfOneCommit(t *testing.T) {
	for _, variant := range []string{"base", "lines-above", "re-indented"} {
		for _, first := range []string{semgrepJSON, semgrepSilent, semgrepSARIF} {
			for _, second := range []string{semgrepJSON, semgrepSilent, semgrepSARIF} {
				m := newMemory()
				apply(t, m, pairUpload(t, "base", first))
				for _, file := range []string{second, first, second} {
					sum := apply(t, m, pairUpload(t, variant, file))
					if diff := cmp.Diff(map[ItemChange]string{ItemMoved: "", ItemClosed: "", ItemNew: ""}, changesOf(sum)); diff != "" {
						t.Errorf("%s after %s, %s (-want +got):\n%s", file, first, variant, diff)
					}
				}
				if len(m.rows) != 6 || len(m.events) != 0 {
					t.Errorf("%s and %s, %s: %d rows, events %v", first, second, variant, len(m.rows), m.events)
				}
			}
		}
	}
}

// pairUpload returns a report as a declared full import.
func pairUpload(t *testing.T, variant, file string) Upload {
	t.Helper()
	return pairUploadBy(t, variant, file, nil)
}

// pairUploadBy is pairUpload with access to the sources.
func pairUploadBy(t *testing.T, variant, file string, source func(path string) string) Upload {
	t.Helper()
	data, err := os.ReadFile(filepath.Join("testdata/pairs", variant, file))
	if err != nil {
		t.Fatal(err)
	}
	reports, err := report.Read(bytes.NewReader(data), report.Options{Name: file, Key: []byte("a key of the tests"), Source: source})
	if err != nil {
		t.Fatal(err)
	}
	return Upload{Project: model.Project{Name: "acme/pairs"}, Ref: "main", Commit: variant + file, Full: true, DeclaredFull: true, Report: reports[0]}
}

// TestPairsWithCheckout reads a report without code together with the scanned files. Its findings
// must equal those of reports with code, and be as detailed.
func TestPairsWithCheckout(t *testing.T) {
	source := func(path string) string {
		data, err := os.ReadFile(filepath.Join("testdata/pairs/_src", path))
		if err != nil {
			return ""
		}
		return string(data)
	}
	for _, second := range []string{semgrepJSON, semgrepSilent, semgrepSARIF} {
		m := newMemory()
		sum := apply(t, m, pairUploadBy(t, "base", semgrepSilent, source))
		for _, row := range m.rows {
			if row.CodeHash == (model.Digest{}) || row.Identity.Kind != model.IdentityOwn {
				t.Errorf("%s:%d has no code", row.Path, row.Line)
			}
		}
		if diff := cmp.Diff(map[ItemChange]string{ItemMoved: "", ItemClosed: "", ItemNew: ""}, changesOf(apply(t, m, pairUpload(t, "base", second)))); diff != "" || sum.New != 6 {
			t.Errorf("%d new, then %s (-want +got):\n%s", sum.New, second, diff)
		}
	}
}

// changesOf lists moved, closed and new findings, without the folders of rules.
func changesOf(sum Summary) map[ItemChange]string {
	lists := map[ItemChange][]string{ItemMoved: nil, ItemClosed: nil, ItemNew: nil}
	for _, item := range sum.Items {
		if _, listed := lists[item.Change]; listed || item.Change == ItemReturned || item.Change == ItemRemoved {
			lists[item.Change] = append(lists[item.Change], fmt.Sprintf("%s %s:%d", lastPart(item.Rule), item.Path, item.Line))
		}
	}
	out := map[ItemChange]string{}
	for change, list := range lists {
		slices.Sort(list)
		out[change] = strings.Join(list, ", ")
	}
	return out
}
