package hosts

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/redoubt/redoubt/internal/model"
)

// item is a finding that a change request is told of.
type item struct {
	ref      string // that has it
	scan     int64
	lineage  int64
	finding  int64
	rule     string
	path     string
	line     int
	severity model.Severity
	unrated  bool // nobody rates the vulnerability, so that medium stands in
	message  string
	blocks   bool
}

// read takes what only the body tells; see model.Body.
func (i *item) read(body []byte) error {
	i.unrated = model.BodyUnrated(body)
	if value := model.BodyMessage(body); value != nil {
		return json.Unmarshal(value, &i.message)
	}
	return nil
}

// rating is what people read of how severe it is.
func (i item) rating() string {
	if i.unrated {
		return model.NotRated
	}
	return i.severity.String()
}

// punctuation is what Markdown may obey.
const punctuation = "\\`*_{}[]<>()#+-.!|~&$:\"'=^/"

// plain is a text that others wrote, as Markdown that says just that: it formats
// nothing, calls nobody, and links to nothing.
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
		// hosts look for names, numbers and addresses behind what they rendered
		if r == '@' || r == '#' || r == '!' || r == ':' || r == '.' {
			b.WriteRune('\u200b')
		}
	}
	return b.String()
}

// code is a text that others wrote, as code.
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
	return "for your attention"
}

// lineText is the comment on a finding's line.
func lineText(i item, page func(int64) string, replies bool, of origin) string {
	hint := ""
	if replies {
		hint = " · Answer `/redoubt help` to decide about it here."
	}
	return fmt.Sprintf("**%s** · %s · %s\n\n%s\n\n[What it is, and what to do](%s)%s\n%s",
		code(i.rule, 200), i.rating(), i.verdict(), plain(i.message, 1500), page(i.finding), hint,
		mark{lineage: i.lineage, of: of})
}

// settledText is what becomes of that comment where the host cannot fold it away.
func settledText(body string, lineage int64, of origin) string {
	body = withoutMark(body)
	return fmt.Sprintf("**Settled:** it is fixed or ignored by now.\n\n<details><summary>What it "+
		"was</summary>\n\n%s\n\n</details>\n%s", body, mark{lineage: lineage, settled: true, of: of})
}

// maxListed is how many findings a summary names.
const maxListed = 50

// summaryText is the one comment about all of a change request. Apart are findings that
// have no comment of their own.
func summaryText(all, apart []item, page func(int64) string, blocking string, of origin) string {
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
		fmt.Fprintf(&b, "### Redoubt: %s\n\nA policy blocks this change. [What blocks, and what to do](%s)\n",
			counted(stop, note), blocking)
	case note > 0:
		fmt.Fprintf(&b, "### Redoubt: %s\n\nNothing blocks this change.\n", counted(stop, note))
	default:
		b.WriteString("### Redoubt: no findings\n\nWhat was found before is fixed or ignored.\n")
	}
	if len(apart) > 0 {
		apart = slices.Clone(apart)
		slices.SortStableFunc(apart, func(a, b item) int { return int(b.severity) - int(a.severity) })
		b.WriteString("\n| severity | finding | where |\n|---|---|---|\n")
		for _, i := range apart[:min(len(apart), maxListed)] {
			fmt.Fprintf(&b, "| %s | [%s](%s) `#%d` | %s |\n", i.rating(), cell(code(i.rule, 100)), page(i.finding), i.finding,
				cell(code(fmt.Sprintf("%s:%d", i.path, i.line), 200)))
		}
		if more := len(apart) - maxListed; more > 0 {
			fmt.Fprintf(&b, "\nAnd %d more.\n", more)
		}
	}
	return b.String() + "\n" + mark{of: of}.String()
}

// cell keeps a text within its cell of a table.
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
