package redact

import (
	"bytes"
	"encoding/base64"
	"maps"
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"
)

// shape is the format of a kind of credential as its issuer defines it. The secret is the last
// group of the expression, or else the whole match. Every match contains mark, for which a search
// is much faster.
type shape struct {
	mark string
	*regexp.Regexp
	is func(secret string) bool // further check of a secret; nil accepts all matches
}

// shapes follow the formats that the issuers publish.
var shapes = compileShapes(map[string]string{
	// Cloud providers
	"AKIA":        `\b(?:AKIA)[A-Z0-9]{16}\b`,
	"ASIA":        `\b(?:ASIA)[A-Z0-9]{16}\b`,
	"AIza":        `\bAIza[0-9A-Za-z_-]{35}`,
	"ya29":        `\bya29\.[0-9A-Za-z_-]{20,}`,
	"GOCSPX-":     `\bGOCSPX-[0-9A-Za-z_-]{28}`,
	"AccountKey=": `AccountKey=([0-9A-Za-z+/]{86}==)`,
	"dop_v1_":     `\bdop_v1_[0-9a-f]{64}\b`,
	"hvs.":        `\bhvs\.[0-9A-Za-z_-]{24,}`,
	"ccess":       awsSecret, "CCESS": awsSecret,
	// Redoubt: tokens, and the codes and refresh tokens of OAuth clients
	"rdt_": `\brdt_[0-9a-z]+_[0-9a-z_]{16,}`,
	"rdc_": `\brdc_[0-9a-z]+_[0-9a-z_]{16,}`,
	"rdr_": `\brdr_[0-9a-z]+_[0-9a-z_]{16,}`,
	"rdd_": `\brdd_[0-9a-z]+_[0-9a-z_]{16,}`,
	// Code hosts and registries
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
	"hf_":         `\bhf_[0-9A-Za-z]{34,}\b`,
	// Services
	"xox":           `\bxox[abeoprs]-[0-9A-Za-z-]{10,}`,
	"xapp-":         `\bxapp-\d-[0-9A-Z]+-\d+-[0-9a-f]{32,}`,
	"slack.com/":    `hooks\.slack\.com/(?:services|workflows|triggers)/([0-9A-Za-z/_-]{20,})`,
	"_live_":        `\b[sr]k_live_[0-9A-Za-z]{10,}`,
	"_test_":        `\b[sr]k_test_[0-9A-Za-z]{10,}`,
	"whsec_":        `\bwhsec_[0-9A-Za-z+/=]{24,}`,
	"SG.":           `\bSG\.[0-9A-Za-z_-]{22}\.[0-9A-Za-z_-]{43}`,
	"sk-ant-":       `\bsk-ant-[0-9A-Za-z_-]{20,}`,
	"sk-proj-":      `\bsk-proj-[0-9A-Za-z_-]{20,}`,
	"shpat_":        `\bshpat_[0-9a-f]{32}\b`,
	"SK":            `\bSK[0-9a-f]{32}\b`,
	"api/webhooks/": `\bdiscord(?:app)?\.com/api/webhooks/\d+/([0-9A-Za-z_-]{60,})`,
	":AA":           `\b\d{8,10}:AA[0-9A-Za-z_-]{33}\b`,
	// Standards
	"eyJ":             `\beyJ[0-9A-Za-z_-]{8,}\.eyJ[0-9A-Za-z_-]{8,}\.[0-9A-Za-z_-]{8,}`,
	"AGE-SECRET-KEY-": `\bAGE-SECRET-KEY-1[0-9A-Z]{58}\b`,
	"PRIVATE KEY":     `-----BEGIN [A-Z0-9 ]*PRIVATE KEY(?: BLOCK)?-----(?s:(.*?))(?:-----END|\z)`,
}, map[string]spoken{
	// Values identified by the words around them
	"earer ":   {`(?i)\bbearer\s+([0-9a-z+/=._~-]{16,})`, IsSecretValue},
	"asic ":    {`(?i)\bbasic\s+([0-9a-z+/]{8,}={0,2})`, isBasic},
	"ookie: ":  {`(?i)\bcookie:[ \t]+([^\s=;"'<>]+=[^\s;"'<>]*(?:;[ \t]?[^\s=;"'<>]+=[^\s;"'<>]*)*)`, isCookie},
	"assword=": {`(?i);\s*password=([^\s;"'<>]{6,})`, isActualValue},
	"wd=":      {`(?i);\s*pwd=([^\s;"'<>]{6,})`, isActualValue},
	"curl":     {`\bcurl\b[^\n|;&]*?\s(?:-u|--user)[= ]?["']?[^\s:"']+:([^\s"']{4,})`, isActualValue},
	"mysql":    {`\bmysql(?:dump|admin)?\b[^\n|;&]*?\s-p([^\s"']{6,})`, isActualValue},
	"sshpass":  {`\bsshpass\s+-p\s*["']?([^\s"']{4,})`, isActualValue},
	"machine ": {`\bmachine\s+\S+\s+login\s+\S+\s+password\s+([^\s"'<>]{4,})`, isActualValue},
	":5432:":   {`[\w.*-]+:5432:[^\s:]+:[^\s:]+:([^\s:"'<>]{6,})`, isActualValue},
	"sig=":     {`(?i)[?&](?:sig|x-amz-signature)=([0-9a-z%+/=_-]{16,})`, nil},
	"ature=":   {`(?i)[?&](?:x-amz-|x-goog-)?signature=([0-9a-z%+/=_-]{16,})`, nil},
})

