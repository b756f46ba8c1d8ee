package ui

import (
	"os"
	"strings"
	"testing"

	"github.com/PuerkitoBio/goquery"

	"github.com/redoubt/redoubt/internal/policy"
)

// TestPartialPreviewIsMarked checks that a page states when branches are missing because
// there are too many or they are too large.
func TestPartialPreviewIsMarked(t *testing.T) {
	all, err := (&Pages{assets: &assets{}}).parse(os.DirFS("../component"), os.DirFS("../policies"))
	if err != nil {
		t.Fatal(err)
	}
	for _, w := range []policy.Impact{{}, {Cut: true}, {Large: 2}, {Cut: true, Large: 2}} {
		var part strings.Builder
		data := struct {
			policy.Impact
			Most int
		}{w, 9}
		if err := all["policy_modes"].ExecuteTemplate(&part, "would-part", data); err != nil {
			t.Fatal(err)
		}
		page, err := goquery.NewDocumentFromReader(strings.NewReader(part.String()))
		if err != nil {
			t.Fatal(err)
		}
		if marked := page.Find("[data-say=part]").Length() == 1; marked != (w.Cut || w.Large > 0) {
			t.Errorf("%+v: said is %v", w, marked)
		}
	}
}
