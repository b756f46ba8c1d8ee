package ci

import (
	"cmp"
	"fmt"
	"html"
	"strings"
)

// Annotations returns GitHub workflow commands that annotate lines. Blocking findings are errors;
// commented and new ones are warnings. Names are escaped, so that they cannot inject commands.
func (o *Outcome) Annotations() string {
	var b strings.Builder
	annotated := map[int64]bool{}
	note := func(level, text string, f Finding) {
		fmt.Fprintf(&b, "::%s file=%s", level, escapeProperty(f.Path))
		if f.Line > 0 {
			fmt.Fprintf(&b, ",line=%d", f.Line)
		}
		fmt.Fprintf(&b, ",title=%s::%s\n", escapeProperty(f.Rule), escapeData(text+" "+f.URL))
	}
	for _, kind := range []struct {
		level, text string
		of          []Finding
	}{
		{"error", "Blocks this build: ", o.Blocking},
		{"warning", "Review: ", o.commentFindings()},
		{"warning", "New: ", o.New},
	} {
		for _, f := range kind.of[:min(len(kind.of), maxShown)] {
			if !annotated[f.ID] || f.ID == 0 {
				annotated[f.ID] = true
				note(kind.level, kind.text+cmp.Or(f.Text, f.Rule), f)
			}
		}
	}
	return b.String()
}

var (
	dataEscapes     = strings.NewReplacer("%", "%25", "\r", "%0D", "\n", "%0A")
	propertyEscapes = strings.NewReplacer("%", "%25", "\r", "%0D", "\n", "%0A", ":", "%3A", ",", "%2C")
)

// escapeData and escapeProperty escape text as the GitHub runner decodes it.
func escapeData(s string) string     { return dataEscapes.Replace(s) }
func escapeProperty(s string) string { return propertyEscapes.Replace(s) }

// Summary returns the job summary in Markdown.
func (o *Outcome) Summary() string {
	var b strings.Builder
	verdict := "passes"
	switch {
	case o.Blocked:
		verdict = "blocks this build"
	case len(o.Trouble) > 0:
		verdict = "could not evaluate this build"
	}
	fmt.Fprintf(&b, "## Redoubt %s\n\n%s on %s: %d new, %d fixed, %d to review, %d blocking. [All findings](%s)\n",
		verdict, codeSpan(o.Project), codeSpan(o.Ref), len(o.New), len(o.Fixed), len(o.commentFindings()),
		len(o.Blocking), o.URL)
	for _, page := range o.Unblock {
		fmt.Fprintf(&b, "\n[View blocking findings](%s)\n", page)
	}
	for _, t := range o.Trouble {
		fmt.Fprintf(&b, "\n- %s\n", codeSpan(t))
	}
	for _, list := range []struct {
		title string
		of    []Finding
	}{{"Blocking", o.Blocking}, {"Review", o.commentFindings()}, {"New", o.New}, {"Fixed", o.Fixed}} {
		if len(list.of) == 0 {
			continue
		}
		fmt.Fprintf(&b, "\n### %s\n\n| finding | rule | location |\n|---|---|---|\n", list.title)
		for _, f := range list.of[:min(len(list.of), maxShown)] {
			rule := codeSpan(f.Rule)
			if f.Text != "" {
				rule += "<br>" + codeSpan(f.Text)
			}
			fmt.Fprintf(&b, "| [%d](%s) | %s | %s |\n", f.ID, f.URL, rule, codeSpan(f.location()))
		}
		if more := len(list.of) - maxShown; more > 0 {
			fmt.Fprintf(&b, "\nand %d more\n", more)
		}
	}
	return b.String()
}

// codeSpan formats text as code in HTML. Markdown characters are encoded as character references,
// including the column separator of tables.
func codeSpan(s string) string {
	s = html.EscapeString(singleLine(s))
	for _, mark := range []string{"|", "`", "*", "_", "[", "]", "!", "\\", "~", "@"} {
		s = strings.ReplaceAll(s, mark, fmt.Sprintf("&#x%x;", mark[0]))
	}
	return "<code>" + s + "</code>"
}
