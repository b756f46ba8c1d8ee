package pages

import (
	"html"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strings"
	"testing"

	"github.com/redoubt/redoubt/internal/model"
	"github.com/redoubt/redoubt/internal/web"
	"github.com/redoubt/redoubt/internal/web/ui"
)

var (
	postForm            = regexp.MustCompile(`(?s)<form [^>]*method="post"[^>]*>.*?</form>`)
	actionOf            = regexp.MustCompile(`action="([^"]*)"`)
	confirmationDetails = regexp.MustCompile(`(?s)<details class="ask">.*?</details>`)
)

// minimumRoles returns the minimum role of each route.
func minimumRoles() (mux *http.ServeMux, least map[string]model.Role) {
	mux, least = http.NewServeMux(), map[string]model.Role{}
	for _, r := range web.Routes() {
		pattern := r.Method + " " + r.Pattern
		mux.HandleFunc(pattern, func(http.ResponseWriter, *http.Request) {})
		least[pattern] = r.Role
	}
	return mux, least
}

// TestPagesShowPermittedActions checks that pages offer no action that the server rejects for the
// viewer, and that no single click deletes data permanently.
func TestPagesShowPermittedActions(t *testing.T) {
	s := demoSite(t)
	s.build(branchReport(s, "main", true, "old"))
	s.build(branchReport(s, "topic", false, "one"))
	s.setMode("one", model.ModeBlock)
	blocking := "/scans/" + ui.Decimal(s.build(branchReport(s, "topic", false, "one")).ScanID) + "/blocking"
	mux, least := minimumRoles()
	for _, role := range []model.Role{model.RoleViewer, model.RoleTriager, model.RoleAdmin} {
		s.as(role)
		offered := 0
		for _, page := range append(pagesOf(s), blocking) {
			text := s.page(page)
			check := func(method, address string) {
				address, _, _ = strings.Cut(html.UnescapeString(address), "#")
				if !strings.HasPrefix(address, "/orgs/acme") {
					return
				}
				_, pattern := mux.Handler(httptest.NewRequestWithContext(t.Context(), method, address, nil))
				if pattern == "" {
					t.Errorf("%s links a %s to %s %s, which does not exist", page, role, method, address)
				}
				if least[pattern] > role {
					t.Errorf("%s offers a %s %s %s, which requires a %s", page, role, method, address, least[pattern])
				}
				offered++
			}
			for _, m := range href.FindAllStringSubmatch(text, -1) {
				check(http.MethodGet, m[1])
			}
			for _, form := range postForm.FindAllString(text, -1) {
				if m := actionOf.FindStringSubmatch(form); m != nil {
					check(http.MethodPost, m[1])
				}
				if strings.Contains(confirmationDetails.ReplaceAllString(form, ""), "danger") {
					t.Errorf("%s deletes something with one key press: %s", page, form)
				}
			}
		}
		if offered < 200 {
			t.Errorf("a %s sees only %d actions", role, offered)
		}
	}
}
