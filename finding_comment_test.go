package redoubt_test

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/redoubt/redoubt"
)

// TestMentions is a table of texts and whom they name.
func TestMentions(t *testing.T) {
	people := []string{"ana", "ben", "ana.lee", "eve@example.com"}
	known := func(name string) bool { return slices.Contains(people, name) }
	for text, want := range map[string][]string{
		"":                            nil,
		"nobody":                      nil,
		"@ana":                        {"ana"},
		"@Ana and @BEN":               {"ana", "ben"},
		"look, @ana.":                 {"ana"},
		"look, @ana.lee.":             {"ana.lee"},
		"(@ben)":                      {"ben"},
		"@ben's":                      {"ben"},
		"@ben: see @ben":              {"ben", "ben"},
		"@ana-lee, @anab":             nil,
		"@eve@example.com,":           {"eve@example.com"},
		"mail me@ana, é@ana, _@ana":   nil,
		"path/@ana":                   nil,
		"@@ana":                       nil,
		"@ana@ben":                    nil,
		"@nobody @ana...":             {"ana"},
		"line\n@ana\tx":               {"ana"},
		"@":                           nil,
		"@" + strings.Repeat("a", 99): nil,
	} {
		var got []string
		for _, m := range redoubt.Mentions(text, known) {
			got = append(got, m.Name)
			if said := text[m.Start:m.End]; !strings.EqualFold(said, "@"+m.Name) {
				t.Errorf("%q: %s is at %q", text, m.Name, said)
			}
		}
		if !slices.Equal(got, want) {
			t.Errorf("%q names %q, want %q", text, got, want)
		}
		for _, name := range got {
			if !slices.Contains(redoubt.MentionedNames(text), name) {
				t.Errorf("%q: %s is not looked up", text, name)
			}
		}
	}
	if n := len(redoubt.MentionedNames(strings.Repeat("@ana. @ben_. ", 200))); n != 5 { // ana. and ana; ben_., ben_ and ben
		t.Errorf("%d names are looked up of two", n)
	}
	var many strings.Builder
	for i := range 1000 {
		many.WriteString("@a" + strings.Repeat("b", i%90) + string(rune('a'+i/90)) + " ")
	}
	if n := len(redoubt.MentionedNames(many.String())); n != 100 {
		t.Errorf("%d names are looked up", n)
	}
}

// TestCommentText is a table of what somebody sends.
func TestCommentText(t *testing.T) {
	for said, want := range map[string]string{
		" x \r\n y\t":                          "x \n y",
		"a\x1b[31mb\u202e\u2028":               "a[31mb",
		strings.Repeat("é", redoubt.MaxNote):   strings.Repeat("é", redoubt.MaxNote),
		"":                                     "",
		" \n\u2028":                            "",
		"a\x00b":                               "",
		"\xff":                                 "",
		strings.Repeat("é", redoubt.MaxNote+1): "",
	} {
		got, err := redoubt.CommentText(said)
		if _, invalid := errors.AsType[*redoubt.InvalidError](err); invalid != (want == "") || err == nil && got != want {
			t.Errorf("%.40q is %.40q, %v", said, got, err)
		}
	}
}
