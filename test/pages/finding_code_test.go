package pages

import (
	"context"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/redoubt/redoubt/internal/model"
	"github.com/redoubt/redoubt/internal/store"
)

// storeCode stores code around a finding, changed by edit, as sent by a build.
func (s *site) storeCode(id string, edit func(*model.Snippet)) {
	s.t.Helper()
	n, err := strconv.ParseInt(id, 10, 64)
	if err != nil {
		s.t.Fatal(err)
	}
	err = s.store.Update(s.t.Context(), s.org.ID, model.Actor{Kind: "token"}, func(ctx context.Context, tx *store.Tx) error {
		f, err := tx.Finding(ctx, n)
		if err != nil {
			return err
		}
		snippet := model.Snippet{
			FindingID: n, ScanID: 1, Commit: "fd2f6e0c7b2b4a6f8f3b1d2c3e4f5a6b7c8d9e0f", Path: f.Path, Line: f.Line, EndLine: f.Line + 1, First: f.Line - 1,
			Lines: []string{"before()", "<script>alert(1)</script>", "\t</mark></pre><img src=x>", "after()"},
		}
		if edit != nil {
			edit(&snippet)
		}
		return tx.PutSnippets(ctx, []model.Snippet{snippet})
	})
	if err != nil {
		s.t.Fatal(err)
	}
}

// highlights matches a highlighted part of code.
var highlights = regexp.MustCompile(`<span class="h[a-z]">([^<]*)</span>`)

// TestFindingCode checks line numbers, the highlighted lines of the finding and escaping, and
// the reason for missing code.
func TestFindingCode(t *testing.T) {
	s := demoSite(t)
	id := firstFinding(s)
	s.storeCode(id, nil)
	page := s.page("/findings/" + id)
	plain := highlights.ReplaceAllString(page, "$1")
	containsAll(t, plain, `<mark>&lt;script&gt;alert(1)&lt;/script&gt;</mark>`, "<mark>\t&lt;/mark&gt;&lt;/pre&gt;&lt;img src=x&gt;</mark>", `before()`, `</span>after()`)
	if strings.Count(page, `class="line hit"`) != 2 || strings.Count(page, `class="line"`) != 2 || document(t, page).Find("[data-say=code-was]").Length() > 0 {
		t.Errorf("the lines are not marked:\n%s", page[strings.Index(page, `<pre class="code"`):])
	}
	checkInline(t, page)
	s.storeCode(id, func(snippet *model.Snippet) { snippet.Path, snippet.Line = "old/<b>.py", 3 })
	moved := textAt(t, s.page("/findings/"+id), "[data-say=code-was]")
	containsAll(t, moved, "old/<b>.py:3", "fd2f6e0c7b2b")
	containsAll(t, s.page("/findings/"+id), "old/&lt;b&gt;.py:3")
}
