package secrets

import (
	"cmp"
	"crypto/hmac"
	"crypto/sha256"
	"iter"
	"maps"
	"net/url"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/redoubt/redoubt/internal/model"
	"github.com/redoubt/redoubt/internal/redact"
	"github.com/redoubt/redoubt/internal/report/lockfile"
	"github.com/redoubt/redoubt/internal/report/read"
)

// Redacted replaces a secret.
const Redacted = redact.Mark

// Minimum lengths of secrets, in bytes. Shorter texts are too common to be removed from other
// texts.
const (
	MinSecret     = 6
	MinSecretPart = 8
	MinSecretLine = 16 // a line of a secret with several lines, such as a private key
)

// MaxPiece is the maximum length of a phrase to search, in bytes. Longer secrets are split into
// pieces of half of it; the last may be longer. The cost of the search per byte grows with the
// longest phrase, so that malicious reports could take hours.
const MaxPiece = 128

// Redactor collects the secrets of an upload to remove them from all reports
// (docs/reference/secrets.md).
type Redactor struct {
	key      []byte
	Complete map[string]bool // secrets, removed from all strings
	// probable secrets within a match, removed from texts but not from paths and names
	parts    map[string]bool
	Declared map[*model.Rule]bool // rules that declare their product themselves
	Then     []func()             // functions to call after secrets are removed
	Computed map[string]bool      // ids of results that were computed here
	Wider    map[string]string    // formulas that may contain secrets that the code does not, by hash
	Last     []func()             // functions to call after all files are read
	Boms     map[string]any       // packages of the BOMs of an upload, by serial number: see package bom
	learned  map[string]bool      // secrets in addresses, included in Complete
	words    map[string]bool      // words in learned that may occur elsewhere and are known only from addresses
	Locks    lockfile.Upload      // lockfiles of the upload

	preserveLines bool // whether texts keep their number of lines
}

// NewRedactor returns a Redactor for one upload. If key is empty, secrets are not hashed.
func NewRedactor(key []byte) *Redactor {
	return &Redactor{
		key:      key,
		Complete: map[string]bool{},
		parts:    map[string]bool{},
		Declared: map[*model.Rule]bool{},
		Computed: map[string]bool{},
		Wider:    map[string]string{},
		Boms:     map[string]any{},
		learned:  map[string]bool{},
		words:    map[string]bool{},
	}
}

// Known returns the number of secrets and their spellings.
func (r *Redactor) Known() int { return len(r.Complete) + len(r.parts) }

// Register registers a secret as it is in the report and returns its keyed hash. The hash is zero if
// the report contains the secret in redacted form.
func (r *Redactor) Register(raw string) model.Digest {
	raw = strings.TrimSpace(raw)
	r.Remember(raw)
	delete(r.words, raw)
	for _, quoted := range literal.FindAllStringSubmatch(raw, -1) {
		r.Suspect(cmp.Or(quoted[1], quoted[2], quoted[3]))
	}
	if IsRedacted(raw) {
		return model.Digest{}
	}
	return r.keyed([]byte(raw))
}

// keyed returns the HMAC of text with the server's key, or zero if there is no key.
func (r *Redactor) keyed(text []byte) model.Digest {
	if len(r.key) == 0 {
		return model.Digest{}
	}
	mac := hmac.New(sha256.New, r.key)
	mac.Write(text)
	return model.Digest(mac.Sum(nil)[:len(model.Digest{})])
}

// KeyedCode returns the keyed hash of the hash of code that contains a secret.
func (r *Redactor) KeyedCode(code model.Digest) model.Digest {
	if code == (model.Digest{}) {
		return code
	}
	return r.keyed(append([]byte("code "), code[:]...))
}

var literal = regexp.MustCompile("\"([^\"\n]+)\"|'([^'\n]+)'|`([^`\n]+)`")

// Remember registers a secret to remove, and its lines if it has several.
func (r *Redactor) Remember(raw string) {
	if redact.IsPlaceholder(raw) {
		return
	}
	for _, spelling := range spellings(raw) {
		for piece := range pieces(spelling) {
			if len(piece) >= MinSecret {
				r.Complete[piece] = true
			}
		}
	}
	if !strings.Contains(raw, "\n") {
		return
	}
	for line := range strings.Lines(raw) {
		if line = read.OneLine(line, len(line)); len(line) >= MinSecretLine && !strings.HasPrefix(line, "-----") {
			for piece := range pieces(line) {
				r.Complete[piece] = true
			}
		}
	}
}

// spellings returns the forms in which a secret may occur in texts, names, paths and refusals.
func spellings(raw string) []string {
	line := read.OneLine(raw, len(raw))
	out := []string{raw, read.MultiLine(raw, len(raw)), line}
	if unescaped, err := url.PathUnescape(line); err == nil {
		out = append(out, read.WithoutControls(unescaped, ""))
	}
	for _, s := range slices.Clone(out[2:]) {
		out = append(out, path.Clean(strings.ReplaceAll(s, `\`, "/")))
	}
	for _, s := range slices.Clone(out[2:]) {
		quoted := strconv.Quote(s)
		out = append(out, quoted[1:len(quoted)-1])
	}
	return out
}

// pieces splits a text into pieces of a limited length. The rest is appended to the last piece if
// it is too short.
func pieces(s string) iter.Seq[string] {
	return func(yield func(string) bool) {
		for len(s) > MaxPiece {
			piece := model.CutBytes(s, MaxPiece/2)
			if !yield(piece) {
				return
			}
			s = s[len(piece):]
		}
		yield(s)
	}
}

// Suspect registers a part of a match that may be the secret. It ignores short parts and those
// without a digit or character that words do not contain.
func (r *Redactor) Suspect(part string) {
	part = read.OneLine(part, len(part))
	if len(part) < MinSecretPart || !strings.ContainsFunc(part, redact.IsUnlikeWords) || redact.IsPlaceholder(part) {
		return
	}
	for piece := range pieces(part) {
		r.parts[piece] = true
	}
}

// IsRedacted reports whether the scanner redacted the secret. Gitleaks writes REDACTED, or a prefix
// and three dots; others write asterisks.
func IsRedacted(raw string) bool {
	return redact.IsPlaceholder(raw) || strings.Contains(strings.ToUpper(raw), "REDACTED") ||
		strings.Contains(raw, "***") || strings.HasSuffix(raw, "...")
}

// Scrub removes all registered secrets from the strings of the reports. It replaces the hash of
// code that contained one with a keyed hash.
func (r *Redactor) Scrub(reports ...*model.Report) {
	if len(r.Complete)+len(r.parts) == 0 {
		return
	}
	c := Cleaner{
		redactor:       r,
		containsSecret: r.holder(),
		ID:             func(int, *string) {},
		Name:           redacting(redact.NewKnown(r.Complete)),
		Text:           redacting(redact.NewKnown(r.Complete, r.parts)),
		Rules:          map[*model.Rule]bool{},
	}
	for _, rep := range reports {
		c.report(rep)
	}
}

// holder returns a function that reports whether code contains a secret, so that its hash must be
// removed. Words that are known only as passwords in addresses do not count: otherwise the
// finding's identity would change when the address is removed.
func (r *Redactor) holder() func(code string) bool {
	if len(r.words) == 0 {
		return func(string) bool { return true } // the code was changed, so it contains one
	}
	return r.Firm().In
}

// Firm returns the secrets that are not mere words.
func (r *Redactor) Firm() *redact.Known {
	firm := maps.Clone(r.Complete)
	maps.DeleteFunc(firm, func(secret string, _ bool) bool { return r.words[secret] })
	return redact.NewKnown(firm, r.parts)
}
