package secrets

import (
	"cmp"
	"regexp"
	"slices"
	"strings"

	"github.com/redoubt/redoubt/internal/model"
	"github.com/redoubt/redoubt/internal/redact"
)

// Blank redacts secrets in the texts of all results and VEX documents. Results of any rule may
// quote a secret (docs/reference/secrets.md). It detects them by their format and by the name they
// are assigned to, never by entropy alone: hashes, ids and images are preserved.
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

// blankVEX redacts each text once, because many statements may share it.
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

// SpeaksOfSecrets reports whether the name or message of a rule is about hardcoded secrets, such as
// hardcoded-password-default-argument. Its results are code findings, but their strings may be
// secrets.
func SpeaksOfSecrets(s string) bool {
	return (strings.Contains(s, "ard") || strings.Contains(s, "ARD")) && hardcoded.MatchString(s) &&
		ofSecrets.MatchString(s)
}

// minLiteral is the minimum length of a secret string in code, in bytes.
const minLiteral = 4

// quotationMarks are the quotation marks of strings in code.
const quotationMarks = "'\"`"

// MaxInner is the maximum number of quotation marks within a string that is searched in a message.
const MaxInner = 3

// BlankLiterals redacts the strings in the code of a result, and in its message where they are
// quoted. If a string contains more than MaxInner quotation marks, it redacts the message from the
// first to the last mark.
func BlankLiterals(res *model.Result) {
	literals, all := map[string]bool{}, false
	blankIn := func(code string) string {
		code, found := BlankStrings(code)
		for _, inner := range found {
			literals[inner] = true
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
	if len(literals) > 0 {
		res.Message = redact.Cut(res.Message, QuotedSpans(res.Message, literals))
	}
}

// QuotedSpans returns the quoted parts of a text that are in a set. Strings may contain quotation
// marks, so each mark is combined with the next few.
func QuotedSpans(s string, literals map[string]bool) (spans []redact.Span) {
	for _, quote := range []byte(quotationMarks) {
		var marks []int
		for i := range len(s) {
			if s[i] == quote {
				marks = append(marks, i)
			}
		}
		for i, from := range marks {
			for _, to := range marks[i+1 : min(i+2+MaxInner, len(marks))] {
				if literals[s[from+1:to]] {
					spans = append(spans, redact.Span{From: from + 1, To: to})
				}
			}
		}
	}
	slices.SortFunc(spans, func(a, b redact.Span) int { return cmp.Or(a.From-b.From, a.To-b.To) })
	return spans
}

// BlankStrings redacts the strings in code and returns their content.
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

// Finder returns a redact.Finder that registers the secrets it finds, because other texts may
// contain them.
func (r *Redactor) Finder() redact.Finder {
	return redact.Finder{Found: r.addPart, PreserveLines: r.preserveLines, Key: r.key}
}

// BlankText redacts text in the format of a secret.
func (r *Redactor) BlankText(s string) string { return r.Finder().Text(s) }

// addPart registers a secret that was found in a text, so that it is removed from all texts.
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
