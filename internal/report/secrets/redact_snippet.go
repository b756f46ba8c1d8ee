package secrets

import (
	"regexp"
	"slices"
	"strings"

	"github.com/redoubt/redoubt/internal/model"
	"github.com/redoubt/redoubt/internal/redact"
)

// Blanker redacts source code as a Reading redacts reports (docs/reference/secrets.md), and
// preserves the number of lines. The zero Blanker is ready to use.
type Blanker struct {
	redactor *Redactor
	known    *redact.Known // nil until the next text
}

// NewBlanker returns a Blanker with the secrets of a redactor.
func NewBlanker(r *Redactor) *Blanker { return &Blanker{redactor: r} }

func (b *Blanker) secrets() *Redactor {
	if b.redactor == nil {
		b.redactor = NewRedactor(nil)
	}
	b.known = nil
	return b.redactor
}

// Secret registers the code of a secret finding, which is redacted in all texts.
func (b *Blanker) Secret(code string) { b.secrets().Register(code) }

// Learn registers text in the format of a secret in a text such as a file.
func (b *Blanker) Learn(text string) { b.secrets().BlankText(text) }

// Blank redacts known secrets and text in the format of a secret. Secrets of several lines are
// recognized only if the text contains all of them.
func (b *Blanker) Blank(text string) string {
	if b.known == nil {
		r := b.secrets()
		r.preserveLines = true
		text = r.BlankText(text)
		b.known = redact.NewKnown(r.Complete, r.parts)
	} else {
		text = b.redactor.BlankText(text)
	}
	lines := strings.Split(text, "\n")
	for i, line := range lines {
		lines[i] = redact.Joined(b.known.Redact(line))
	}
	return strings.Join(lines, "\n")
}

var (
	anyQuoted = regexp.MustCompile("\"[^\"\n]+\"|'[^'\n]+'|`[^`\n]+`")
	anyValue  = regexp.MustCompile(`((?:^|[^=!<>])[=:]\s*)([^\s"'` + "`" + `=:][^\n]*)$`)
)

// BlankSnippet redacts the lines around a finding; first is the number of the first line. It
// redacts lines that contain a secret, all values around a secret, and all strings of a rule about
// secrets in code. It does not detect secrets by format, as Blanker does.
func BlankSnippet(lines []string, first int, of model.SnippetLocation, secrets []model.SnippetLocation) {
	hidden := make([]bool, len(lines))
	for _, p := range append(slices.Clip(secrets), of) {
		for i := range lines {
			hidden[i] = hidden[i] || (p.Secret && p.Covers(first+i))
		}
	}
	for i := range lines {
		switch {
		case hidden[i]:
			lines[i] = Redacted
		case of.Secret:
			lines[i] = anyQuoted.ReplaceAllStringFunc(lines[i], func(s string) string { return s[:1] + Redacted + s[:1] })
			lines[i] = anyValue.ReplaceAllString(lines[i], "${1}"+Redacted)
		case of.Strings:
			lines[i], _ = BlankStrings(lines[i])
		}
	}
}
