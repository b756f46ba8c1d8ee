package agent_test

import (
	"context"
	"net/http"
	"testing"

	"github.com/redoubt/redoubt/internal/model"
	"github.com/redoubt/redoubt/internal/store"
)

// hostedAs connects a project to a repository with another name at its host. The name matches the
// globs of a token that cannot access the project. Tickets are created by its connection, which is
// not the only one.
func hostedAs(ctx context.Context, tx *store.Tx, c model.Connection, name string, project model.Project) error {
	second, err := tx.AddConnection(ctx, model.Connection{Kind: model.HostGitea, Name: "second-host", BaseURL: "https://second.example"}, func(int64) (store.Sealed, error) { return store.Sealed{}, nil })
	if err != nil {
		return err
	}
	if _, err := tx.SaveRepositories(ctx, second.ID, []model.Repository{{HostID: "1", FullName: name}}, true); err != nil {
		return err
	}
	if _, err := tx.RenameProject(ctx, project.ID, name); err != nil {
		return err
	}
	repositories, err := tx.SaveRepositories(ctx, c.ID, []model.Repository{{HostID: "1", FullName: name, Private: true}}, true)
	if err != nil {
		return err
	}
	if _, err := tx.AssignProject(ctx, repositories[0].ID); err != nil {
		return err
	}
	if _, err := tx.RenameProject(ctx, project.ID, project.Name); err != nil {
		return err
	}
	return tx.PutTicketSetting(ctx, model.TicketSetting{ConnectionID: c.ID})
}

// TestRunRemainsAssignedToProject checks that a run remains assigned to its project when the project
// changes before the run ends.
func TestRunRemainsAssignedToProject(t *testing.T) {
	each(t, func(w *world) {
		bound := w.bound("platform/**")
		rename := func(from, to string) {
			w.update(func(ctx context.Context, tx *store.Tx) error {
				p, err := tx.ProjectByName(ctx, from)
				if err == nil {
					_, err = tx.RenameProject(ctx, p.ID, to)
				}
				return err
			})
		}
		_, id, _ := w.beginAs(bound, claim{name: "platform/a", id: "1"})
		rename("platform/a", "secret/a")
		results, complete := w.finishAs(bound, id)
		w.same("uploaded once it is hidden", [2]int{http.StatusNotFound, http.StatusNotFound}, [2]int{results, complete})
		w.same("its name", "secret/a", w.named("platform/a").Name)
		w.scanAs(bound, claim{name: "platform/a", id: "1"})
		w.same("seen", map[string]int{"platform/a": found}, w.seenBy(bound))

		_, one, _ := w.beginAs(w.token, claim{name: "acme/b"})
		rename("acme/b", "acme/c")
		w.scanAs(w.token, claim{name: "acme/b", id: "2"})
		w.finishAs(w.token, one)
		_, two, _ := w.beginAs(bound, claim{name: "platform/d", id: "3"})
		w.update(func(ctx context.Context, tx *store.Tx) error {
			p, err := tx.ProjectByName(ctx, "platform/d")
			if err != nil {
				return err
			}
			return tx.DeleteProject(ctx, p.ID)
		})
		results, complete = w.finishAs(bound, two)
		w.same("uploaded once it is deleted", [2]int{http.StatusNotFound, http.StatusNotFound}, [2]int{results, complete})
		for _, name := range []string{"Platform/x", "platform /x", "ｐlatform/x", "platform/../acme/b", "platform", "platform//x"} {
			status, _, _ := w.beginAs(bound, claim{name: name, id: "2"})
			if status != http.StatusNotFound && status != http.StatusBadRequest {
				w.Errorf("%q is answered %d", name, status)
			}
		}
		_, x, _ := w.beginAs(bound, claim{name: "platform/x", id: "9", run: "both"})
		_, y, _ := w.beginAs(w.bound("other/**"), claim{name: "other/y", id: "9", run: "both"})
		w.same("two runs of one name are one", false, x == y)
	})
}
