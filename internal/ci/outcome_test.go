package ci_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/redoubt/redoubt/internal/ci"
)

// hostile is a name with many control characters.
const hostile = "a\r\n::error file=x::pwned\n| ![x](http://evil) <script> `c` ,title=y:%0A\x1b[31m\u202e"

func outcome(names ...string) *ci.Outcome {
	o := &ci.Outcome{Version: 1, System: "github-actions", Deployment: "acme", Project: "acme/app", Ref: "refs/heads/main", URL: "https://r.example/f", Blocked: true, Reason: "because " + hostile}
	for i, name := range names {
		f := ci.Finding{ID: int64(i + 1), URL: fmt.Sprintf("https://r.example/%d", i+1), Rule: name, Path: "src/" + name, Line: i, Change: "new"}
		o.New = append(o.New, f)
		if i == 0 {
			f.Text, f.Condition, f.Mode = "t"+name, name, "block"
			o.Blocking = append(o.Blocking, f)
			f.ID, f.Mode = 100, "comment"
			o.Noted = append(o.Noted, f)
		}
	}
	return o
}

func TestAnnotations(t *testing.T) {
	got := outcome("eval", "x=y,z:100%").Annotations()
	want := "::error file=src/eval,title=eval::Blocks this build: teval https://r.example/1\n" +
		"::warning file=src/eval,title=eval::Review: teval https://r.example/1\n" +
		"::warning file=src/x=y%2Cz%3A100%25,line=1,title=x=y%2Cz%3A100%25::New: x=y,z:100%25 https://r.example/2\n"
	if got != want {
		t.Errorf("%s\nwant\n%s", got, want)
	}
}

// TestOutputOfConditionModes checks that findings matched in mode comment are shown once, before other
// new findings. Those in mode monitor are only in the JSON.
func TestOutputOfConditionModes(t *testing.T) {
	o := outcome()
	o.Blocked, o.Reason = false, ""
	one := ci.Finding{ID: 1, URL: "https://r.example/1", Rule: "CVE-2026-1", Path: "go.sum", Line: 3, Mode: "comment", Condition: "condition 1 of sc: direct", Text: "lib 1.0 has CVE-2026-1 at go.sum:3 (fixed in 1.1; condition 1 of sc: direct)"}
	two := ci.Finding{ID: 2, URL: "https://r.example/2", Rule: "CVE-2026-2", Path: "go.sum", Line: 4, Mode: "monitor", Condition: "condition 2 of sc: low or worse", Text: "other"}
	o.Noted = []ci.Finding{one, two}
	o.New = []ci.Finding{{ID: 2, URL: two.URL, Rule: two.Rule, Path: two.Path, Line: 4}, {ID: 1, URL: one.URL, Rule: one.Rule, Path: one.Path, Line: 3}}
	want := "::warning file=go.sum,line=3,title=CVE-2026-1::Review: lib 1.0 has CVE-2026-1 at go.sum:3 (fixed in 1.1; condition 1 of sc: direct) https://r.example/1\n" +
		"::warning file=go.sum,line=4,title=CVE-2026-2::New: CVE-2026-2 https://r.example/2\n"
	if got := o.Annotations(); got != want {
		t.Errorf("%s\nwant\n%s", got, want)
	}
	sarif, err := o.SARIF("1")
	quality, err2 := o.CodeQuality()
	if err != nil || err2 != nil {
		t.Fatal(err, err2)
	}
	for what, text := range map[string]string{"the text": o.Text(), "the summary": o.Summary(), "SARIF": string(sarif), "code quality": string(quality)} {
		if strings.Count(text, "fixed in 1.1; condition 1 of sc") != 1 || strings.Contains(text, "other") || strings.Contains(text, "lock") && strings.Contains(text, `"error"`) {
			t.Errorf("%s:\n%s", what, text)
		}
	}
	if !strings.Contains(o.Text(), "Review: 1\n") || !strings.Contains(o.Summary(), "1 to review, 0 blocking") || strings.Contains(string(quality), "blocker") {
		t.Errorf("%s\n%s\n%s", o.Text(), o.Summary(), quality)
	}
}

