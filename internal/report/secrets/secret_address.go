package secrets

import (
	"bytes"
	"strings"

	"github.com/redoubt/redoubt/internal/redact"
)

// AddressWatch learns what signs in at the addresses of a file as it is read, before
// anybody takes an address apart: readers cut it at its colons, and paths lose one of
// its slashes, so that no shape is left to know it by (docs/reference/secrets.md).
type AddressWatch struct {
	learn func(secret string)
	tail  []byte // the end of what was seen
}

const (
	maxAddress = 512    // bytes of an address that are looked at
	maxLearned = 10_000 // secrets of addresses, in one upload
)

// See looks at the next part of the file.
func (w *AddressWatch) See(p []byte) {
	if len(w.tail) > 0 {
		w.look(append(w.tail, p[:min(len(p), maxAddress)]...))
	}
	w.look(p)
	if len(p) < maxAddress {
		w.tail = append(w.tail, p...)
		w.tail = w.tail[max(0, len(w.tail)-maxAddress):]
		return
	}
	w.tail = append(w.tail[:0], p[len(p)-maxAddress:]...)
}

func (w *AddressWatch) look(p []byte) {
	for _, slashes := range []string{"://", `:\/\/`} { // as JSON may escape them
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

// Watch is for one file; none without a redactor.
func (r *Redactor) Watch() *AddressWatch {
	if r == nil {
		return nil
	}
	return &AddressWatch{learn: func(secret string) {
		if !r.learned[secret] && len(r.learned) < maxLearned {
			r.learned[secret] = true
			if !redact.IsRandom(secret) && !r.Whole[secret] {
				r.words[secret] = true
			}
			r.Remember(secret)
		}
	}}
}
