package secrets

import (
	"cmp"
	"regexp"
	"slices"
	"strings"

	"github.com/redoubt/redoubt/internal/model"
	"github.com/redoubt/redoubt/internal/redact"
)

// Blank takes out of the texts of all results and VEX documents what looks like a secret, for no
// rule needs to look for secrets to quote one (docs/reference/secrets.md). It goes by the
// shape of the text and by the name that it is given to, and not by its entropy
// alone: hashes, ids and images stay.
func (r *Redactor) Blank(reports []*model.Report) {
	for _, rep := range reports {
		literal := map[*model.Rule]bool{} // rules about secrets in code
		for _, rule := range rep.Rules {
			literal[rule] = SpeaksOfSecrets(rule.Name + " " + rule.Message)
		}
		for i := range rep.Results {
			r.blankResult(&rep.Results[i], literal[rep.Results[i].Rule])
		}
		for i := range rep.VEX {
			r.blankVEX(&rep.VEX[i])
		}
		for i := range rep.Refused {
			rep.Refused[i].Reason = r.BlankText(rep.Refused[i].Reason)
		}
	}
	unkeyed := r.Finder()
	unkeyed.Key = nil
	name, text := ByShape(r.Finder()), ByShape(unkeyed)
	c := Cleaner{redactor: r, ID: name, Name: name, Text: text, label: text, Rules: map[*model.Rule]bool{}}
	for _, rep := range reports {
		c.report(rep)
	}
}

func (r *Redactor) blankResult(res *model.Result, literal bool) {
	message, code := res.Message, res.Code
	for _, s := range []*string{&res.Message, &res.Code} {
		*s = r.BlankText(*s)
	}
	for i := range res.DataFlow {
		res.DataFlow[i].Content = r.BlankText(res.DataFlow[i].Content)
	}
	if d := res.Dependency; d != nil {
		d.Condition = r.BlankText(d.Condition)
	}
	if res.Dependency == nil && (literal || SpeaksOfSecrets(message)) {
		BlankLiterals(res)
	}
	if res.Message != message || res.Code != code {
		r.hideHash(res)
	}
}

// blankVEX looks at each text once, which many statements may share.
func (r *Redactor) blankVEX(d *model.VEXDocument) {
	d.Author = r.BlankText(d.Author)
	known := map[string]string{}
	blank := func(s *string) {
		blanked, ok := known[*s]
		if !ok {
			blanked = r.BlankText(*s)
			known[*s] = blanked
		}
		*s = blanked
	}
	for i := range d.Statements {
		s := &d.Statements[i]
		blank(&s.Detail)
		if s.Own != nil {
			blank(&s.Own.Comment)
		}
	}
}

var (
	hardcoded = regexp.MustCompile(`(?i)hard[-_ ]?coded`)
	ofSecrets = regexp.MustCompile(
		`(?i)passw|secret|credential|token|(?:api|access|private|signing|encryption|jwt)[-_ ]?key`,
	)
)

// SpeaksOfSecrets tells of a rule's name, or of a message, that it is about
// secrets written into code, as of hardcoded-password-default-argument. Such a
// finding is one of code, but the strings in it are suspect.
func SpeaksOfSecrets(s string) bool {
	return (strings.Contains(s, "ard") || strings.Contains(s, "ARD")) && hardcoded.MatchString(s) &&
		ofSecrets.MatchString(s)
}

// minLiteral is the length, in bytes, below which a string in code is no secret.
const minLiteral = 4

// quotationMarks are those around strings in code.
const quotationMarks = "'\"`"

// MaxInner is how many quotation marks of the kind around it a string may hold to be looked for in a message.
const MaxInner = 3

// BlankLiterals takes the strings out of the code of a result, and what it
// quotes of them out of its message. All from the first to the last mark of a message
// goes where a string holds more of them than are looked for.
func BlankLiterals(res *model.Result) {
	held, all := map[string]bool{}, false
	blankIn := func(code string) string {
		code, found := BlankStrings(code)
		for _, inner := range found {
			held[inner] = true
			for quote := range strings.SplitSeq(quotationMarks, "") {
				all = all || strings.Count(inner, quote) > MaxInner
			}
		}
		return code
	}
	res.Code = blankIn(res.Code)
	for i := range res.DataFlow {
		res.DataFlow[i].Content = blankIn(res.DataFlow[i].Content)
	}
	if from, to := strings.IndexAny(res.Message, quotationMarks), strings.LastIndexAny(res.Message, quotationMarks); all &&
		from < to {
		res.Message = res.Message[:from+1] + Redacted + res.Message[to:]
	}
	if len(held) > 0 {
		res.Message = redact.Cut(res.Message, QuotedSpans(res.Message, held))
	}
}

// QuotedSpans finds what a text has in quotation marks of any kind and a set holds.
// A string may hold marks of its own, so each mark is tried with the next few.
func QuotedSpans(s string, held map[string]bool) (spans []redact.Span) {
	for _, quote := range []byte(quotationMarks) {
		var marks []int
		for i := range len(s) {
			if s[i] == quote {
				marks = append(marks, i)
			}
		}
		for i, from := range marks {
			for _, to := range marks[i+1 : min(i+2+MaxInner, len(marks))] {
				if held[s[from+1:to]] {
					spans = append(spans, redact.Span{From: from + 1, To: to})
				}
			}
		}
	}
	slices.SortFunc(spans, func(a, b redact.Span) int { return cmp.Or(a.From-b.From, a.To-b.To) })
	return spans
}

// BlankStrings takes the strings out of code, and returns what they held.
func BlankStrings(code string) (blanked string, found []string) {
	return quoted.ReplaceAllStringFunc(code, func(s string) string {
		inner := s[1 : len(s)-1]
		if len(inner) < minLiteral || strings.ContainsAny(inner, " \t") || redact.IsTemplate(inner) {
			return s
		}
		found = append(found, inner)
		return s[:1] + Redacted + s[:1]
	}), found
}

// Finder takes credentials out of texts, and notes those that other texts may hold.
func (r *Redactor) Finder() redact.Finder {
	return redact.Finder{Found: r.addPart, KeepLines: r.keepLines, Key: r.key}
}

// BlankText removes what has the shape of a secret from a text.
func (r *Redactor) BlankText(s string) string { return r.Finder().Text(s) }

// addPart notes a secret that a text was seen to hold, to be taken out of all texts.
func (r *Redactor) addPart(secret string) {
	for line := range strings.Lines(secret) {
		line = strings.TrimSpace(line)
		if len(line) < MinSecretPart || strings.HasPrefix(line, "-----") || redact.IsPlaceholder(line) {
			continue
		}
		for piece := range pieces(line) {
			r.parts[piece] = true
		}
	}
}