// TestRemovedDependenciesWithoutLockfiles checks that removed dependencies are shown without
// remaining lockfiles. Sources without lockfiles do not mention them.
func TestRemovedDependenciesWithoutLockfiles(t *testing.T) {
	for _, c := range []struct {
		of   ci.Source
		want string
	}{
		{ci.Source{Name: "lockfile", Removed: 298, Dropped: []string{"go.mod"}}, "lockfile: 0 new, 0 fixed, 0 unchanged; 0 lockfiles, 0 dependencies added, 298 removed\n  removed: go.mod\n"},
		{ci.Source{Name: "lockfile", Lockfiles: 1}, "lockfile: 0 new, 0 fixed, 0 unchanged; 1 lockfiles, 0 dependencies added, 0 removed\n"},
		{ci.Source{Name: "gosec", New: 1}, "gosec: 1 new, 0 fixed, 0 unchanged\n"},
	} {
		if text := (&ci.Outcome{Sources: []ci.Source{c.of}}).Text(); !strings.HasPrefix(text, c.want) {
			t.Errorf("%+v: %q", c.of, text)
		}
	}
}

// TestNamesCannotInjectCommands checks that no name in a report can inject a workflow command, a row or a
// link.
func TestNamesCannotInjectCommands(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		name := hostile
		if rapid.Bool().Draw(t, "drawn") {
			name = rapid.StringOf(rapid.RuneFrom([]rune("a:%,\r\n|`<>[]!()\\\x1b\u202e"))).Draw(t, "name")
		}
		o := outcome(name, "other")
		for line := range strings.SplitSeq(strings.TrimSuffix(o.Annotations(), "\n"), "\n") {
			head, _, ok := strings.Cut(strings.TrimPrefix(line, "::"), "::")
			if !ok || strings.ContainsAny(line, "\r") || strings.Count(head, ",") > 2 || !strings.HasPrefix(head, "error file=src/") && !strings.HasPrefix(head, "warning file=src/") {
				t.Fatalf("%q", line)
			}
		}
		if lines := strings.Count(o.Annotations(), "\n"); lines != 3 {
			t.Fatalf("%d annotations", lines)
		}
		text := o.Text()
		if strings.Contains(text, "\n::") || strings.ContainsAny(text, "\r\x1b\u202e") || strings.Count(text, "\n") != strings.Count(outcome("a", "other").Text(), "\n") {
			t.Fatalf("%q", text)
		}
		summary := o.Summary()
		for line := range strings.SplitSeq(summary, "\n") {
			if strings.HasPrefix(line, "| [") && strings.Count(line, "|") != 4 || strings.Contains(line, "<script") || strings.Count(line, "](") > 1 {
				t.Fatalf("%q", line)
			}
		}
	})
}

func TestDocuments(t *testing.T) {
	o := outcome(hostile, "two words")
	o.Blocking[0].Path, o.New[0].Path = "src/a b.go", "src/a b.go"
	text, err := o.SARIF("1.0")
	if err != nil {
		t.Fatal(err)
	}
	var sarif struct {
		Version string
		Runs    []struct {
			Tool struct {
				Driver struct{ Rules []struct{ ID string } }
			}
			Results []struct {
				RuleID    string
				RuleIndex int
				Level     string
				Locations []struct {
					PhysicalLocation struct {
						ArtifactLocation struct{ URI string }
						Region           struct{ StartLine int }
					}
				}
			}
		}
	}
	if err := json.Unmarshal(text, &sarif); err != nil || sarif.Version != "2.1.0" || len(sarif.Runs) != 1 || len(sarif.Runs[0].Results) != 3 {
		t.Fatalf("%v: %s", err, text)
	}
	first, second := sarif.Runs[0].Results[0], sarif.Runs[0].Results[2]
	if first.Level != "error" || second.Level != "warning" || first.Locations[0].PhysicalLocation.ArtifactLocation.URI != "src/a%20b.go" ||
		second.Locations[0].PhysicalLocation.Region.StartLine != 1 || sarif.Runs[0].Tool.Driver.Rules[second.RuleIndex].ID != second.RuleID {
		t.Errorf("%s", text)
	}
	text, err = o.CodeQuality()
	var issues []struct {
		Fingerprint, Severity string
		Location              struct {
			Path  string
			Lines struct{ Begin int }
		}
	}
	if err != nil || json.Unmarshal(text, &issues) != nil || len(issues) != 3 || issues[0].Severity != "blocker" || issues[1].Severity != "major" || issues[0].Location.Lines.Begin != 1 || issues[0].Fingerprint == issues[1].Fingerprint {
		t.Errorf("%v: %s", err, text)
	}
	if got := string(o.Dotenv()); got != "REDOUBT_BLOCKED=true\nREDOUBT_NEW=2\nREDOUBT_FIXED=0\nREDOUBT_BLOCKING=1\nREDOUBT_URL_FINDINGS=https://r.example/f\n" {
		t.Errorf("%s", got)
	}
}
