package report

import (
	"cmp"
	"math"
	"regexp"
	"slices"
	"strings"
	"unicode"

	"github.com/redoubt/redoubt"
)

// blank takes out of the texts of all results and VEX documents what looks like a secret, for no
// rule needs to look for secrets to quote one (semantics §16). It goes by the
// shape of the text and by the name that it is given to, and not by its entropy
// alone: hashes, ids and images stay.
func (r *redactor) blank(reports []*redoubt.Report) {
	for _, rep := range reports {
		literal := map[*redoubt.Rule]bool{} // rules about secrets in code
		for _, rule := range rep.Rules {
			literal[rule] = speaksOfSecrets(rule.Name + " " + rule.Message)
		}
		for i := range rep.Results {
			r.blankResult(&rep.Results[i], literal[rep.Results[i].Rule])
		}
		for i := range rep.VEX {
			r.blankVEX(&rep.VEX[i])
		}
		for i := range rep.Refused {
			rep.Refused[i].Reason = r.blankText(rep.Refused[i].Reason)
		}
	}
	blank := r.byShape()
	c := cleaner{redactor: r, id: blank, name: blank, text: blank, rules: map[*redoubt.Rule]bool{}}
	for _, rep := range reports {
		c.report(rep)
	}
}

func (r *redactor) blankResult(res *redoubt.Result, literal bool) {
	message, code := res.Message, res.Code
	for _, s := range []*string{&res.Message, &res.Code} {
		*s = r.blankText(*s)
	}
	for i := range res.DataFlow {
		res.DataFlow[i].Content = r.blankText(res.DataFlow[i].Content)
	}
	if d := res.Dependency; d != nil {
		d.Condition = r.blankText(d.Condition)
	}
	if res.Dependency == nil && (literal || speaksOfSecrets(message)) {
		blankLiterals(res)
	}
	if res.Message != message || res.Code != code {
		r.hideHash(res)
	}
}

