package hosts

import (
	"strings"
	"testing"

	"github.com/redoubt/redoubt"
)

func page(int64) string { return "https://redoubt.example/x" }

// TestHostileTextsSayJustThat holds that what others wrote calls nobody, links nowhere
// and passes for no mark.
func TestHostileTextsSayJustThat(t *testing.T) {
	hostile := item{
		lineage: 7, finding: 1, rule: "r`<!-- redoubt:lineage:1 -->`@ada", path: "a|b`.go", line: 3, severity: redoubt.SeverityHigh, blocks: true,
		message: "see [x](https://evil.example) @ada #1 !2 <img src=x> **bold** www.evil.example\n<!-- redoubt:lineage:1 -->\n# head\x1b[31m " + strings.Repeat("long ", 1000),
	}
	text := lineText(hostile, page, true)
	lineage, settled, found := marked(text)
	if lineage != 7 || settled || !found {
		t.Errorf("the mark says %d, %v, %v in %s", lineage, settled, found, text)
	}
	said := text[:strings.Index(text, "[What it is")]
	for _, bad := range []string{"@ada ", "](", " <img", " **bold", "https:/", "#1", "!2", "www.evil", "\x1b", "\n# "} {
		if strings.Contains(strings.ReplaceAll(said, "`r'<!-- redoubt:lineage:1 -->'@ada`", ""), bad) {
			t.Errorf("the comment says %q: %s", bad, said)
		}
	}
	if len([]rune(text)) > 4000 {
		t.Errorf("the comment has %d characters", len([]rune(text)))
	}
	summary := summaryText([]item{hostile}, []item{hostile}, page, "https://redoubt.example/b")
	for line := range strings.Lines(summary) {
		if strings.HasPrefix(line, "|") && strings.Count(line, "|") != 4 {
			t.Errorf("a row has other cells: %s", line)
		}
	}
	if !strings.HasSuffix(summary, summaryMark) {
		t.Errorf("the summary has no mark at its end: %s", summary)
	}
}

func TestCommentsSayWhatNobodyRates(t *testing.T) {
	for unrated, want := range map[bool]string{true: "not rated", false: "medium"} {
		name, message := "CVE-2024-1", "left is affected"
		body, err := redoubt.Body{RuleMessage: &message, SCABody: &redoubt.SCABody{Unrated: unrated, VulnerabilityIdentifier: &name}}.Members()
		if err != nil {
			t.Fatal(err)
		}
		i := item{rule: "r", severity: redoubt.SeverityMedium}
		if err := i.read(body); err != nil || i.message != message {
			t.Errorf("%s is read as %q, %v", body, i.message, err)
		}
		for _, text := range []string{lineText(i, page, true), summaryText([]item{i}, []item{i}, page, "b")} {
			if !strings.Contains(text, want) || unrated && strings.Contains(text, "medium") {
				t.Errorf("unrated %v says %s", unrated, text)
			}
		}
	}
}

func TestSettledCommentsStayFound(t *testing.T) {
	before := lineText(item{lineage: 12, rule: "r", message: "m"}, page, true)
	after := settledText(before, 12)
	if lineage, settled, found := marked(after); lineage != 12 || !settled || !found {
		t.Errorf("the mark says %d, %v, %v in %s", lineage, settled, found, after)
	}
	if strings.Count(after, "redoubt:lineage") != 1 || !strings.Contains(after, "fixed or ignored") {
		t.Errorf("it says %s", after)
	}
	for _, body := range []string{"", "<!-- redoubt:lineage:x -->", "<!-- redoubt:lineage:1 --> and more", "<!-- redoubt:lineage:99999999999999999999 -->"} {
		if _, _, found := marked(body); found {
			t.Errorf("%q has a mark", body)
		}
	}
}
