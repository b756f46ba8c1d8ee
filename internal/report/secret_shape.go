package report

import (
	"maps"
	"math/bits"
	"regexp"
	"slices"
	"strings"
)

// shape is a form that a kind of credential has by its maker's design, so that
// it is known wherever it stands. The expression's last group is the secret
// where it has one, else all of the match is. Every match holds the mark, which
// is much quicker to look for.
type shape struct {
	mark string
	*regexp.Regexp
}

// shapes are written from what the makers publish of their credentials.
var shapes = compileShapes(map[string]string{
	// Clouds
	"AKIA":        `\b(?:AKIA)[A-Z0-9]{16}\b`,
	"ASIA":        `\b(?:ASIA)[A-Z0-9]{16}\b`,
	"AIza":        `\bAIza[0-9A-Za-z_-]{35}`,
	"ya29":        `\bya29\.[0-9A-Za-z_-]{20,}`,
	"GOCSPX-":     `\bGOCSPX-[0-9A-Za-z_-]{28}`,
	"AccountKey=": `AccountKey=([0-9A-Za-z+/]{86}==)`,
	"dop_v1_":     `\bdop_v1_[0-9a-f]{64}\b`,
	"hvs.":        `\bhvs\.[0-9A-Za-z_-]{24,}`,
	"ccess":       awsSecret, "CCESS": awsSecret,
	// Code hosts, registries
	"ghp_":        `\bghp_[0-9A-Za-z]{36,255}\b`,
	"gho_":        `\bgho_[0-9A-Za-z]{36,255}\b`,
	"ghu_":        `\bghu_[0-9A-Za-z]{36,255}\b`,
	"ghs_":        `\bghs_[0-9A-Za-z]{36,255}\b`,
	"ghr_":        `\bghr_[0-9A-Za-z]{36,255}\b`,
	"github_pat_": `\bgithub_pat_[0-9A-Za-z_]{22,}`,
	"glpat-":      `\bglpat-[0-9A-Za-z_-]{20,}`,
	"npm_":        `\bnpm_[0-9A-Za-z]{36}\b`,
	"pypi-AgE":    `\bpypi-AgE[0-9A-Za-z_-]{40,}`,
	"dckr_pat_":   `\bdckr_pat_[0-9A-Za-z_-]{20,}`,
	"hf_":         `\bhf_[A-Za-z]{34}\b`,
	// Services
	"xox":        `\bxox[abeoprs]-[0-9A-Za-z-]{10,}`,
	"xapp-":      `\bxapp-\d-[0-9A-Z]+-\d+-[0-9a-f]{32,}`,
	"slack.com/": `hooks\.slack\.com/(?:services|workflows|triggers)/([0-9A-Za-z/_-]{20,})`,
	"_live_":     `\b[sr]k_live_[0-9A-Za-z]{10,}`,
	"_test_":     `\b[sr]k_test_[0-9A-Za-z]{10,}`,
	"whsec_":     `\bwhsec_[0-9A-Za-z+/=]{24,}`,
	"SG.":        `\bSG\.[0-9A-Za-z_-]{22}\.[0-9A-Za-z_-]{43}`,
	"sk-ant-":    `\bsk-ant-[0-9A-Za-z_-]{20,}`,
	"sk-proj-":   `\bsk-proj-[0-9A-Za-z_-]{20,}`,
	"shpat_":     `\bshpat_[0-9a-f]{32}\b`,
	":AA":        `\b\d{8,10}:AA[0-9A-Za-z_-]{33}\b`,
	// Standards
	"eyJ":         `\beyJ[0-9A-Za-z_-]{8,}\.eyJ[0-9A-Za-z_-]{8,}\.[0-9A-Za-z_-]{8,}`,
	"PRIVATE KEY": `-----BEGIN [A-Z0-9 ]*PRIVATE KEY(?: BLOCK)?-----(?s:(.*?))(?:-----END|\z)`,
})

const awsSecret = `(?i)secret_?access_?key["']?\s*[=:]\s*["']?([0-9a-z/+]{40})\b`

func compileShapes(of map[string]string) []shape {
	out := make([]shape, 0, len(of))
	for _, mark := range slices.Sorted(maps.Keys(of)) {
		out = append(out, shape{mark, regexp.MustCompile(of[mark])})
	}
	return out
}

// userInfo is the password in an address.
// Paths keep one of its slashes.
var userInfo = shape{":/", regexp.MustCompile(`\b[a-z][a-z0-9+.-]*:/{1,2}[^\s/:@"'<>]*:([^\s/@"'<>]+)@[0-9A-Za-z\[]`)}

// shapeMarks finds the marks of shapes, and that of userInfo behind them.
var shapeMarks = func() *wordSet {
	words := make([]string, 0, len(shapes)+1)
	for _, shape := range shapes {
		words = append(words, shape.mark)
	}
	return newWordSet(append(words, userInfo.mark)...)
}()

// blankShapes takes out of a text what has the shape of a credential.
func (r *redactor) blankShapes(s string) string {
	found := shapeMarks.in(s)
	for rest := found; rest != 0; rest &= rest - 1 {
		place := bits.TrailingZeros64(rest)
		if place == len(shapes) {
			break
		}
		s = shapes[place].replace(s, func(secret string) string {
			r.addPart(secret)
			return r.mark(secret)
		})
	}
	if found>>len(shapes) == 0 || !strings.Contains(s, "@") {
		return s
	}
	return userInfo.replace(s, func(password string) string {
		if isTemplate(password) || placeholder.MatchString(password) {
			return password
		}
		if isRandom(password) {
			r.addPart(password)
		}
		return redacted
	})
}

// replace puts another text in the place of each secret.
func (h shape) replace(s string, with func(secret string) string) string {
	var b strings.Builder
	last := 0
	for _, at := range h.FindAllStringSubmatchIndex(s, -1) {
		from, to := at[len(at)-2], at[len(at)-1]
		if from < last { // no secret in it, as in the armour of a key alone
			continue
		}
		b.WriteString(s[last:from])
		b.WriteString(with(s[from:to]))
		last = to
	}
	if last == 0 {
		return s
	}
	b.WriteString(s[last:])
	return b.String()
}

// mark stands where a secret was, on as many lines where lines are to stay.
func (r *redactor) mark(secret string) string {
	if !r.keepLines {
		return redacted
	}
	return redacted + strings.Repeat("\n"+redacted, strings.Count(secret, "\n"))
}

// addPart notes a secret that a text was seen to hold, to be taken out of all
// texts.
func (r *redactor) addPart(secret string) {
	for line := range strings.Lines(secret) {
		line = strings.TrimSpace(line)
		if len(line) < minSecretPart || strings.HasPrefix(line, "-----") || placeholder.MatchString(line) {
			continue
		}
		for piece := range pieces(line) {
			r.parts[piece] = true
		}
	}
}
