package pages

import (
	"net/url"
	"regexp"
	"strings"
	"testing"

	"github.com/redoubt/redoubt/internal/model"
	"github.com/redoubt/redoubt/internal/web/ui"
)

// A user whose display name is the login name of somebody else is named by the login name
// wherever a page names who did something.
func TestPagesNamePeopleByLoginName(t *testing.T) {
	s := demoSite(t)
	mallory := s.person("mallory", "ada")
	s.viewer = &ui.Viewer{
		UserID: mallory.ID, User: mallory.Name, DisplayName: mallory.DisplayName, Role: model.RoleTriager, Deployment: s.org,
	}
	finding := firstFinding(s)
	own := "/findings/" + finding
	s.post(own+"/comments", url.Values{"text": {"a remark"}})
	s.asks("it is a test", finding)
	form := formOf(s.page(own))
	form.Set("state", "reviewing")
	s.follow("/triage", form)
	history := regexp.MustCompile(`(?s)<ol class="history">.*?</ol>`)
	for page, part := range map[string]*regexp.Regexp{
		own:                          history,
		"/settings/audit":            regexp.MustCompile(`(?s)<tr id="e.*?<td class="long">`), // but what changed,
		"/exceptions?show=requested": regexp.MustCompile(`(?s)<main.*</main>`),
		"/exceptions?show=all":       regexp.MustCompile(`(?s)<main.*</main>`),
	} {
		s.viewer.Role = model.RoleAdmin
		text := markup.ReplaceAllString(strings.Join(part.FindAllString(s.page(page), -1), " "), " ")
		if !strings.Contains(text, "mallory") || regexp.MustCompile(`\bada\b`).MatchString(text) {
			t.Errorf("%s names the user otherwise: %s", page, text)
		}
	}
}
