package store_test

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/redoubt/redoubt/internal/store"
	"github.com/redoubt/redoubt/internal/testutil/storetest"
)

func TestBackup(t *testing.T) {
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		newTenant(t, s)
		dir := t.TempDir()
		file := filepath.Join(dir, store.FileName)
		err := s.Backup(t.Context(), file)
		if s.Engine() == "postgres" {
			if !errors.Is(err, errors.ErrUnsupported) {
				t.Errorf("PostgreSQL was backed up: %v", err)
			}
			return
		}
		if err != nil {
			t.Fatal(err)
		}
		if info, err := os.Stat(file); err != nil || info.Mode().Perm() != 0o600 {
			t.Errorf("others may read the copy: %v, %v", info.Mode(), err)
		}
		if err := s.Backup(t.Context(), file); !errors.Is(err, os.ErrExist) {
			t.Errorf("a backup over another one: %v, want a refusal", err)
		}
		copied, err := store.Open(t.Context(), store.Config{Dir: dir, Clock: storetest.NewClock().Now})
		if err != nil {
			t.Fatal(err)
		}
		want, err := s.Deployments(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		got, err := copied.Deployments(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		same(t, "deployments of the copy", got, want)
		if err := copied.Close(); err != nil {
			t.Error(err)
		}
	})
}
