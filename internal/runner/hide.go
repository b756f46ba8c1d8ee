package runner

import (
	"strings"

	"github.com/redoubt/redoubt/internal/redact"
)

// hider takes out of texts what a run must not tell: its token, and what it fetches with. It
// is safe for concurrent use.
type hider struct {
	known   *redact.Known
	longest int // bytes of the longest that is taken out
}

// leastPart is how long a line of a secret of several lines must be to be taken out by
// itself, in bytes: a shorter one tells little, and is in much that is none.
const leastPart = 8

// newHider makes one for secrets; empty ones are none. A log is read line by line, so each
// line of one that has several, as a key has, is taken out by itself too.
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

// clean is a text without them.
func (h hider) clean(text string) string {
	if h.known == nil { // the zero one knows none
		return text
	}
	return h.known.Redact(text)
}

// begun is the beginning of a longer text without them, and without what may be the
// beginning of one at its end.
func (h hider) begun(text string) string {
	text = h.clean(text)
	return text[:max(0, len(text)-max(0, h.longest-1))]
}
