package main

import (
	"io"
	"log/slog"
	"net/http"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/redoubt/redoubt/internal/config"
	"github.com/redoubt/redoubt/internal/storetest"
)

// TestServeReadsItsIndexFromAReplica names the primary as its own replica, which is
// never behind.
func TestServeReadsItsIndexFromAReplica(t *testing.T) {
	database := config.Secret(storetest.Empty(t, "postgres").DatabaseURL)
	file := filepath.Join(t.TempDir(), "ready.json")
	s, stop := startServiceOn(t, config.Server{Addr: "127.0.0.1:0", DatabaseReplica: database, ShutdownTimeout: 5 * time.Second},
		config.Storage{Data: t.TempDir(), DatabaseURL: database, KeyFile: filepath.Join(t.TempDir(), "key")}, slog.New(slog.DiscardHandler),
		func(a *app, s *service) error {
			steps := &starting{serveCmd: serveCmd{Deployment: "acme", Server: config.Server{ReadyFile: file}}, service: s}
			a.out = io.Discard
			return steps.tell(a)
		})
	defer s.closeReplica()
	defer stop()
	r := waitReady(t, file, nil)
	ask := func(path string) string {
		t.Helper()
		req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, s.baseURL()+path, http.NoBody)
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set("Authorization", "Bearer "+r.Token)
		res, err := http.DefaultClient.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		defer res.Body.Close()
		text, err := io.ReadAll(res.Body)
		if err != nil || res.StatusCode != http.StatusOK {
			t.Fatalf("%s: %d %v %s", path, res.StatusCode, err, text)
		}
		return string(text)
	}
	ask("/api/v1/deployments/acme/findings?issue_type=sast")
	if text := ask("/metrics"); strings.Contains(text, `redoubt_index_feeds_total{from="replica"} 0`) || !strings.Contains(text, `redoubt_index_feeds_total{from="primary"} 0`) {
		t.Errorf("the index was not read from the replica:\n%s", text)
	}
}

// TestReplicasThatCannotBe refuses settings that a server could not go by.
func TestReplicasThatCannotBe(t *testing.T) {
	for _, of := range []struct {
		what, replica, want string
		storage             config.Storage
	}{
		{"of a SQLite file", "postgres://db2/redoubt", "--database-replica goes with --database-url", config.Storage{}},
		{"of no address", "db2 hunter2", "--database-replica: the replica: the database URL cannot be read", config.Storage{DatabaseURL: "postgres://db1/redoubt"}},
	} {
		s := &service{config: config.Server{DatabaseReplica: config.Secret(of.replica)}, storage: of.storage, log: slog.New(slog.DiscardHandler)}
		if of.storage.DatabaseURL != "" {
			s.store = storetest.New(t, "postgres")
		}
		_, err := s.indexSource()
		if err == nil || !strings.HasPrefix(err.Error(), of.want) || strings.Contains(err.Error(), "hunter2") {
			t.Errorf("%s: %v", of.what, err)
		}
	}
}
