package store_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/redoubt/redoubt/internal/model"
	"github.com/redoubt/redoubt/internal/store"
	"github.com/redoubt/redoubt/internal/testutil/storetest"
)

// connection creates a connection whose secrets contain the id for which they were sealed.
func (d tenant) connection(name string) (c model.Connection) {
	d.t.Helper()
	d.update(func(ctx context.Context, tx *store.Tx) (err error) {
		c, err = tx.AddConnection(ctx, model.Connection{Kind: model.HostGitea, Name: name, BaseURL: "https://git.example", Account: "bot", Follow: []string{"acme/*"}}, sealedFor)
		return err
	})
	return c
}

func sealedFor(id int64) (store.Sealed, error) {
	return store.Sealed{Credential: []byte{byte(id), 'c'}, WebhookSecret: []byte{byte(id), 'w'}}, nil
}

func TestConnectionSecretsAreNotInAuditLog(t *testing.T) {
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		d := newTenant(t, s)
		made := d.connection("gitea")
		same(t, "sealed for its id", made.Credential, []byte{byte(made.ID), 'c'})
		fails(t, "a second one of the name", s.Update(t.Context(), d.id, storetest.Actor, func(ctx context.Context, tx *store.Tx) error {
			_, err := tx.AddConnection(ctx, model.Connection{Kind: model.HostGit, Name: "gitea"}, sealedFor)
			return err
		}), model.ErrConflict)
		failed := errors.New("no key")
		fails(t, "one that cannot be sealed", s.Update(t.Context(), d.id, storetest.Actor, func(ctx context.Context, tx *store.Tx) error {
			_, err := tx.AddConnection(ctx, model.Connection{Kind: model.HostGit, Name: "x"}, func(int64) (store.Sealed, error) { return store.Sealed{}, failed })
			return err
		}), failed)
		d.silently("a check", func(ctx context.Context, tx *store.Tx) error {
			return tx.NoteConnectionCheck(ctx, made.ID, "", "the host is down")
		})
		var after model.Connection
		d.update(func(ctx context.Context, tx *store.Tx) (err error) {
			after, err = tx.UpdateConnection(ctx, model.Connection{ID: made.ID, Name: "new", BaseURL: "https://evil.example"}, store.Sealed{})
			return err
		})
		if string(after.Credential) != string(made.Credential) || after.BaseURL != made.BaseURL || after.Name != "new" || after.Account != "bot" || after.Problem == "" {
			t.Errorf("after an edit without a credential it is %+v", after)
		}
		d.update(func(ctx context.Context, tx *store.Tx) (err error) {
			after, err = tx.UpdateConnection(ctx, model.Connection{ID: made.ID, Name: "new", Account: "other"}, store.Sealed{Credential: []byte("next")})
			return err
		})
		d.view(func(ctx context.Context, tx *store.Tx) error {
			list, err := tx.Connections(ctx)
			same(t, "the list", list, []model.Connection{after})
			trail, err2 := tx.AuditEvents(ctx, 0, 100)
			d.check(err2)
			changes := []string{}
			for _, e := range trail {
				if strings.HasPrefix(e.Action, "connection.") {
					changes = append(changes, e.Action+" "+e.After)
				}
			}
			same(t, "the trail", changes, []string{
				`connection.create {"base_url":"https://git.example","follow":["acme/*"],"kind":"gitea","name":"gitea","replies":"linked"}`,
				`connection.update {"name":"new"}`,
				`connection.update {"credential":"replaced"}`,
			})
			return err
		})
	})
}

// hostRepository returns a repository as a host reports it.
func hostRepository(hostID, name string) model.Repository {
	return model.Repository{HostID: hostID, FullName: name, DefaultBranch: "trunk", CloneURL: "https://git.example/" + name + ".git", WebURL: "https://git.example/" + name}
}

// saveRepositories stores the complete list of repositories of a host.
func (d tenant) saveRepositories(c model.Connection, list ...model.Repository) (now []model.Repository) {
	d.t.Helper()
	d.update(func(ctx context.Context, tx *store.Tx) (err error) {
		now, err = tx.SaveRepositories(ctx, c.ID, list, true)
		return err
	})
	return now
}

func (d tenant) assignProject(r model.Repository) (p model.Project) {
	d.t.Helper()
	d.update(func(ctx context.Context, tx *store.Tx) (err error) {
		p, err = tx.AssignProject(ctx, r.ID)
		return err
	})
	return p
}

// repository returns the repository of a project.
func (d tenant) repository(projectID int64) (r model.Repository) {
	d.t.Helper()
	d.view(func(ctx context.Context, tx *store.Tx) (err error) {
		r, err = tx.Repository(ctx, projectID)
		return err
	})
	return r
}