// spoken is a shape identified by the words around the value; is checks the value.
type spoken struct {
	text string
	is   func(value string) bool
}

// isActualValue reports whether a value is neither a template nor a placeholder.
func isActualValue(s string) bool {
	return !IsTemplate(s) && !IsPlaceholder(s) && !standIn.MatchString(s) && !strings.HasPrefix(s, "-")
}

// isBasic reports whether a value is a name and a password of HTTP basic authentication.
func isBasic(s string) bool {
	text, err := base64.RawStdEncoding.DecodeString(strings.TrimRight(s, "="))
	return err == nil && utf8.Valid(text) && bytes.ContainsRune(text, ':')
}

// isCookie reports whether any value in a list of cookies is a secret.
func isCookie(s string) bool {
	for part := range strings.SplitSeq(s, ";") {
		if _, value, _ := strings.Cut(part, "="); IsSecretValue(strings.TrimSpace(value)) {
			return true
		}
	}
	return false
}

const awsSecret = `(?i)secret_?access_?key["']?\s*[=:]\s*["']?([0-9a-z/+]{40})\b`

func compileShapes(of map[string]string, contextual map[string]spoken) []shape {
	out := make([]shape, 0, len(of)+len(contextual))
	for _, mark := range slices.Sorted(maps.Keys(of)) {
		out = append(out, shape{mark, regexp.MustCompile(of[mark]), nil})
	}
	for _, mark := range slices.Sorted(maps.Keys(contextual)) {
		out = append(out, shape{mark, regexp.MustCompile(contextual[mark].text), contextual[mark].is})
	}
	return out
}

// userInfo matches the password in a URL. Paths preserve only one of the two slashes.
var userInfo = shape{
	":/", regexp.MustCompile(`\b[a-z][a-z0-9+.-]*:/{1,2}[^\s/:@"'<>]*:([^\s/@"'<>]+)@[0-9A-Za-z\[]`), nil,
}

// shapeMarks finds the marks of shapes, and that of userInfo as its last word.
var shapeMarks = func() *wordSet {
	words := make([]string, 0, len(shapes)+1)
	for _, shape := range shapes {
		words = append(words, shape.mark)
	}
	return newWordSet(append(words, userInfo.mark)...)
}()

// replace replaces each secret with the result of with.
func (h shape) replace(s string, with func(secret string) string) string {
	var b strings.Builder
	last := 0
	for _, at := range h.FindAllStringSubmatchIndex(s, -1) {
		from, to := at[len(at)-2], at[len(at)-1]
		if from < last { // an empty secret, as in the header of a key without its body
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

// signedInAs matches a long user name without a password in a URL. Code hosts accept a token there.
var signedInAs = shape{"://", regexp.MustCompile(`\b[A-Za-z][A-Za-z0-9+.-]*://([^\s/:@"'<>]{16,})@[0-9A-Za-z\[]`), nil}

// inQuery matches a value in the query or fragment of a URL whose key is a name of a secret.
var inQuery = shape{"=", regexp.MustCompile(`(?i)[?&#;]` + `[a-z0-9_.-]*` + names + `=([^\s&#;"'<>]{8,})`), nil}

// MayContain reports whether a text contains the mark of any shape. It is fast.
func MayContain(s string) bool { return shapeMarks.in(s) != 0 }
