package report

import (
	"math"
	"regexp"
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

// blankLiterals takes the strings out of the code of a result, and what it
// quotes of them out of its message.
func blankLiterals(res *redoubt.Result) {
	blankIn := func(code string) string {
		code, found := blankStrings(code)
		for _, inner := range found {
			for _, quote := range []string{"'", `"`, "`"} {
				res.Message = strings.ReplaceAll(res.Message, quote+inner+quote, quote+redacted+quote)
			}
		}
		return code
	}
	res.Code = blankIn(res.Code)
	for i := range res.DataFlow {
		res.DataFlow[i].Content = blankIn(res.DataFlow[i].Content)
	}
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
// settings, without any.
const names = `(?:passw(?:or)?d|passphrase|pwd|secret|token|credentials?|authorization|` +
	`(?:api|access|secret|private|auth|signing|encryption|master|account|storage|app|client)[_.-]?key)`

var (
	nameWords = []string{"passw", "passphrase", "pwd", "secret", "token", "credential", "authorization", "key"}
	inQuotes  = regexp.MustCompile(`(?i)` + names + `["'\])]*(?:\s*:\s*[a-z]+|\s+string)?\s*(?::=|=>|===?|!==?|=|:)\s*[bru]?` +
		"(?:\"([^\"\n]*)\"|'([^'\n]*)'|`([^`\n]*)`)")
	unquoted = regexp.MustCompile(`(?im)` + names + `\s*[=:]\s*([^\s"'` + "`" + `,;(){}\[\]<>$]{16,})[ \t]*(?:$|[;,])`)
)

// blankAssigned takes values out of a text that are given to a name for secrets.
func (r *redactor) blankAssigned(s string) string {
	if !strings.ContainsAny(s, "=:") || !holdsAny(s, nameWords) {
		return s
	}
	s = r.blankMatches(s, inQuotes, isSecretValue)
	return r.blankMatches(s, unquoted, isRandom)
}

// holdsAny looks for words in lower case in a text in any.
func holdsAny(s string, words []string) bool {
	s = strings.ToLower(s)
	for _, w := range words {
		if strings.Contains(s, w) {
			return true
		}
	}
	return false
}

// blankMatches takes those of the groups of an expression out of a text that
// are secrets. The random ones are taken out of all other texts too; the others
// may be words there.
func (r *redactor) blankMatches(s string, e *regexp.Regexp, isSecret func(string) bool) string {
	var b strings.Builder
	last := 0
	for _, at := range e.FindAllStringSubmatchIndex(s, -1) {
		for group := 2; group < len(at); group += 2 {
			from, to := at[group], at[group+1]
			if from < 0 {
				continue
			}
			from += len(authScheme.FindString(s[from:to]))
			if secret := s[from:to]; isSecret(secret) {
				if isRandom(secret) {
					r.addPart(secret)
				}
				b.WriteString(s[last:from])
				b.WriteString(redacted)
				last = to
			}
		}
	}
	if last == 0 {
		return s
	}
	b.WriteString(s[last:])
	return b.String()
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
