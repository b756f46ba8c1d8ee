package ui

import (
	"net/url"
	"strings"
	"testing"
)

func FuzzSafeNext(f *testing.F) {
	for _, s := range []string{"/a", "//a", `/\a`, "/\n/a", "http:/a", "/a?b=//c"} {
		f.Add(s)
	}
	base := &url.URL{Scheme: "https", Host: "redoubt.example"}
	f.Fuzz(func(t *testing.T, next string) {
		// Browsers replace \ with / and remove tabs and line breaks.
		read := strings.NewReplacer(`\`, "/", "\t", "", "\n", "", "\r", "").Replace(SafeNext(next))
		to, err := base.Parse(read)
		if err != nil || to.Host != base.Host || to.Scheme != base.Scheme || strings.HasPrefix(read, "//") {
			t.Errorf("%q leads to %v, %v", next, to, err)
		}
	})
}
