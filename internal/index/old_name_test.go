package index

import (
	"testing"

	"github.com/redoubt/redoubt/internal/model"
)

// TestFormerNamesSelectProject checks that a former name, in any case, selects a project until another
// project uses that name.
func TestFormerNamesSelectProject(t *testing.T) {
	w := newWorld()
	seed(w)
	add(w, smallBody, 1, 2)
	w.putProject(model.Project{ID: 1, Name: "acme/api", OldNames: []string{"acme/Old", "acme/older"}})
	w.commit()
	selected := func(v *View, projects ...string) int {
		return v.Count(model.FindingFilter{IssueType: model.SAST, Projects: projects})
	}
	v := view(t, New(w, Options{}))
	all := selected(v, "acme/api")
	if all == 0 {
		t.Fatal("the project has no findings")
	}
	for name, want := range map[string]int{"acme/old": all, "ACME/OLDER": all, "acme/never": 0} {
		if got := selected(v, name); got != want {
			t.Errorf("%s selects %d, want %d", name, got, want)
		}
	}
	if got := v.Count(model.FindingFilter{IssueType: model.SAST, Projects: []string{"acme/old"}, Visible: model.ProjectGlobs{"other/*"}}); got != 0 {
		t.Errorf("who may not see the project has %d of it by its old name", got)
	}
	w.putProject(model.Project{ID: 2, Name: "acme/OLD"})
	w.commit()
	if got := selected(view(t, New(w, Options{})), "acme/old"); got != 0 {
		t.Errorf("a name that another project has by now selects %d", got)
	}
}
