package store_test

import (
	"testing"

	"github.com/redoubt/redoubt/internal/model"
	"github.com/redoubt/redoubt/internal/store"
	"github.com/redoubt/redoubt/internal/testutil/storetest"
)

// TestSourcesAreStoredWithoutCredentials stores a source whose address has user info and a query.
// Neither is stored, and addresses that differ only in them find the same row.
func TestSourcesAreStoredWithoutCredentials(t *testing.T) {
	const full, shown = "https://reader:opensesame@osv.example/npm/all.zip?sig=s1gned", "https://osv.example/npm/all.zip"
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		put := model.AdvisorySource{Location: full, Kind: "osv", ETag: "x", LoadedAt: storetest.Epoch, Records: 1}
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
