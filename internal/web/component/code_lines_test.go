package component

import (
	"strings"
	"testing"

	"github.com/redoubt/redoubt/internal/model"
	"github.com/redoubt/redoubt/internal/store"
)

func TestMissingCodeReason(t *testing.T) {
	storesCode := model.Deployment{Slug: "acme", StoresCode: true}
	finding := model.Finding{IssueType: model.SAST, State: model.Unresolved, Line: 3}
	for name, test := range map[string]struct {
		in   model.Deployment
		edit func(*model.Finding)
		want string
	}{
		"not sent":     {storesCode, func(*model.Finding) {}, "not-sent"},
		"not kept":     {model.Deployment{Slug: "acme"}, func(*model.Finding) {}, "not-kept"},
		"supply chain": {storesCode, func(f *model.Finding) { f.IssueType = model.SCA }, "no-build"},
		"fixed":        {storesCode, func(f *model.Finding) { f.State = model.Fixed }, "fixed"},
		"removed":      {storesCode, func(f *model.Finding) { f.State = model.StateRemoved }, "removed"},
		"history":      {storesCode, func(f *model.Finding) { f.Historical = true }, "history"},
		"no line":      {storesCode, func(f *model.Finding) { f.Line = 0 }, "no-line"},
	} {
		f := finding
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
