package model_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/redoubt/redoubt/internal/model"
)

// TestEndOfDay checks which last days are accepted. It rejects days whose end cannot be represented
// or means never.
func TestEndOfDay(t *testing.T) {
	for day, want := range map[string]string{
		"2027-01-31": "2027-02-01T00:00:00Z", "0001-01-01": "0001-01-02T00:00:00Z", "9999-12-30": "9999-12-31T00:00:00Z",
		"9999-12-31": "", "0000-12-31": "", "0000-01-01": "", "2027-02-30": "", "2027-1-31": "", "": "",
	} {
		end, ok := model.EndOfDay(day)
		if ok != (want != "") || ok && end.Format(time.RFC3339) != want {
			t.Errorf("%q ends at %v, %t, want %q", day, end, ok, want)
		}
		if back := model.LastDay(end); ok && back != day {
			t.Errorf("%q came back as %q", day, back)
		}
	}
}

// TestDecidedByPerson checks each state, set by a user and by a worker.
func TestDecidedByPerson(t *testing.T) {
	for state, want := range map[model.TriageState]struct{ decided, handled bool }{
		0: {}, model.TriageUntriaged: {}, model.TriageReopened: {true, false},
		model.TriageIgnored: {true, true}, model.TriageReviewing: {true, true}, model.TriageFixing: {true, true},
	} {
		if got := (model.Triage{State: state}); got.DecidedByPerson() != want.decided || got.HandledByPerson() != want.handled {
			t.Errorf("%q: decided %t, handled %t", state, got.DecidedByPerson(), got.HandledByPerson())
		}
		if got := (model.Triage{State: state, Automatic: true}); got.DecidedByPerson() || got.HandledByPerson() {
			t.Errorf("%q of a worker is a person's", state)
		}
	}
}

// TestTriageLine checks that the result depends on each field.
func TestTriageLine(t *testing.T) {
	now := time.Unix(1, 0)
	seen := map[string]bool{}
	for _, tr := range []model.Triage{
		{},
		{State: model.TriageIgnored},
		{Reason: model.NoTime},
		{Comment: "a"},
		{At: now},
		{By: model.Actor{Kind: "user", ID: "1"}},
		{Automatic: true},
		{Until: now},
		{Assignee: "a"},
	} {
		if line := tr.Line(); seen[line] {
			t.Errorf("%+v is %q, as another", tr, line)
		}
		seen[tr.Line()] = true
	}
}

// TestMentions checks which users texts mention.
func TestMentions(t *testing.T) {
	people := []string{"ana", "ben", "ana.lee", "eve@example.com", "low_"}
	spam := "@x" + strings.Repeat(".", 98)
	var many strings.Builder
	for many.Len() < model.MaxNote-8 {
		fmt.Fprintf(&many, "@%x.... ", many.Len())
	}
	known := func(name string) bool { return slices.Contains(people, name) }
	for text, want := range map[string][]string{
		"":                            nil,
		"no name":                     nil,
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
		"@unknown @ana...":            {"ana"},
		"@ana.....................":   {"ana"},
		"@ana.lee_-_-_-_-_-":          {"ana.lee"},
		"@low_........":               {"low_"},
		spam + " @ana":                {"ana"},
		many.String() + "@ben":        {"ben"},
		"line\n@ana\tx":               {"ana"},
		"@":                           nil,
		"@" + strings.Repeat("a", 99): nil,
	} {
		var got []string
		for _, m := range model.Mentions(text, known) {
			got = append(got, m.Name)
			if mention := text[m.Start:m.End]; !strings.EqualFold(mention, "@"+m.Name) {
				t.Errorf("%q: %s is at %q", text, m.Name, mention)
			}
		}
		if !slices.Equal(got, want) {
			t.Errorf("%q names %q, want %q", text, got, want)
		}
		for _, name := range got {
			if !slices.Contains(model.MentionedNames(text), name) {
				t.Errorf("%q: %s is not looked up", text, name)
			}
		}
	}
	if n := len(model.MentionedNames(strings.Repeat("@ana. @ben_. ", 200))); n != 5 { // ana., ana, ben_., ben_, ben
		t.Errorf("%d names are looked up of two", n)
	}
	for name, text := range map[string]string{"one long end": spam, "many": many.String(), "short ones": strings.Repeat("@a. @b_ @c- ", 250)} {
		if n, most := len(model.MentionedNames(text)), 6*strings.Count(text, "@"); n > most || n > 2500 {
			t.Errorf("%s: %d names are looked up of %d bytes", name, n, len(text))
		}
	}
}

// TestCommentText checks how submitted comments are normalized.
func TestCommentText(t *testing.T) {
	for input, want := range map[string]string{
		" x \r\n y\t":                        "x \n y",
		"a\x1b[31mb\u202e\u2028":             "a[31mb",
		strings.Repeat("é", model.MaxNote):   strings.Repeat("é", model.MaxNote),
		"":                                   "",
		" \n\u2028":                          "",
		"a\x00b":                             "",
		"\xff":                               "",
		strings.Repeat("é", model.MaxNote+1): "",
	} {
		got, err := model.CommentText(input)
		if _, invalid := errors.AsType[*model.InvalidError](err); invalid != (want == "") || err == nil && got != want {
			t.Errorf("%.40q is %.40q, %v", input, got, err)
		}
	}
}
