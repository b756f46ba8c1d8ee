package pages

import (
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"testing"

	"github.com/redoubt/redoubt/internal/model"
)

// TestProjectDeletionRequiresProjectName checks that only a user with the admin role who enters the
// project's own name can delete it.
func TestProjectDeletionRequiresProjectName(t *testing.T) {
	s := demoSite(t)
	s.as(model.RoleAdmin)
	id := first(s, "/projects", "/projects/")
	path := "/projects/" + id
	name := regexp.MustCompile(`<h1>([^<]*)</h1>`).FindStringSubmatch(s.page(path))[1]
	containsAll(t, s.page(path), `href="/orgs/acme`+path+`/delete"`)
	confirmPage := s.page(path + "/delete")
	containsAll(t, textAt(t, confirmPage, "h1"), name)
	shows(t, confirmPage, "[data-say=for-good]", "[data-say=stays]")
	checkInline(t, confirmPage)
	for what, least := range map[string]bool{"findings": true, "scans": true, "vex": false} {
		m := regexp.MustCompile(`data-count="` + what + `">(\d+)<`).FindStringSubmatch(confirmPage)
		if m == nil || (m[1] != "0") != least {
			t.Errorf("it has %v %s", m, what)
		}
	}
	for _, typed := range []string{"", "another/name", strings.ToUpper(name)} {
		a := s.post(path+"/delete", url.Values{"name": {typed}})
		if a.StatusCode != http.StatusBadRequest {
			t.Errorf("by %q: %s", typed, a.Status)
		}
		shows(t, a.text, "main [role=alert]")
	}
	for _, role := range []model.Role{model.RoleViewer, model.RoleTriager} {
		s.as(role)
		lacks(t, s.page(path), path+"/delete")
		if a := s.get(path + "/delete"); a.StatusCode != http.StatusForbidden {
			t.Errorf("a %s is asked to decide: %s", role, a.Status)
		}
		if a := s.post(path+"/delete", url.Values{"name": {name}}); a.StatusCode != http.StatusForbidden {
			t.Errorf("a %s deletes: %s", role, a.Status)
		}
	}
	s.as(model.RoleAdmin)
	s.page(path)
	if a := s.post(path+"/delete", url.Values{"name": {" " + name + " "}}); a.StatusCode != http.StatusSeeOther || a.Header.Get("Location") != "/orgs/acme/projects?deleted=1" {
		t.Fatalf("%s %s", a.Status, a.text)
	}
	shows(t, s.page("/projects?deleted=1"), "[data-say=project-deleted]")
	for _, gone := range []string{path, path + "/delete"} {
		if a := s.get(gone); a.StatusCode != http.StatusNotFound {
			t.Errorf("%s: %s", gone, a.Status)
		}
	}
	if a := s.post(path+"/delete", url.Values{"name": {name}}); a.StatusCode != http.StatusNotFound {
		t.Errorf("deleted twice: %s", a.Status)
	}
	if got := s.audited("project.delete"); strings.Join(got, " ") != "project.delete by user:ada" {
		t.Errorf("in the audit log: %q", got)
	}
}
