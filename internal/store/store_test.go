package store_test

import (
	"testing"

	"github.com/redoubt/redoubt/internal/store"
	"github.com/redoubt/redoubt/internal/storetest"
)

func TestMain(m *testing.M) { storetest.Main(m) }

func TestPing(t *testing.T) {
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		if err := s.Ping(t.Context()); err != nil {
			t.Error(err)
		}
	})
}
