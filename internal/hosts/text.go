package hosts

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/redoubt/redoubt/internal/model"
)

// item is a finding that is reported at a change request.
type item struct {
	ref      string // the ref with the finding
	scan     int64
	lineage  int64
	finding  int64
	rule     string
	path     string
	line     int
	severity model.Severity
	unrated  bool // the vulnerability has no rating, so medium is used
	message  string
	blocks   bool
}

// read reads the fields that only the body contains; see model.Body.
func (i *item) read(body []byte) error {
	i.unrated = model.BodyUnrated(body)
	if value := model.BodyMessage(body); value != nil {
		return json.Unmarshal(value, &i.message)
	}
	return nil
}

// rating returns the severity for display.
func (i item) rating() string {
	if i.unrated {
		return model.NotRated
	}
	return i.severity.String()
}

// punctuation contains the characters with a meaning in Markdown.
const punctuation = "\\`*_{}[]<>()#+-.!|~&$:\"'=^/"

// plain escapes untrusted text as Markdown: the result has no formatting, mentions or links. It is
// cut at most runes.
func plain(s string, most int) string {
	s = model.Line(strings.Join(strings.Fields(s), " "))
	if r := []rune(s); len(r) > most {
		s = string(r[:most]) + "…"
	}
	var b strings.Builder
	for _, r := range s {
		if strings.ContainsRune(punctuation, r) {
			b.WriteByte('\\')
		}
		b.WriteRune(r)
		// hosts detect names, numbers and addresses after rendering, too
		if r == '@' || r == '#' || r == '!' || r == ':' || r == '.' {
			b.WriteRune('\u200b')
		}
	}
	return b.String()
}

// code formats untrusted text as inline code. It is cut at most runes.
func code(s string, most int) string {
	s = strings.ReplaceAll(model.Line(s), "`", "'")
	if r := []rune(s); len(r) > most {
		s = string(r[:most]) + "…"
	}
	if strings.TrimSpace(s) == "" {
		return "?"
	}
	return "`" + s + "`"
}

func (i item) verdict() string {
	if i.blocks {
		return "blocks this change"
	}
	return "does not block"
}

// lineText returns the comment on the line of a finding.
func lineText(i item, page func(int64) string, replies bool, of origin) string {
	hint := ""
	if replies {
		hint = " · Reply `/redoubt help` to list the commands."
	}
	return fmt.Sprintf("**%s** · %s · %s\n\n%s\n\n[View finding](%s)%s\n%s",
		code(i.rule, 200), i.rating(), i.verdict(), plain(i.message, 1500), page(i.finding), hint,
		mark{lineage: i.lineage, of: of})
}

// resolvedText returns the text of a resolved comment, for hosts that cannot resolve threads.
func resolvedText(body string, lineage int64, of origin) string {
	body = withoutMark(body)
	return fmt.Sprintf("**Resolved:** the finding is fixed or ignored.\n\n<details><summary>Original "+
		"comment</summary>\n\n%s\n\n</details>\n%s", body, mark{lineage: lineage, resolved: true, of: of})
}

// maxListed is the maximum number of findings in a summary.
const maxListed = 50

// summaryText returns the summary of a change request. uncommented contains the findings without a
// comment on a line.
func summaryText(all, uncommented []item, page func(int64) string, blocking string, of origin) string {
	count := func(blocks bool) (n int) {
		for _, i := range all {
			if i.blocks == blocks {
				n++
			}
		}
		return n
	}
	var b strings.Builder
	switch stop, note := count(true), count(false); {
	case stop > 0:
		fmt.Fprintf(&b, "### Redoubt: %s\n\nA policy blocks this change. [View blocking findings](%s)\n",
			counted(stop, note), blocking)
	case note > 0:
		fmt.Fprintf(&b, "### Redoubt: %s\n\nNo findings block this change.\n", counted(stop, note))
	default:
		b.WriteString("### Redoubt: no findings\n\nEarlier findings are fixed or ignored.\n")
	}
	if len(uncommented) > 0 {
		uncommented = slices.Clone(uncommented)
		slices.SortStableFunc(uncommented, func(a, b item) int { return int(b.severity) - int(a.severity) })
		b.WriteString("\n| severity | finding | location |\n|---|---|---|\n")
		for _, i := range uncommented[:min(len(uncommented), maxListed)] {
			fmt.Fprintf(&b, "| %s | [%s](%s) `#%d` | %s |\n", i.rating(), cell(code(i.rule, 100)), page(i.finding), i.finding,
				cell(code(fmt.Sprintf("%s:%d", i.path, i.line), 200)))
		}
		if more := len(uncommented) - maxListed; more > 0 {
			fmt.Fprintf(&b, "\nAnd %d more.\n", more)
		}
	}
	return b.String() + "\n" + mark{of: of}.String()
}

// cell escapes the column separator of tables.
func cell(s string) string { return strings.ReplaceAll(s, "|", "¦") }

func counted(blocking, noted int) string {
	switch {
	case blocking == 0 && noted == 0:
		return "no blocking findings"
	case noted == 0:
		return fmt.Sprintf("%d blocking", blocking)
	case blocking == 0:
		return fmt.Sprintf("no blocking findings; %d commented", noted)
	}
	return fmt.Sprintf("%d blocking; %d commented", blocking, noted)
}
