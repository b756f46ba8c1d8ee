package agent_test

import (
	"context"
	"testing"

	"github.com/redoubt/redoubt/internal/store"
)

// projectNames returns the names of the projects, oldest first.
func (w *world) projectNames() (names []string) {
	w.Helper()
	w.update(func(ctx context.Context, tx *store.Tx) error {
		projects, err := tx.Projects(ctx, store.ProjectQuery{})
		for _, p := range projects {
			names = append(names, p.Name)
		}
		return err
	})
	return names
}

// TestCodeHostsOnOneHostName checks repositories of two code hosts that share a host name and issue
// equal ids. They must remain two projects. A renamed repository must remain one project.
func TestCodeHostsOnOneHostName(t *testing.T) {
	for name, hosts := range map[string][2]string{
		"ports":    {"https://git.example:8443", "https://git.example:9443"},
		"no port":  {"https://git.example", "https://git.example:9443"},
		"a path":   {"https://git.example/gitlab1", "https://git.example/gitlab2"},
		"and root": {"https://git.example", "https://git.example/gitlab2"},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, "sqlite")
			w.scanAs(w.token, claim{name: "one/app", id: "12", url: hosts[0] + "/one/app"})
			w.scanAs(w.token, claim{name: "two/other", id: "12", url: hosts[1] + "/two/other"})
			w.same("projects", []string{"one/app", "two/other"}, w.projectNames())
			w.scanAs(w.token, claim{name: "two/renamed", id: "12", url: hosts[1] + "/two/renamed.git"})
			w.same("projects after a rename", []string{"one/app", "two/renamed"}, w.projectNames())
		})
	}
	t.Run("the default port", func(t *testing.T) {
		w := newWorld(t, "sqlite")
		w.scanAs(w.token, claim{name: "one/app", id: "12", url: "https://git.example/one/app"})
		w.scanAs(w.token, claim{name: "one/renamed", id: "12", url: "https://git.example:443/one/renamed"})
		w.same("projects", []string{"one/renamed"}, w.projectNames())
	})
}
