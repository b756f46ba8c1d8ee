package ui

import (
	"testing"

	"github.com/redoubt/redoubt/internal/model"
)

func TestSafeURL(t *testing.T) {
	for in, want := range map[string]string{
		"https://example.com/a?b=c#d": "https://example.com/a?b=c#d",
		" http://example.com ":        "http://example.com",
		"javascript:alert(1)":         "",
		"JaVaScRiPt:alert(1)":         "",
		"java\nscript:alert(1)":       "",
		"data:text/html,x":            "",
		"//example.com":               "",
		"https:evil":                  "",
		"/local":                      "",
		"":                            "",
	} {
		if got := safeURL(in); got != want {
			t.Errorf("safeURL(%q) = %q, want %q", in, got, want)
		}
	}
}

func TestFormatHelpers(t *testing.T) {
	for n, want := range map[int]string{0: "0", 999: "999", 1000: "1\u202f000", 1234567: "1\u202f234\u202f567", -1234: "-1\u202f234"} {
		if got := Count(n); got != want {
			t.Errorf("count(%d) = %q, want %q", n, got, want)
		}
	}
	for ref, want := range map[string]string{"refs/heads/main": "main", "refs/tags/v1": "v1", "refs/pull/7/merge": "pull/7/merge", "HEAD": "HEAD"} {
		if got := Branch(ref); got != want {
			t.Errorf("branch(%q) = %q, want %q", ref, got, want)
		}
	}
	if _, ok := model.ParseRole("owner"); ok {
		t.Error("an unknown role is accepted")
	}
}
