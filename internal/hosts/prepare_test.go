package hosts_test

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/redoubt/redoubt/internal/model"
	"github.com/redoubt/redoubt/internal/store"
	"github.com/redoubt/redoubt/internal/testutil/storetest"
)

// followed returns the names of a connection's repositories that have a project.
func (w *world) followed(id int64) (names []string) {
	w.t.Helper()
	w.view(func(ctx context.Context, tx *store.Tx) error {
		list, err := tx.Repositories(ctx, id)
		for _, r := range list {
			if r.ProjectID != 0 {
				names = append(names, r.FullName)
			}
		}
		return err
	})
	return names
}

// TestSeparatedRepositoryGetsNoProject checks that a repository separated from its project gets none at the
// next check, even if a glob of the connection matches it.
func TestSeparatedRepositoryGetsNoProject(t *testing.T) {
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		w := newWorld(t, s)
		c := w.connect()
		leave := func(globs ...string) (n int, err error) {
			err = s.Update(t.Context(), w.d.ID, storetest.Actor, func(ctx context.Context, tx *store.Tx) error {
				left, err := tx.LeaveRepositories(ctx, c.ID, globs)
				n = len(left)
				return err
			})
			return n, err
		}
		choose := func(globs ...string) {
			t.Helper()
			w.update(func(ctx context.Context, tx *store.Tx) error {
				_, err := tx.FollowRepositories(ctx, c.ID, globs)
				return err
			})
		}
		check := func(what string, want string) {
			t.Helper()
			if _, err := w.keeper.Check(t.Context(), w.d.ID, storetest.Actor, c.ID); err != nil {
				t.Fatal(err)
			}
			if got := fmt.Sprint(w.followed(c.ID)); got != want {
				t.Errorf("%s: %s, want %s", what, got, want)
			}
		}
		check("at first", "[acme/payments acme/web]")
		if n, err := leave("acme/w*"); n != 1 || err != nil {
			t.Errorf("%d left, %v", n, err)
		}
		check("without web", "[acme/payments]")
		choose("other/*", "acme/web")
		check("chosen again", "[acme/payments acme/web other/x]")
		if n, err := leave("other/x"); n != 1 || err != nil { // matched by no glob
			t.Errorf("%d left, %v", n, err)
		}
		check("without the other", "[acme/payments acme/web]")
		now, err := w.keeper.Check(t.Context(), w.d.ID, storetest.Actor, c.ID)
		if got := fmt.Sprint(now.Follow); got != "[acme/*]" || err != nil {
			t.Errorf("follows %s, %v", got, err)
		}
		if _, err := leave("unknown/*"); !errors.Is(err, model.ErrNotFound) {
			t.Errorf("an unknown name: %v", err)
		}
	})
}

// TestConnectionUpdateVerifiesCredential checks that a new credential is verified at the host first. A credential
// that the host rejects changes nothing.
func TestConnectionUpdateVerifiesCredential(t *testing.T) {
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		w := newWorld(t, s)
		c := w.connect()
		change := func(d model.ConnectionChange) (model.Connection, error) {
			save, err := w.keeper.PrepareUpdate(t.Context(), w.d.ID, c.ID, d)
			if err != nil {
				return model.Connection{}, err
			}
			var after model.Connection
			w.update(func(ctx context.Context, tx *store.Tx) (err error) {
				after, err = save(ctx, tx)
				return err
			})
			return after, nil
		}
		w.host.down = errors.New("the host says 401")
		if _, err := w.keeper.Check(t.Context(), w.d.ID, storetest.Actor, c.ID); err == nil {
			t.Fatal("a host that refuses is no problem")
		}
		if _, err := change(model.ConnectionChange{Credential: &model.HostCredential{Kind: model.CredentialToken, Secret: "bad"}}); !isInvalid(err) {
			t.Errorf("a credential that is refused: %v", err)
		}
		w.host.down = nil
		renamed, err := change(model.ConnectionChange{Name: new("theirs"), Follow: &[]string{"other/*"}})
		if err != nil || renamed.Name != "theirs" || renamed.Account != "Bot" || renamed.Problem == "" {
			t.Errorf("renamed: %+v, %v", renamed, err)
		}
		if got := fmt.Sprint(w.followed(c.ID)); got != "[acme/payments acme/web other/x]" {
			t.Errorf("follows %s", got)
		}
		updated, err := change(model.ConnectionChange{Credential: &model.HostCredential{Kind: model.CredentialToken, Secret: "good"}})
		if err != nil || updated.Problem != "" {
			t.Errorf("mended: %+v, %v", updated, err)
		}
		for what, d := range map[string]model.ConnectionChange{
			"no name": {Name: new(" ")}, "no glob": {Follow: &[]string{""}}, "wrong kind": {Credential: &model.HostCredential{Kind: model.CredentialSSHKey, Secret: "x"}},
		} {
			if _, err := change(d); !isInvalid(err) {
				t.Errorf("%s: %v", what, err)
			}
		}
	})
}

func isInvalid(err error) bool {
	_, is := errors.AsType[*model.InvalidError](err)
	return is
}
