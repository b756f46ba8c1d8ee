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

// Redacted stands in place of a secret.
const Redacted = redact.Mark

// Below these lengths, in bytes, a text is too common to be taken out of
// others: it would tear holes into words.
const (
	MinSecret     = 6
	MinSecretPart = 8
	MinSecretLine = 16 // of a secret of several lines, as a private key
)

// MaxPiece bounds the pieces, in bytes. A long secret is searched for in pieces of half of it, the last one
// of up to all of it: at each byte of a text the search may go as deep as the
// longest piece, and a report made for it would keep a processor for hours.
const MaxPiece = 128

// Redactor remembers the raw secrets of a report to take them out of all of it
// (docs/reference/secrets.md).
type Redactor struct {
	key   []byte
	Whole map[string]bool // secrets, taken out of everything
	// what may be the secret inside of a match, taken out of texts but not of paths and names
	parts    map[string]bool
	Declared map[*model.Rule]bool // rules that say themselves which product they are of
	Then     []func()             // what is left to do once secrets are gone
	Computed map[string]bool      // ids of results that no scanner told
	Wider    map[string]string    // by their hashes, formulas that may hold what the code of their results does not
	Last     []func()             // what is left to do once all files are read
	Boms     map[string]any       // packages of the BOMs of an upload, by serial number: see package bom
	learned  map[string]bool      // of addresses, among whole
	words    map[string]bool      // of learned: what may stand as a word elsewhere, and is known from addresses alone
	Locks    lockfile.Upload      // the lockfiles of the upload

	keepLines bool // whether texts keep their number of lines
}

// NewRedactor returns a Redactor for one upload. Without a key no secret is hashed.
func NewRedactor(key []byte) *Redactor {
	return &Redactor{
		key:      key,
		Whole:    map[string]bool{},
		parts:    map[string]bool{},
		Declared: map[*model.Rule]bool{},
		Computed: map[string]bool{},
		Wider:    map[string]string{},
		Boms:     map[string]any{},
		learned:  map[string]bool{},
		words:    map[string]bool{},
	}
}

// Known is how many secrets and spellings of them are remembered.
func (r *Redactor) Known() int { return len(r.Whole) + len(r.parts) }

// Take remembers a secret as the report spells it, and returns its keyed hash,
// or zero where the report already holds it redacted.
func (r *Redactor) Take(raw string) model.Digest {
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

// keyed hashes under the server's key; without one there is no hash.
func (r *Redactor) keyed(text []byte) model.Digest {
	if len(r.key) == 0 {
		return model.Digest{}
	}
	mac := hmac.New(sha256.New, r.key)
	mac.Write(text)
	return model.Digest(mac.Sum(nil)[:len(model.Digest{})])
}

// KeyedCode hashes the hash of code that holds a secret.
func (r *Redactor) KeyedCode(code model.Digest) model.Digest {
	if code == (model.Digest{}) {
		return code
	}
	return r.keyed(append([]byte("code "), code[:]...))
}

var literal = regexp.MustCompile("\"([^\"\n]+)\"|'([^'\n]+)'|`([^`\n]+)`")

// Remember notes a secret to be taken out, and its lines where it has several.
func (r *Redactor) Remember(raw string) {
	if redact.IsPlaceholder(raw) {
		return
	}
	for _, spelling := range spellings(raw) {
		for piece := range pieces(spelling) {
			if len(piece) >= MinSecret {
				r.Whole[piece] = true
			}
		}
	}
	if !strings.Contains(raw, "\n") {
		return
	}
	for line := range strings.Lines(raw) {
		if line = read.OneLine(line, len(line)); len(line) >= MinSecretLine && !strings.HasPrefix(line, "-----") {
			for piece := range pieces(line) {
				r.Whole[piece] = true
			}
		}
	}
}

// spellings are the ways in which texts, names, paths and refusals of a report
// end up with a secret in them.
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

// pieces cuts a text into those of a bounded length. What is left over at the
// end is too short to look for and stays with the last one.
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

// Suspect notes a part of a match that looks like the secret itself: longer
// than most words, and with a digit or sign that words do not have.
func (r *Redactor) Suspect(part string) {
	part = read.OneLine(part, len(part))
	if len(part) < MinSecretPart || !strings.ContainsFunc(part, redact.IsUnlikeWords) || redact.IsPlaceholder(part) {
		return
	}
	for piece := range pieces(part) {
		r.parts[piece] = true
	}
}

// IsRedacted tells whether a scanner has taken the secret out itself: gitleaks
// writes REDACTED, or the beginning and three dots; others write asterisks.
func IsRedacted(raw string) bool {
	return redact.IsPlaceholder(raw) || strings.Contains(strings.ToUpper(raw), "REDACTED") ||
		strings.Contains(raw, "***") || strings.HasSuffix(raw, "...")
}

// Scrub takes every remembered secret out of every string of the reports. The
// hash of code that held one gives way to a keyed one.
func (r *Redactor) Scrub(reports ...*model.Report) {
	if len(r.Whole)+len(r.parts) == 0 {
		return
	}
	c := Cleaner{
		redactor: r,
		holds:    r.holder(),
		ID:       func(int, *string) {},
		Name:     redacting(redact.NewKnown(r.Whole)),
		Text:     redacting(redact.NewKnown(r.Whole, r.parts)),
		Rules:    map[*model.Rule]bool{},
	}
	for _, rep := range reports {
		c.report(rep)
	}
}

// holder returns what tells whether code holds a secret, so that its hash has to
// go. A word that is the password of some address does not make one of all code
// that has it: that code would be another finding as soon as the address is gone.
func (r *Redactor) holder() func(code string) bool {
	if len(r.words) == 0 {
		return func(string) bool { return true } // it was changed, for one
	}
	return r.Firm().In
}

// Firm are the secrets that surely are some.
func (r *Redactor) Firm() *redact.Known {
	firm := maps.Clone(r.Whole)
	maps.DeleteFunc(firm, func(secret string, _ bool) bool { return r.words[secret] })
	return redact.NewKnown(firm, r.parts)
}
