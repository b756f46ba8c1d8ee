package secrets

import (
	"regexp"
	"slices"
	"strings"

	"github.com/redoubt/redoubt/internal/model"
	"github.com/redoubt/redoubt/internal/redact"
)

// Blanker takes secrets out of source code as a Reading takes them out of
// reports (docs/reference/secrets.md), and leaves every line where it was. The zero Blanker
// knows of no secret yet.
type Blanker struct {
	redactor *Redactor
	known    *redact.Known // nil until the next text
}

// NewBlanker returns a Blanker that knows the secrets of a redactor.
func NewBlanker(r *Redactor) *Blanker { return &Blanker{redactor: r} }

func (b *Blanker) secrets() *Redactor {
	if b.redactor == nil {
		b.redactor = NewRedactor(nil)
	}
	b.known = nil
	return b.redactor
}

// Secret notes code that holds a secret, as the lines that a finding of one
// covers: it is taken out of all texts.
func (b *Blanker) Secret(code string) { b.secrets().Take(code) }

// Learn notes what has the shape of a secret anywhere in a text, as a file.
func (b *Blanker) Learn(text string) { b.secrets().BlankText(text) }

// Blank takes out of a text what looks like a secret and what is known to be
// one. Secrets of several lines are known only where the text holds all of them.
func (b *Blanker) Blank(text string) string {
	if b.known == nil {
		r := b.secrets()
		r.keepLines = true
		text = r.BlankText(text)
		b.known = redact.NewKnown(r.Whole, r.parts)
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

// BlankSnippet takes out of the lines around a finding, of which the first has
// a number, what its kind and the secrets of its file ask for: of lines that
// hold a secret all, around a secret every value, and of a rule about secrets in
// code every string. What looks like a secret is for a Blanker to take out.
func BlankSnippet(lines []string, first int, of model.SnippetPlace, secrets []model.SnippetPlace) {
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
