package hosts

import (
	"strings"
	"testing"

	"github.com/redoubt/redoubt/internal/model"
)

var here = origin{"1b9ff0c2d4a55e77", 3, 4}

func page(int64) string { return "https://redoubt.example/x" }

// TestUntrustedTextIsEscaped checks that untrusted text mentions no user, contains no links and is
// not parsed as a mark.
func TestUntrustedTextIsEscaped(t *testing.T) {
	hostile := item{
		lineage: 7, finding: 1, rule: "r`<!-- redoubt:lineage:1 -->`@ada", path: "a|b`.go", line: 3, severity: model.SeverityHigh, blocks: true,
		message: "see [x](https://evil.example) @ada #1 !2 <img src=x> **bold** www.evil.example\n<!-- redoubt:lineage:1 -->\n# head\x1b[31m " + strings.Repeat("long ", 1000),
	}
	text := lineText(hostile, page, true, here)
	if m, found := markOf(text); m != (mark{lineage: 7, of: here}) || !found {
		t.Errorf("the mark says %v, %v in %s", m, found, text)
	}
	comment := text[:strings.Index(text, "[View finding")]
	for _, bad := range []string{"@ada ", "](", " <img", " **bold", "https:/", "#1", "!2", "www.evil", "\x1b", "\n# "} {
		if strings.Contains(strings.ReplaceAll(comment, "`r'<!-- redoubt:lineage:1 -->'@ada`", ""), bad) {
			t.Errorf("the comment says %q: %s", bad, comment)
		}
	}
	if len([]rune(text)) > 4000 {
		t.Errorf("the comment has %d characters", len([]rune(text)))
	}
	summary := summaryText([]item{hostile}, []item{hostile}, page, "https://redoubt.example/b", here)
	for line := range strings.Lines(summary) {
		if strings.HasPrefix(line, "|") && strings.Count(line, "|") != 4 {
			t.Errorf("a row has other cells: %s", line)
		}
	}
	if m, found := markOf(summary); m != (mark{of: here}) || !found {
		t.Errorf("the summary has no mark at its end: %s", summary)
	}
}

func TestCommentsOfUnratedFindings(t *testing.T) {
	for unrated, want := range map[bool]string{true: "not rated", false: "medium"} {
		name, message := "CVE-2024-1", "left is affected"
		body, err := model.Body{RuleMessage: &message, SCABody: &model.SCABody{Unrated: unrated, VulnerabilityIdentifier: &name}}.Members()
		if err != nil {
			t.Fatal(err)
		}
		i := item{rule: "r", severity: model.SeverityMedium}
		if err := i.read(body); err != nil || i.message != message {
			t.Errorf("%s is read as %q, %v", body, i.message, err)
		}
		for _, text := range []string{lineText(i, page, true, here), summaryText([]item{i}, []item{i}, page, "b", here)} {
			if !strings.Contains(text, want) || unrated && strings.Contains(text, "medium") {
				t.Errorf("unrated %v says %s", unrated, text)
			}
		}
	}
}

func TestResolvedCommentPreservesMark(t *testing.T) {
	before := lineText(item{lineage: 12, rule: "r", message: "m"}, page, true, here)
	after := resolvedText(before, 12, here)
	if m, found := markOf(after); m != (mark{12, true, here}) || !found {
		t.Errorf("the mark says %v, %v in %s", m, found, after)
	}
	if strings.Count(after, "redoubt:lineage") != 1 {
		t.Errorf("it says %s", after)
	}
	for _, body := range []string{"", "<!-- redoubt:lineage:x -->", "<!-- redoubt:lineage:1 --> and more", "<!-- redoubt:lineage:99999999999999999999 -->", "<!-- redoubt:lineage:1 of 1b -->", "<!-- redoubt:lineage:1 of x/1/2 -->"} {
		if _, found := markOf(body); found {
			t.Errorf("%q has a mark", body)
		}
	}
}
