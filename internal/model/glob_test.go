package model

import (
	"strings"
	"testing"
)

func TestInvalidPathGlobs(t *testing.T) {
	for _, glob := range []string{"", " ", "/", "//", " a", "a ", "#a", "!a", "./a", "a//b", `a\b`, "[z-a]", "[!]", "x[a-cz-a]", "\xff"} {
		globs := PathGlobs{"ok", glob}
		if globs.Check() == nil {
			t.Errorf("%q will do", glob)
		}
	}
}

func TestValidPathGlobs(t *testing.T) {
	globs := PathGlobs{"a", "/a/**/b/", "[a-c]x", "[!a]", "[^-a]", "[a-]", "a]", "[a", "[]", "[/]", "ä*"}
	if err := globs.Check(); err != nil {
		t.Error(err)
	}
}

func TestProjectGlobs(t *testing.T) {
	for _, c := range []struct {
		globs ProjectGlobs
		name  string
		want  bool
	}{
		{nil, "acme/web", true},
		{ProjectGlobs{"acme/web"}, "acme/web", true},
		{ProjectGlobs{"acme/web"}, "acme/web2", false},
		{ProjectGlobs{"acme/*"}, "acme/web", true},
		{ProjectGlobs{"acme/*"}, "acme/sub/web", false},
		{ProjectGlobs{"acme/**"}, "acme/sub/web", true},
		{ProjectGlobs{"*/web"}, "acme/web", true},
		{ProjectGlobs{"**/web"}, "acme/sub/web", true},
		{ProjectGlobs{"acme/w*b"}, "acme/wb", true},
		{ProjectGlobs{"other/*", "acme/*"}, "acme/web", true},
		{ProjectGlobs{"other/*"}, "acme/web", false},
		{ProjectGlobs{"ACME/*"}, "acme/web", false},
	} {
		if got := c.globs.Allows(c.name); got != c.want {
			t.Errorf("%v allows %q: %v, want %v", c.globs, c.name, got, c.want)
		}
	}
}

// TestHostileGlobIsNotExponential checks that matching does not take exponential time.
func TestHostileGlobIsNotExponential(t *testing.T) {
	glob := ProjectGlobs{strings.Repeat("*a", 12) + "b"}
	if glob.Allows(strings.Repeat("a", 40)) {
		t.Error("a name without b matched a glob that ends in b")
	}
}