func TestRepositoriesAreMatchedByHostID(t *testing.T) {
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		d := newTenant(t, s)
		c := d.connection("gitea")
		now := d.saveRepositories(c, hostRepository("1", "acme/payments"), hostRepository("2", "acme/web"), hostRepository("2", "acme/web"), hostRepository("3", "acme/taken"))
		same(t, "how many are kept", len(now), 3)
		p := d.assignProject(now[0])
		same(t, "its branch", p.DefaultBranch, "refs/heads/trunk")
		same(t, "taken twice", d.assignProject(now[0]).ID, p.ID)
		d.silently("nothing new", func(ctx context.Context, tx *store.Tx) error {
			_, err := tx.SaveRepositories(ctx, c.ID, []model.Repository{hostRepository("1", "acme/payments"), hostRepository("2", "acme/web")}, false)
			return err
		})

		renamed := hostRepository("1", "acme/money")
		renamed.Archived = true
		d.saveRepositories(c, renamed)
		r := d.repository(p.ID)
		if r.FullName != "acme/money" || !r.Archived || r.Scannable() || r.ID != now[0].ID {
			t.Errorf("after it was renamed it is %+v", r)
		}
		d.view(func(ctx context.Context, tx *store.Tx) error {
			found, err := tx.ProjectByName(ctx, "acme/money")
			same(t, "the project by its new name", found.ID, p.ID)
			list, err2 := tx.Repositories(ctx, c.ID)
			same(t, "those that are gone are forgotten", len(list), 1)
			return errors.Join(err, err2)
		})

		d.saveRepositories(c)
		if r := d.repository(p.ID); r.GoneAt.IsZero() {
			t.Error("one that is a project and gone does not say so")
		}
		d.saveRepositories(c, hostRepository("1", "acme/money"))
		if r := d.repository(p.ID); !r.GoneAt.IsZero() || !r.Scannable() {
			t.Errorf("one that is there again is %+v", r)
		}
	})
}

func TestRepositoryRenameAvoidsNameConflict(t *testing.T) {
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		d := newTenant(t, s)
		c := d.connection("gitea")
		other := d.project("acme/other")
		mine := d.assignProject(d.saveRepositories(c, hostRepository("1", "acme/payments"))[0])
		d.saveRepositories(c, hostRepository("1", "acme/other"))
		d.view(func(ctx context.Context, tx *store.Tx) error {
			p, err := tx.ProjectByName(ctx, "acme/other")
			same(t, "who has the name", p.ID, other.ID)
			p, err2 := tx.Project(ctx, mine.ID)
			same(t, "the name of the one that was renamed", p.Name, "acme/payments")
			return errors.Join(err, err2)
		})
		d.update(func(ctx context.Context, tx *store.Tx) error {
			_, err := tx.RenameProject(ctx, mine.ID, "ours/payments")
			return err
		})
		d.saveRepositories(c, hostRepository("1", "acme/third"))
		d.view(func(ctx context.Context, tx *store.Tx) error {
			p, err := tx.Project(ctx, mine.ID)
			same(t, "a name that people gave", p.Name, "ours/payments")
			return err
		})
	})
}

func TestProjectHasAtMostOneRepository(t *testing.T) {
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		d := newTenant(t, s)
		first, second := d.connection("one"), d.connection("two")
		p := d.assignProject(d.saveRepositories(first, hostRepository("1", "acme/payments"))[0])
		twin := d.saveRepositories(second, hostRepository("1", "acme/payments"))[0]
		fails(t, "the same name on another host", s.Update(t.Context(), d.id, storetest.Actor, func(ctx context.Context, tx *store.Tx) error {
			_, err := tx.AssignProject(ctx, twin.ID)
			return err
		}), model.ErrConflict)

		q := d.assignProject(d.saveRepositories(first, hostRepository("1", "acme/payments"), hostRepository("2", "acme/web"))[1])
		d.update(func(ctx context.Context, tx *store.Tx) error {
			_, err := tx.MergeProjects(ctx, q.ID, p.ID)
			return err
		})
		same(t, "of two that were merged, the repository", d.repository(p.ID).HostID, "1")
		bare := d.project("acme/bare")
		d.update(func(ctx context.Context, tx *store.Tx) error {
			_, err := tx.MergeProjects(ctx, p.ID, bare.ID)
			return err
		})
		same(t, "of one merged into none, the repository", d.repository(bare.ID).HostID, "1")
		d.update(func(ctx context.Context, tx *store.Tx) error { return tx.DeleteProject(ctx, bare.ID) })
		d.view(func(ctx context.Context, tx *store.Tx) error {
			list, err := tx.Repositories(ctx, first.ID)
			same(t, "repositories after their project went", []int64{list[0].ProjectID, list[1].ProjectID}, []int64{0, 0})
			return err
		})

		p = d.assignProject(twin)
		d.update(func(ctx context.Context, tx *store.Tx) error { return tx.DropRepository(ctx, twin.ID) })
		fails(t, "parted", s.View(t.Context(), d.id, func(ctx context.Context, tx *store.Tx) error {
			_, err := tx.Repository(ctx, p.ID)
			return err
		}), model.ErrNotFound)
		d.assignProject(twin)
		d.update(func(ctx context.Context, tx *store.Tx) error { return tx.DeleteConnection(ctx, second.ID) })
		d.view(func(ctx context.Context, tx *store.Tx) error {
			_, err := tx.Project(ctx, p.ID)
			_, gone := tx.Repository(ctx, p.ID)
			fails(t, "its repository", gone, model.ErrNotFound)
			return err
		})
	})
}