// blankVEX looks at each text once, which many statements may share.
func (r *redactor) blankVEX(d *redoubt.VEXDocument) {
	d.Author = r.blankText(d.Author)
	known := map[string]string{}
	blank := func(s *string) {
		blanked, ok := known[*s]
		if !ok {
			blanked = r.blankText(*s)
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

func (r *redactor) blankText(s string) string {
	if len(s) < minSecretPart {
		return s
	}
	return joined(r.blankAssigned(r.blankShapes(s)))
}

var (
	hardcoded = regexp.MustCompile(`(?i)hard[-_ ]?coded`)
	ofSecrets = regexp.MustCompile(`(?i)passw|secret|credential|token|(?:api|access|private|signing|encryption|jwt)[-_ ]?key`)
)

// speaksOfSecrets tells of a rule's name, or of a message, that it is about
// secrets written into code, as of hardcoded-password-default-argument. Such a
// finding is one of code, but the strings in it are suspect.
func speaksOfSecrets(s string) bool {
	return (strings.Contains(s, "ard") || strings.Contains(s, "ARD")) && hardcoded.MatchString(s) && ofSecrets.MatchString(s)
}

// minLiteral is the length, in bytes, below which a string in code is no secret.
const minLiteral = 4

// quotationMarks are those around strings in code.
const quotationMarks = "'\"`"

// maxInner is how many quotation marks of the kind around it a string may hold to be looked for in a message.
const maxInner = 3

// blankLiterals takes the strings out of the code of a result, and what it
// quotes of them out of its message. All from the first to the last mark of a message
// goes where a string holds more of them than are looked for.
func blankLiterals(res *redoubt.Result) {
	held, all := map[string]bool{}, false
	blankIn := func(code string) string {
		code, found := blankStrings(code)
		for _, inner := range found {
			held[inner] = true
			for quote := range strings.SplitSeq(quotationMarks, "") {
				all = all || strings.Count(inner, quote) > maxInner
			}
		}
		return code
	}
	res.Code = blankIn(res.Code)
	for i := range res.DataFlow {
		res.DataFlow[i].Content = blankIn(res.DataFlow[i].Content)
	}
	if from, to := strings.IndexAny(res.Message, quotationMarks), strings.LastIndexAny(res.Message, quotationMarks); all && from < to {
		res.Message = res.Message[:from+1] + redacted + res.Message[to:]
	}
	if len(held) > 0 {
		res.Message = cutSpans(res.Message, quotedSpans(res.Message, held))
	}
}

// quotedSpans finds what a text has in quotation marks of any kind and a set holds.
// A string may hold marks of its own, so each mark is tried with the next few.
func quotedSpans(s string, held map[string]bool) (spans []span) {
	for _, quote := range []byte(quotationMarks) {
		var marks []int
		for i := range len(s) {
			if s[i] == quote {
				marks = append(marks, i)
			}
		}
		for i, from := range marks {
			for _, to := range marks[i+1 : min(i+2+maxInner, len(marks))] {
				if held[s[from+1:to]] {
					spans = append(spans, span{from + 1, to})
				}
			}
		}
	}
	slices.SortFunc(spans, func(a, b span) int { return cmp.Or(a.from-b.from, a.to-b.to) })
	return spans
}

// cutSpans takes parts out of a text, in the order of where they begin; they may overlap.
func cutSpans(s string, spans []span) string {
	if len(spans) == 0 {
		return s
	}
	var b strings.Builder
	last := 0
	for _, cut := range spans {
		if cut.from >= last {
			b.WriteString(s[last:cut.from])
			b.WriteString(redacted)
		}
		last = max(last, cut.to)
	}
	b.WriteString(s[last:])
	return b.String()
}

// blankStrings takes the strings out of code, and returns what they held.
func blankStrings(code string) (blanked string, found []string) {
	return quoted.ReplaceAllStringFunc(code, func(s string) string {
		inner := s[1 : len(s)-1]
		if len(inner) < minLiteral || strings.ContainsAny(inner, " \t") || isTemplate(inner) {
			return s
		}
		found = append(found, inner)
		return s[:1] + redacted + s[:1]
	}), found
}

// names end in a word for a secret, and stand before a value in quotes or, as in
// settings, without any: see assigned.
const names = `(?:passw(?:or)?d|passphrase|pwd|secret|token|credentials?|authorization|` +
	`(?:api|access|secret|private|auth|signing|encryption|master|account|storage|app|client)[_.-]?key)`

// blankAssigned takes values out of a text that are given to a name for secrets.
func (r *redactor) blankAssigned(s string) string {
	s = r.blankValues(s, (*assigned).quoted, isSecretValue)
	return r.blankValues(s, (*assigned).bare, isRandom)
}

// blankValues takes those of the values out of a text that are secrets. The random
// ones are taken out of all other texts too; the others may be words there.
func (r *redactor) blankValues(s string, next func(*assigned) (span, bool), isSecret func(string) bool) string {
	var cuts []span
	for a := (&assigned{s: s}); ; {
		value, ok := next(a)
		if !ok {
			return cutSpans(s, cuts)
		}
		value.from += len(authScheme.FindString(s[value.from:value.to]))
		if secret := s[value.from:value.to]; isSecret(secret) {
			if isRandom(secret) {
				r.addPart(secret)
			}
			cuts = append(cuts, value)
		}
	}
}

// authScheme is how the value of a header for authorization begins.
var authScheme = regexp.MustCompile(`^(?i:basic|bearer|token) +`)

var (
	constantName = regexp.MustCompile(`^[A-Z][A-Z0-9]*(?:_[A-Z0-9]+)+$`)
	// joinedWords are names of things, as oauth2-token or prod/db.password.
	joinedWords = regexp.MustCompile(`^/?[A-Za-z]+\d{0,2}(?:[-_./:]+[A-Za-z]+\d{0,2})+/?$`)
	// stand-ins are what people write where a secret is to come.
	standIn = regexp.MustCompile(`(?i)example|change[-_]?me|placeholder|your[-_]|xxxx|dummy|\*{3}|\.{3}|redacted`)
)

// isTemplate tells whether a value is filled in later, as ${PASSWORD} is.
func isTemplate(s string) bool {
	return strings.HasPrefix(s, "$") || strings.ContainsAny(s, "<>") || strings.Contains(s, "%s") || strings.Contains(s, "%(") ||
		strings.Contains(s, "${") || strings.Contains(s, "$(") || strings.Contains(s, "{") && strings.Contains(s, "}")
}

// isSecretValue judges a value that is given to a name for secrets. It is none
// if it is short, made of words, the name of something, or filled in later.
func isSecretValue(s string) bool {
	switch {
	case len(s) < minSecretPart, len(s) > 1<<12, strings.ContainsFunc(s, unicode.IsSpace),
		strings.Contains(s, "://"), strings.HasPrefix(s, "data:"), strings.HasPrefix(s, "."), strings.HasPrefix(s, "~"), isTemplate(s):
		return false
	case !strings.ContainsFunc(s, isUnlikeWords), standIn.MatchString(s), constantName.MatchString(s), joinedWords.MatchString(s):
		return false
	}
	return entropy(s) >= 2.5
}

// isRandom judges a value that nobody would write by hand: long, and of letters
// in both cases and digits, or of many hexadecimal digits.
func isRandom(s string) bool {
	if len(s) < 16 || !isSecretValue(s) || entropy(s) < 3 {
		return false
	}
	var lower, upper, digits, others int
	for _, c := range s {
		switch {
		case unicode.IsLower(c):
			lower++
		case unicode.IsUpper(c):
			upper++
		case unicode.IsDigit(c):
			digits++
		default:
			others++
		}
	}
	isHex := strings.Trim(strings.ToLower(s), "0123456789abcdef-") == ""
	return lower > 0 && upper > 0 && digits > 2 || isHex && len(s) >= 32 && digits > 4 || digits > 3 && lower+upper > 3 && others == 0
}

// entropy is that of the bytes of a text, in bits a byte.
func entropy(s string) (bits float64) {
	var count [256]float64
	for i := range len(s) {
		count[s[i]]++
	}
	for _, n := range count {
		if n > 0 {
			p := n / float64(len(s))
			bits -= p * math.Log2(p)
		}
	}
	return bits
}
