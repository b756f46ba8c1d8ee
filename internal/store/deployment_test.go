package store_test

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/redoubt/redoubt/internal/model"
	"github.com/redoubt/redoubt/internal/store"
	"github.com/redoubt/redoubt/internal/testutil/storetest"
)

func TestCreateFindAndListDeployments(t *testing.T) {
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		d, err := s.CreateDeployment(t.Context(), "acme", "", storetest.Actor)
		if err != nil {
			t.Fatal(err)
		}
		same(t, "created", d, model.Deployment{ID: d.ID, Slug: "acme", Name: "acme", CreatedAt: storetest.Epoch, StoresCode: true, Version: d.Version})
		same(t, "number of its version", model.Commits(d.Version), int64(1))
		for _, key := range []string{"acme", fmt.Sprint(d.ID)} {
			same(t, key, deployment(t, s, key), d)
		}
		for _, key := range []string{"", "ACME", "acm", "other", "0", fmt.Sprint(d.ID + 1000), "-1", "99999999999999999999", "acme\x00", "' OR 1=1"} {
			_, err := s.Deployment(t.Context(), key)
			fails(t, key, err, model.ErrNotFound)
		}
		list, err := s.Deployments(t.Context())
		// the list has no other columns
		listed := model.Deployment{ID: d.ID, Slug: d.Slug, Name: d.Name, CreatedAt: d.CreatedAt}
		if err != nil || len(list) != 2 || list[0].Slug != storetest.Noise || list[1] != listed {
			t.Errorf("listed are %v, %v", list, err)
		}
		_, err = s.CreateDeployment(t.Context(), "acme", "Again", storetest.Actor)
		fails(t, "the same slug again", err, model.ErrConflict)
		_, err = s.CreateDeployment(t.Context(), "123", "", storetest.Actor)
		invalid(t, "a slug of digits", err, "slug")
		_, err = s.CreateDeployment(t.Context(), "long", strings.Repeat("é", 201), storetest.Actor)
		invalid(t, "a long name", err, "name")
	})
}

func TestDeploymentHasDefaultPolicyPerProduct(t *testing.T) {
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		d := storetest.Deployment(t, s)
		view(t, s, d, func(ctx context.Context, tx *store.Tx) error {
			got, err := tx.Policies(ctx)
			for i := range got {
				one, err := tx.Policy(ctx, got[i].ID)
				if err != nil {
					return err
				}
				same(t, "one by its id", one, got[i])
				got[i].ID = 0
			}
			same(t, "policies", got, []model.Policy{
				{Name: "Code", Slug: "code", Product: model.SAST, Default: true},
				{Name: "Supply chain", Slug: "supply-chain", Product: model.SCA, Default: true},
				{Name: "Secrets", Slug: "secrets", Product: model.Secrets, Default: true},
			})
			return err
		})
		trail := events(t, s, d)
		if len(trail) != 4 || trail[0].Action != "deployment.create" || trail[0].Before != "" || trail[0].After != `{"name":"Acme","slug":"acme"}` {
			t.Errorf("the trail is %v", trail)
		}
	})
}

func TestRenameDeployment(t *testing.T) {
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		d := storetest.Deployment(t, s)
		got, err := s.RenameDeployment(t.Context(), d.ID, "globex", "", storetest.Actor)
		if err != nil {
			t.Fatal(err)
		}
		d.Slug = "globex"
		same(t, "renamed", got, d)
		same(t, "read again", deployment(t, s, "globex"), d)
		_, err = s.Deployment(t.Context(), "acme")
		fails(t, "the old slug", err, model.ErrNotFound)
		_, err = s.RenameDeployment(t.Context(), d.ID, storetest.Noise, "", storetest.Actor)
		fails(t, "a slug that is taken", err, model.ErrConflict)
		_, err = s.RenameDeployment(t.Context(), d.ID, "No", "", storetest.Actor)
		invalid(t, "a bad slug", err, "slug")
		_, err = s.RenameDeployment(t.Context(), d.ID+1000, "x", "", storetest.Actor)
		fails(t, "an unknown one", err, model.ErrNotFound)
		trail := events(t, s, d)
		if last := trail[len(trail)-1]; last.Before != `{"slug":"acme"}` || last.After != `{"slug":"globex"}` || last.By != storetest.Actor {
			t.Errorf("the trail ends with %v", last)
		}
	})
}

func TestDeleteDeploymentRetainsOnlyAuditLog(t *testing.T) {
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		noise := deployment(t, s, storetest.Noise)
		d := storetest.Deployment(t, s)
		before := counts(t, s, d)
		if err := s.DeleteDeployment(t.Context(), noise.ID, storetest.Actor); err != nil {
			t.Fatal(err)
		}
		_, err := s.Deployment(t.Context(), storetest.Noise)
		fails(t, "the deleted one", err, model.ErrNotFound)
		for _, table := range store.TenantTables {
			var n int
			if err := s.DB().QueryRow(`SELECT COUNT(*) FROM `+table+` WHERE deployment_id = $1`, noise.ID).Scan(&n); err != nil || n != 0 {
				t.Errorf("%s still has %d rows, %v", table, n, err)
			}
		}
		var last string
		err = s.DB().QueryRow(`SELECT action FROM audit_event WHERE deployment_id = $1 ORDER BY id DESC LIMIT 1`, noise.ID).Scan(&last)
		if err != nil || last != "deployment.delete" {
			t.Errorf("the trail ends with %q, %v", last, err)
		}
		same(t, "rows of the other one", counts(t, s, d), before)
		fails(t, "deleting it again", s.DeleteDeployment(t.Context(), noise.ID, storetest.Actor), model.ErrNotFound)
	})
}

// counts returns the number of a tenant's rows by table.
func counts(t *testing.T, s *store.Store, d model.Deployment) map[string]int {
	t.Helper()
	out := map[string]int{}
	view(t, s, d, func(ctx context.Context, tx *store.Tx) (err error) {
		for _, table := range append([]string{"audit_event"}, store.TenantTables...) {
			if out[table], err = tx.Count(ctx, table); err != nil {
				return err
			}
		}
		return nil
	})
	return out
}

func TestPinSettingStoresFirstValue(t *testing.T) {
	for _, engine := range storetest.Engines {
		t.Run(engine, func(t *testing.T) {
			config := storetest.Database(t, engine, storetest.NewClock())
			got := make([]string, 8)
			var wg sync.WaitGroup
			for i := range got {
				s := storetest.Open(t, config)
				wg.Go(func() {
					value, err := s.PinSetting(t.Context(), "key", []byte{0, byte(i)})
					if err != nil {
						t.Error(err)
					}
					got[i] = string(value)
				})
			}
			wg.Wait()
			for i := range got {
				if got[i] != got[0] || len(got[i]) != 2 {
					t.Errorf("one got %q, another %q", got[0], got[i])
				}
			}
			s := storetest.Open(t, config)
			if value, err := s.PinSetting(t.Context(), "key", []byte("late")); err != nil || string(value) != got[0] {
				t.Errorf("pinned again it is %q, %v", value, err)
			}
			_, err := s.StoredSetting(t.Context(), "old key")
			fails(t, "one that is not there", err, model.ErrNotFound)
		})
	}
}