// TestRepositoryURLOverridesScannerURL checks that the host's address overrides those of
// scanners, which lack the port or belong to a mirror.
func TestRepositoryURLOverridesScannerURL(t *testing.T) {
	const address, moved = "https://git.example:3000/acme/payments", "https://code.example:3000/acme/payments"
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		d := newTenant(t, s)
		c := d.connection("gitea")
		r := hostRepository("1", "acme/payments")
		r.WebURL = address
		p := d.project("acme/payments")
		addressIs := func(when, want string) {
			t.Helper()
			d.view(func(ctx context.Context, tx *store.Tx) error {
				now, err := tx.Project(ctx, p.ID)
				same(t, when, now.URL, want)
				return err
			})
		}
		scanned := func(url string) {
			t.Helper()
			d.update(func(ctx context.Context, tx *store.Tx) error {
				_, err := tx.UpdateProjectByScan(ctx, nil, p.ID, model.Project{Name: "acme/payments", URL: url})
				return err
			})
		}
		scanned("https://git.example/acme/payments")
		addressIs("of a project that is no repository, what a scan tells", "https://git.example/acme/payments")
		now := d.saveRepositories(c, r)
		d.assignProject(now[0])
		addressIs("once it is a repository", address)
		scanned("https://git.example/acme/payments")
		addressIs("after a scan", address)
		r.WebURL = moved
		d.saveRepositories(c, r)
		addressIs("once its host has another address", moved)
		r.WebURL = ""
		d.saveRepositories(c, r)
		scanned("https://mirror.example/acme/payments")
		addressIs("where the host tells none, what a scan tells", "https://mirror.example/acme/payments")
	})
}

// TestProjectsAreNotRenamedToReservedNames checks that a host or scan cannot rename a project to
// a reserved name, while other changes are stored. Renaming by users fails.
func TestProjectsAreNotRenamedToReservedNames(t *testing.T) {
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		d := newTenant(t, s)
		c := d.connection("gitea")
		d.update(func(ctx context.Context, tx *store.Tx) error {
			list, err := tx.SaveRepositories(ctx, c.ID, []model.Repository{hostRepository("1", "acme/never/tags"), hostRepository("2", "acme/web")}, true)
			d.check(err)
			assigned, err := tx.AssignProjects(ctx, list, func(string) bool { return true })
			same(t, "repositories that become projects", mappedNames(assigned), []string{"acme/web"})
			return err
		})
		for _, part := range model.ProjectParts {
			reserved := "acme/own/" + part
			mine := d.assignProject(d.saveRepositories(c, hostRepository("1"+part, "acme/"+part+"-tool"))[0])
			for range 2 {
				same(t, "the repository", d.saveRepositories(c, hostRepository("1"+part, reserved))[0].FullName, reserved)
			}
			d.update(func(ctx context.Context, tx *store.Tx) error {
				scan := model.Project{Name: "acme/" + part + "-scanned", RepoID: part}
				p, err := tx.ProjectForScan(ctx, nil, scan)
				if err != nil {
					return err
				}
				p, err = tx.UpdateProjectByScan(ctx, nil, p.ID, model.Project{Name: "acme/scanned/" + part, RepoID: part, URL: "https://git.example/x"})
				same(t, "the name after a scan", p.Name, scan.Name)
				same(t, "the URL after a scan", p.URL, "https://git.example/x")
				return err
			})
			d.view(func(ctx context.Context, tx *store.Tx) error {
				p, err := tx.Project(ctx, mine.ID)
				same(t, "the name after the host renamed it", p.Name, mine.Name)
				return err
			})
			invalid(t, "a rename by people", s.Update(t.Context(), d.id, storetest.Actor, func(ctx context.Context, tx *store.Tx) error {
				_, err := tx.RenameProject(ctx, mine.ID, reserved)
				return err
			}), "name")
		}
	})
}

func mappedNames(projects []model.Project) (names []string) {
	for _, p := range projects {
		names = append(names, p.Name)
	}
	return names
}
