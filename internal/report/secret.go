package report

import (
	"cmp"
	"crypto/hmac"
	"crypto/sha256"
	"iter"
	"maps"
	"regexp"
	"slices"
	"strings"
	"unicode"

	"github.com/redoubt/redoubt"
)

// redacted stands where a secret was.
const redacted = "[REDACTED]"

// Below these lengths, in bytes, a text is too common to be taken out of
// others: it would tear holes into words.
const (
	minSecret     = 6
	minSecretPart = 8
	minSecretLine = 16      // of a secret of several lines, as a private key
	maxSecret     = 4 << 10 // a longer one is looked for in pieces
)

// redactor remembers the raw secrets of a report to take them out of all of it
// (decisions §16).
type redactor struct {
	key   []byte
	whole map[string]bool // secrets, taken out of everything
	parts map[string]bool // what may be the secret inside of a match, taken out of texts but not of paths and names
}

func newRedactor(key []byte) *redactor {
	return &redactor{key: key, whole: map[string]bool{}, parts: map[string]bool{}}
}

// take remembers a secret as the report spells it, and returns its keyed hash,
// or zero where the report already holds it redacted.
func (r *redactor) take(raw string) redoubt.Digest {
	raw = strings.TrimSpace(raw)
	r.remember(raw)
	for _, quoted := range literal.FindAllStringSubmatch(raw, -1) {
		r.suspect(firstOf(quoted[1], quoted[2], quoted[3]))
	}
	if isRedacted(raw) || len(r.key) == 0 {
		return redoubt.Digest{}
	}
	mac := hmac.New(sha256.New, r.key)
	mac.Write([]byte(raw))
	return redoubt.Digest(mac.Sum(nil)[:len(redoubt.Digest{})])
}

var literal = regexp.MustCompile("\"([^\"\n]+)\"|'([^'\n]+)'|`([^`\n]+)`")

// remember notes a secret to be taken out, and its lines where it has several.
func (r *redactor) remember(raw string) {
	if placeholder.MatchString(raw) {
		return
	}
	for _, spelling := range []string{raw, multiLine(raw, len(raw)), oneLine(raw, len(raw))} {
		for piece := range pieces(spelling) {
			if len(piece) >= minSecret {
				r.whole[piece] = true
			}
		}
	}
	if !strings.Contains(raw, "\n") {
		return
	}
	for line := range strings.Lines(raw) {
		if line = oneLine(line, len(line)); len(line) >= minSecretLine && !strings.HasPrefix(line, "-----") {
			for piece := range pieces(line) {
				r.whole[piece] = true
			}
		}
	}
}

// pieces cuts a text into those of a bounded length.
func pieces(s string) iter.Seq[string] {
	return func(yield func(string) bool) {
		for s != "" {
			piece := cut(s, maxSecret)
			if !yield(piece) {
				return
			}
			s = s[max(len(piece), 1):]
		}
	}
}

// suspect notes a part of a match that looks like the secret itself: longer
// than most words, and with a digit or sign that words do not have.
func (r *redactor) suspect(part string) {
	part = oneLine(part, len(part))
	if len(part) >= minSecretPart && strings.ContainsFunc(part, isUnlikeWords) && !placeholder.MatchString(part) {
		r.parts[part] = true
	}
}

func isUnlikeWords(c rune) bool {
	return !unicode.IsLetter(c) && !strings.ContainsRune(" ._-/:", c)
}

// placeholder is what stands for a secret and gives nothing away.
var placeholder = regexp.MustCompile(`^(?i:\[?\**(redacted)?\**\]?|requires login)$`)

// isRedacted tells whether a scanner has taken the secret out itself: gitleaks
// writes REDACTED, or the beginning and three dots; others write asterisks.
func isRedacted(raw string) bool {
	return placeholder.MatchString(raw) || strings.Contains(strings.ToUpper(raw), "REDACTED") ||
		strings.Contains(raw, "***") || strings.HasSuffix(raw, "...")
}

// scrub takes every remembered secret out of every string of the report. Code
// that held one loses its hash too, since that is not keyed.
func (r *redactor) scrub(rep *redoubt.Report) {
	if len(r.whole)+len(r.parts) == 0 {
		return
	}
	c := cleaner{names: replacer(r.whole), texts: replacer(r.whole, r.parts), rules: map[*redoubt.Rule]bool{}}
	for _, rule := range rep.Rules {
		c.rule(rule)
	}
	for i := range rep.Results {
		c.result(&rep.Results[i])
		c.rule(rep.Results[i].Rule)
	}
	for i := range rep.Refused {
		clean(c.texts, &rep.Refused[i].Reason)
	}
	clean(c.names, &rep.ToolVersion, &rep.Category, &rep.Commit)
	for _, list := range [][]string{rep.RulesRun, rep.Searched, rep.Skipped} {
		cleanAll(c.names, list)
	}
}

// replacer takes out the longest of several secrets first.
func replacer(sets ...map[string]bool) *strings.Replacer {
	var secrets []string
	for _, set := range sets {
		secrets = slices.AppendSeq(secrets, maps.Keys(set))
	}
	slices.SortFunc(secrets, func(a, b string) int {
		return cmp.Or(len(b)-len(a), strings.Compare(a, b))
	})
	pairs := make([]string, 0, 2*len(secrets))
	for _, s := range secrets {
		pairs = append(pairs, s, redacted)
	}
	return strings.NewReplacer(pairs...)
}

// cleaner takes secrets out of what a report holds.
type cleaner struct {
	names, texts *strings.Replacer
	rules        map[*redoubt.Rule]bool // cleaned already
}

func (c cleaner) result(res *redoubt.Result) {
	code := res.Code
	clean(c.texts, &res.Message, &res.Code)
	if res.Code != code {
		res.CodeHash = ""
	}
	clean(c.names, &res.Path, &res.MatchBasedID, &res.Fingerprint)
	for i := range res.DataFlow {
		clean(c.names, &res.DataFlow[i].Path)
		clean(c.texts, &res.DataFlow[i].Content)
	}
	if res.Secret != nil {
		clean(c.names, &res.Secret.Commit)
	}
	if d := res.Dependency; d != nil {
		clean(c.names, &d.Package, &d.Version, &d.Lockfile, &d.Vulnerability, &d.Condition)
		for i := range d.Fixes {
			clean(c.names, &d.Fixes[i].Package, &d.Fixes[i].Version)
		}
	}
}

func (c cleaner) rule(rule *redoubt.Rule) {
	if c.rules[rule] {
		return
	}
	c.rules[rule] = true
	clean(c.names, &rule.Name, &rule.Message, &rule.Category, &rule.URL, &rule.SecretType)
	for _, list := range [][]string{
		rule.Subcategories, rule.VulnerabilityClasses, rule.CWE, rule.OWASP, rule.Technologies,
		rule.Languages, rule.References, rule.Rulesets,
	} {
		cleanAll(c.names, list)
	}
}

func clean(r *strings.Replacer, fields ...*string) {
	for _, s := range fields {
		*s = r.Replace(*s)
	}
}

func cleanAll(r *strings.Replacer, list []string) {
	for i := range list {
		list[i] = r.Replace(list[i])
	}
}
