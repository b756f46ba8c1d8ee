package runner

import (
	"strings"

	"github.com/redoubt/redoubt/internal/redact"
)

// hider removes secrets from texts: the token of a run and its clone credential. It is safe for
// concurrent use.
type hider struct {
	known   *redact.Known
	longest int // bytes of the longest secret
}

// leastPart is the minimum length, in bytes, of a line of a multiline secret that is removed by
// itself. Shorter lines reveal little and occur in other texts.
const leastPart = 8

// newHider returns a hider for the secrets that are not empty. Logs are processed line by line, so
// each line of a multiline secret, such as a key, is also removed by itself.
func newHider(secrets ...string) hider {
	h, all := hider{}, map[string]bool{}
	note := func(secret string) {
		all[secret], h.longest = true, max(h.longest, len(secret))
	}
	for _, secret := range secrets {
		if secret = strings.TrimSpace(secret); secret == "" {
			continue
		}
		note(secret)
		for line := range strings.Lines(secret) {
			if line = strings.TrimSpace(line); line != secret && len(line) >= leastPart && !strings.HasPrefix(line, "-----") {
				note(line)
			}
		}
	}
	h.known = redact.NewKnown(all)
	return h
}

// clean removes the secrets from a text.
func (h hider) clean(text string) string {
	if h.known == nil { // the zero value has no secrets
		return text
	}
	return h.known.Redact(text)
}

// begun cleans the beginning of a longer text. It also removes a possible beginning of a secret at
// its end.
func (h hider) begun(text string) string {
	text = h.clean(text)
	return text[:max(0, len(text)-max(0, h.longest-1))]
}
