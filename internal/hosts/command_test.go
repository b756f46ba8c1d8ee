package hosts

import (
	"testing"

	"github.com/redoubt/redoubt/internal/model"
)

func TestExtractCommandFromComment(t *testing.T) {
	for body, want := range map[string]string{
		"/redoubt reopen":                                    "/redoubt reopen",
		"  \r\n /redoubt ignore\r\nthanks":                   "/redoubt ignore",
		"> /redoubt ignore\n\n/redoubt fixing":               "/redoubt fixing",
		"> what is it?\n> and why?\n\n/redoubt help":         "/redoubt help",
		"> quoted\n/redoubt ignore":                          "", // a lazy continuation line of the quote
		"> /redoubt ignore":                                  "",
		"    /redoubt ignore":                                "",
		"\t/redoubt ignore":                                  "",
		"```\n/redoubt ignore\n```":                          "",
		"<!--\n/redoubt ignore\n-->":                         "",
		"I would say\n/redoubt ignore":                       "",
		"/redoubtable":                                       "",
		"/Redoubt ignore":                                    "",
		"":                                                   "",
		"On Monday ada wrote:\n> x\n\n/redoubt ignore":       "",
		"`/redoubt ignore`":                                  "",
		"> a\n\n> /redoubt ignore\n\nno":                     "",
		"> a\r\n\r\n/redoubt assign @me\r\n\r\n> /redoubt x": "/redoubt assign @me",
	} {
		if line, is := commandLine(body); is != (want != "") || is && line != want {
			t.Errorf("%q asks for %q, %v; want %q", body, line, is, want)
		}
	}
}

func TestCommands(t *testing.T) {
	day, _ := model.EndOfDay("2999-01-31")
	for line, want := range map[string]command{
		"/redoubt exception until 2999-01-31: only tests": {verb: verbException, until: day, note: "only tests"},
		"/redoubt exception #7 Until 2999-01-31 x: y":     {verb: verbException, finding: 7, until: day, note: "x: y"},
		"/redoubt exception only until then":              {verb: verbException, note: "only until then"},
		"/redoubt":                                        {verb: verbHelp},
		"/redoubt help me":                                {verb: verbHelp},
		"/redoubt ignore":                                 {verb: verbIgnore},
		"/redoubt ignore false_positive: is a test":       {verb: verbIgnore, reason: model.FalsePositive, note: "is a test"},
		"/redoubt IGNORE #12 No-Time later":               {verb: verbIgnore, finding: 12, reason: model.NoTime, note: "later"},
		"/redoubt ignore never called":                    {verb: verbIgnore, note: "never called"},
		"/redoubt reopen 12":                              {verb: verbReopen, finding: 12},
		"/redoubt fixing with\x1b[31m #3":                 {verb: verbFix, note: "with[31m #3"},
		"/redoubt reviewing":                              {verb: verbReview},
		"/redoubt assign @Me":                             {verb: verbAssign, assignee: "me"},
		"/redoubt assign #7 Ada":                          {verb: verbAssign, finding: 7, assignee: "ada"},
	} {
		got, err := parseCommand(line)
		if err != nil || got != want {
			t.Errorf("%q is %+v, %v; want %+v", line, got, err, want)
		}
	}
	for _, line := range []string{"/redoubt ignore false_psitive: x", "/redoubt ignore no_triage_reason: x", "/redoubt assign", "/redoubt assign @", "/redoubt assign @a @b", "/redoubt delete", "/redoubt #12", "/redoubt exception", "/redoubt exception until", "/redoubt exception until 2999-01-31:", "/redoubt exception until 2999-02-30: x", "/redoubt exception until soon: x"} {
		if c, err := parseCommand(line); err == nil {
			t.Errorf("%q is %+v", line, c)
		}
	}
}
