package store_test

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"

	"github.com/redoubt/redoubt"
	"github.com/redoubt/redoubt/internal/store"
	"github.com/redoubt/redoubt/internal/storetest"
)

// TestSourcesAreStoredWithoutCredentials stores a source by an address with user info and a
// query: the table has neither, and addresses that differ only there find the same row.
func TestSourcesAreStoredWithoutCredentials(t *testing.T) {
	const full, shown = "https://reader:opensesame@osv.example/npm/all.zip?sig=s1gned", "https://osv.example/npm/all.zip"
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		put := redoubt.AdvisorySource{Location: full, Kind: "osv", ETag: "x", LoadedAt: storetest.Epoch, Records: 1}
		if err := s.PutAdvisorySource(t.Context(), put); err != nil {
			t.Fatal(err)
		}
		list, err := s.AdvisorySources(t.Context())
		if err != nil || len(list) != 1 || list[0].Location != shown {
			t.Fatalf("%+v %v", list, err)
		}
		for _, address := range []string{full, shown, shown + "?sig=another"} {
			if got, err := s.AdvisorySource(t.Context(), address); err != nil || got.Location != shown || got.Records != 1 {
				t.Errorf("by %s: %+v %v", address, got, err)
			}
		}
	})
}

// TestStoredCredentialsOfSourcesAreRemoved migrates rows of an earlier version: those whose
// address has user info or a query are deleted, and their bytes with them.
func TestStoredCredentialsOfSourcesAreRemoved(t *testing.T) {
	for _, engine := range storetest.Engines {
		t.Run(engine, func(t *testing.T) {
			config := storetest.Database(t, engine, storetest.NewClock())
			s := storetest.Open(t, config)
			run := func(query string) {
				t.Helper()
				if err := s.ExecRaw(t.Context(), query); err != nil {
					t.Fatal(err)
				}
			}
			for _, location := range []string{"https://reader:opensesame@osv.example/a.zip", "http://osv.example/b.zip?sig=s1gned", "https://osv.example/c.zip", "/srv/osv?x@y"} {
				run(`INSERT INTO advisory_source (location, kind, etag, last_modified, records, refused, error) VALUES ('` + location + `', 'osv', '', '', 0, 0, '')`)
			}
			if err := s.MigrateDown(t.Context(), 80); err != nil {
				t.Fatal(err)
			}
			if err := s.Close(); err != nil {
				t.Fatal(err)
			}
			s = storetest.Open(t, config)
			list, err := s.AdvisorySources(t.Context())
			if err != nil || len(list) != 2 || list[0].Location != "/srv/osv?x@y" || list[1].Location != "https://osv.example/c.zip" {
				t.Errorf("%+v %v", list, err)
			}
			if engine != "sqlite" {
				return
			}
			if err := s.Close(); err != nil {
				t.Fatal(err)
			}
			text, err := os.ReadFile(filepath.Join(config.Dir, store.FileName))
			if err != nil || bytes.Contains(text, []byte("opensesame")) || bytes.Contains(text, []byte("s1gned")) {
				t.Errorf("the file still has the credentials, or cannot be read: %v", err)
			}
		})
	}
}
