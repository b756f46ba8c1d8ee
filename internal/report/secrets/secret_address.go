package secrets

import (
	"bytes"
	"strings"

	"github.com/redoubt/redoubt/internal/redact"
)

// AddressWatch registers the credentials in addresses of a file while it is read. Readers split
// addresses at colons, and paths lose a slash, so that they cannot be recognized later
// (docs/reference/secrets.md).
type AddressWatch struct {
	learn func(secret string)
	tail  []byte // end of the previous data
}

const (
	maxAddress = 512    // maximum length of the credentials in an address, in bytes
	maxLearned = 10_000 // maximum number of secrets in addresses, per upload
)

// See processes the next part of the file.
func (w *AddressWatch) See(p []byte) {
	if len(w.tail) > 0 {
		w.scan(append(w.tail, p[:min(len(p), maxAddress)]...))
	}
	w.scan(p)
	if len(p) < maxAddress {
		w.tail = append(w.tail, p...)
		w.tail = w.tail[max(0, len(w.tail)-maxAddress):]
		return
	}
	w.tail = append(w.tail[:0], p[len(p)-maxAddress:]...)
}

func (w *AddressWatch) scan(p []byte) {
	for _, slashes := range []string{"://", `:\/\/`} { // the second form is escaped in JSON
		for rest := p; ; {
			at := bytes.Index(rest, []byte(slashes))
			if at < 0 {
				break
			}
			rest = rest[at+len(slashes):]
			end := bytes.IndexAny(rest[:min(len(rest), maxAddress)], "@/\\\"'<> \t\r\n")
			if end < 0 || rest[end] != '@' {
				continue
			}
			user, password, both := strings.Cut(string(rest[:end]), ":")
			switch {
			case both && redact.IsSecretValue(password):
				w.learn(password)
			case !both && redact.IsRandom(user):
				w.learn(user)
			}
		}
	}
}

// Watch returns the AddressWatch of a file, or nil if r is nil.
func (r *Redactor) Watch() *AddressWatch {
	if r == nil {
		return nil
	}
	return &AddressWatch{learn: func(secret string) {
		if !r.learned[secret] && len(r.learned) < maxLearned {
			r.learned[secret] = true
			if !redact.IsRandom(secret) && !r.Complete[secret] {
				r.words[secret] = true
			}
			r.Remember(secret)
		}
	}}
}
