package runner

import (
	"slices"
	"strings"
)

// hider takes out of texts what a run must not tell: its token, and what it fetches with. It
// is safe for concurrent use.
type hider struct {
	replacer *strings.Replacer
	longest  int // bytes of the longest that is taken out
}

const hidden = "[hidden]"

// leastPart is how long a line of a secret of several lines must be to be taken out by
// itself, in bytes: a shorter one tells little, and is in much that is none.
const leastPart = 8

// newHider makes one for secrets; empty ones are none. A log is read line by line, so each
// line of one that has several, as a key has, is taken out by itself too.
func newHider(secrets ...string) hider {
	var all []string
	for _, secret := range secrets {
		if secret = strings.TrimSpace(secret); secret == "" {
			continue
		}
		all = append(all, secret)
		for line := range strings.Lines(secret) {
			if line = strings.TrimSpace(line); line != secret && len(line) >= leastPart && !strings.HasPrefix(line, "-----") {
				all = append(all, line)
			}
		}
	}
	slices.SortFunc(all, func(a, b string) int { return len(b) - len(a) }) // one may begin as another does
	h := hider{}
	var pairs []string
	for _, secret := range all {
		h.longest = max(h.longest, len(secret))
		pairs = append(pairs, secret, hidden)
	}
	h.replacer = strings.NewReplacer(pairs...)
	return h
}

// clean is a text without them.
func (h hider) clean(text string) string {
	if h.replacer == nil { // the zero one knows none
		return text
	}
	return h.replacer.Replace(text)
}

// begun is the beginning of a longer text without them, and without what may be the
// beginning of one at its end.
func (h hider) begun(text string) string {
	text = h.clean(text)
	return text[:max(0, len(text)-max(0, h.longest-1))]
}
