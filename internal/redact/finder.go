// Package redact removes credentials from texts. It recognizes the formats of common
// credentials, values assigned to names such as password, and values that the caller lists.
// All external text is redacted before it is stored.
package redact

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"math/bits"
	"net/url"
	"strings"
)

// Mark replaces a redacted credential.
const Mark = "[REDACTED]"

// minValue is the minimum length of a secret, in bytes. Shorter values are too common.
const minValue = 8

// Finder replaces credentials with Mark. It detects them by their format and by the name they are
// assigned to. It never uses entropy alone, so that hashes, ids and images are preserved. It runs
// in linear time.
type Finder struct {
	// Found is called with each random value that is replaced. It is not called for values made of
	// words, which may occur in other texts without being secrets. It may be nil.
	Found func(secret string)
	// PreserveLines preserves the number of lines: a credential of several lines becomes as many marks.
	PreserveLines bool
	// Key is the HMAC key of Name. If it is empty, Name inserts Mark.
	Key []byte
}

// Text redacts a text with the zero Finder.
func Text(s string) string { return Finder{}.Text(s) }

// Text redacts code, messages and notes. It ignores Key.
func (f Finder) Text(s string) string {
	if len(s) < minValue {
		return s
	}
	f.Key = nil
	return Joined(f.assigned(f.shapes(s)))
}

// Name redacts a name, path, ref or version, which may be a URL but contains no assignments. It
// replaces each credential with a keyed hash of fixed length, so that equal names stay equal and
// different names differ. If a URL-escaped name contains a credential, the result is not escaped.
func (f Finder) Name(s string) string {
	s = f.name(s)
	if !strings.ContainsAny(s, "%+") {
		return s
	}
	if plain, err := url.QueryUnescape(s); err == nil {
		if redacted := f.name(plain); redacted != plain {
			return redacted
		}
	}
	return s
}

// Names redacts several names in place.
func (f Finder) Names(names ...*string) {
	for _, name := range names {
		*name = f.Name(*name)
	}
}

func (f Finder) name(s string) string {
	s = f.shapes(s)
	if strings.Contains(s, userInfo.mark) && strings.ContainsAny(s, "@=") {
		for _, shape := range []shape{signedInAs, inQuery} {
			s = shape.replace(s, func(secret string) string {
				if !IsSecretValue(secret) || !IsRandom(secret) && shape.mark == signedInAs.mark {
					return secret
				}
				f.found(secret)
				return f.mark(secret)
			})
		}
	}
	return Joined(s)
}

func (f Finder) found(secret string) {
	if f.Found != nil {
		f.Found(secret)
	}
}

// shapes redacts values that have the format of a credential.
func (f Finder) shapes(s string) string {
	marks := shapeMarks.in(s)
	for rest := marks; rest != 0; rest &= rest - 1 {
		index := bits.TrailingZeros64(rest)
		if index == len(shapes) {
			break
		}
		s = shapes[index].replace(s, func(secret string) string {
			if is := shapes[index].is; is != nil && !is(secret) || IsPlaceholder(secret) {
				return secret
			}
			f.found(secret)
			return f.mark(secret)
		})
	}
	if marks>>len(shapes) == 0 || !strings.Contains(s, "@") {
		return s
	}
	return userInfo.replace(s, func(password string) string {
		if IsTemplate(password) || IsPlaceholder(password) {
			return password
		}
		if IsRandom(password) {
			f.found(password)
		}
		return f.mark(password)
	})
}

// mark returns the replacement of a secret. With PreserveLines it has as many lines as the secret.
func (f Finder) mark(secret string) string {
	if len(f.Key) > 0 {
		mac := hmac.New(sha256.New, f.Key)
		mac.Write([]byte("name " + secret))
		return "REDACTED-" + hex.EncodeToString(mac.Sum(nil)[:8])
	}
	if !f.PreserveLines {
		return Mark
	}
	return Mark + strings.Repeat("\n"+Mark, strings.Count(secret, "\n"))
}

// assigned redacts values that are assigned to names of secrets.
func (f Finder) assigned(s string) string {
	s = f.values(s, (*assigned).quoted, IsSecretValue)
	return f.values(s, (*assigned).bare, IsRandom)
}

// values redacts the values that next returns and isSecret accepts.
func (f Finder) values(s string, next func(*assigned) (Span, bool), isSecret func(string) bool) string {
	var cuts []Span
	for a := (&assigned{s: s}); ; {
		value, ok := next(a)
		if !ok {
			return Cut(s, cuts)
		}
		value.From += len(authScheme.FindString(s[value.From:value.To]))
		if secret := s[value.From:value.To]; isSecret(secret) {
			if IsRandom(secret) {
				f.found(secret)
			}
			cuts = append(cuts, value)
		}
	}
}

// Span is a byte range of a text.
type Span struct{ From, To int }

// Cut replaces spans of a text with marks. The spans are sorted by start and may overlap.
func Cut(s string, spans []Span) string {
	if len(spans) == 0 {
		return s
	}
	var b strings.Builder
	last := 0
	for _, cut := range spans {
		if cut.From >= last {
			b.WriteString(s[last:cut.From])
			b.WriteString(Mark)
		}
		last = max(last, cut.To)
	}
	b.WriteString(s[last:])
	return b.String()
}

// Joined merges adjacent marks into one.
func Joined(s string) string {
	for strings.Contains(s, Mark+Mark) {
		s = strings.ReplaceAll(s, Mark+Mark, Mark)
	}
	return s
}
