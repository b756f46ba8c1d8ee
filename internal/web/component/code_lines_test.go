package component

import (
	"strings"
	"testing"

	"github.com/redoubt/redoubt/internal/model"
	"github.com/redoubt/redoubt/internal/store"
)

func TestMissingCodeReason(t *testing.T) {
	keeps := model.Deployment{Slug: "acme", StoresCode: true}
	there := model.Finding{IssueType: model.SAST, State: model.Unresolved, Line: 3}
	for name, test := range map[string]struct {
		in   model.Deployment
		edit func(*model.Finding)
		want string
	}{
		"not sent":     {keeps, func(*model.Finding) {}, "not-sent"},
		"not kept":     {model.Deployment{Slug: "acme"}, func(*model.Finding) {}, "not-kept"},
		"supply chain": {keeps, func(f *model.Finding) { f.IssueType = model.SCA }, "no-build"},
		"fixed":        {keeps, func(f *model.Finding) { f.State = model.Fixed }, "fixed"},
		"removed":      {keeps, func(f *model.Finding) { f.State = model.StateRemoved }, "removed"},
		"history":      {keeps, func(f *model.Finding) { f.Historical = true }, "history"},
		"no line":      {keeps, func(f *model.Finding) { f.Line = 0 }, "no-line"},
	} {
		f := there
		test.edit(&f)
		got := whyNoCode(test.in, store.Occurrence{Finding: f})
		if got.Code != test.want {
			t.Errorf("%s: %q", name, got)
		}
		if command := "redoubt deployment set acme --code=on"; strings.Contains(got.Text, command) != (test.want == "not-kept") {
			t.Errorf("%s: %q names the command: it should be %v", name, got.Text, test.want == "not-kept")
		}
	}
}
