package pages

import (
	"net/url"
	"regexp"
	"strings"
	"testing"

	"github.com/redoubt/redoubt/internal/model"
	"github.com/redoubt/redoubt/internal/web/ui"
)

// TestAmbiguousDisplayNameShowsLoginName checks that pages show a user whose display name is another user's
// login name by the login name.
func TestAmbiguousDisplayNameShowsLoginName(t *testing.T) {
	s := demoSite(t)
	mallory := s.person("mallory", "ada")
	s.viewer = &ui.Viewer{
		UserID: mallory.ID, User: mallory.Name, DisplayName: mallory.DisplayName, Role: model.RoleTriager, Deployment: s.org,
	}
	finding := firstFinding(s)
	own := "/findings/" + finding
	s.post(own+"/comments", url.Values{"text": {"a remark"}})
	s.addExceptionRequest("it is a test", finding)
	form := formOf(s.page(own))
	form.Set("state", "reviewing")
	s.follow("/triage", form)
	history := regexp.MustCompile(`(?s)<ol class="history">.*?</ol>`)
	for page, part := range map[string]*regexp.Regexp{
		own:                          history,
		"/settings/audit":            regexp.MustCompile(`(?s)<tr id="e.*?<td class="long">`), // without changes
		"/exceptions?show=requested": regexp.MustCompile(`(?s)<main.*</main>`),
		"/exceptions?show=all":       regexp.MustCompile(`(?s)<main.*</main>`),
	} {
		s.viewer.Role = model.RoleAdmin
		text := markup.ReplaceAllString(strings.Join(part.FindAllString(s.page(page), -1), " "), " ")
		if !strings.Contains(text, "mallory") || regexp.MustCompile(`\bada\b`).MatchString(text) {
			t.Errorf("%s shows another name of the user: %s", page, text)
		}
	}
}
