// Package advisorytest publishes advisories for tests, and stores projects that they affect.
package advisorytest

import (
	"archive/zip"
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"testing"
	"time"

	"github.com/redoubt/redoubt/internal/exceptions"
	"github.com/redoubt/redoubt/internal/ingest"
	"github.com/redoubt/redoubt/internal/model"
	"github.com/redoubt/redoubt/internal/store"
)

// OSVRecord returns a record of one npm package that is affected before a version.
func OSVRecord(id, name, fixed string) string {
	return fmt.Sprintf(`{"id":%q,"modified":"2024-05-01T00:00:00Z","summary":"Trouble with %s",
		"affected":[{"package":{"ecosystem":"npm","name":%q},
		"ranges":[{"type":"SEMVER","events":[{"introduced":"0"},{"fixed":%q}]}]}]}`, id, name, name, fixed)
}

// Archive packs records like OSV does.
func Archive(t testing.TB, records map[string]string) []byte {
	t.Helper()
	var b bytes.Buffer
	z := zip.NewWriter(&b)
	for id, text := range records {
		w, err := z.CreateHeader(&zip.FileHeader{Name: id + ".json", Method: zip.Store})
		if err == nil {
			_, err = io.WriteString(w, text)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// Publisher serves archives over HTTP, like OSV's bucket.
type Publisher struct {
	Files    map[string][]byte
	Tag      string
	Breaks   bool // aborts after half of the file
	Requests []http.Header
}

// ServeHTTP implements http.Handler.
func (p *Publisher) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	p.Requests = append(p.Requests, r.Header)
	data, ok := p.Files[r.URL.Path]
	if !ok {
		http.NotFound(w, r)
		return
	}
	w.Header().Set("ETag", p.Tag)
	if p.Breaks {
		w.Header().Set("Content-Length", fmt.Sprint(len(data)))
		if _, err := w.Write(data[:len(data)/2]); err == nil {
			w.(http.Flusher).Flush()
		}
		panic(http.ErrAbortHandler)
	}
	http.ServeContent(w, r, "all.zip", time.Unix(1700000000, 0), bytes.NewReader(data))
}

// ManyRefs creates a deployment with a vulnerable package on many refs.
func ManyRefs(t *testing.T, st *store.Store, n int) model.Deployment {
	t.Helper()
	d, err := st.CreateDeployment(t.Context(), "acme", "", model.Actor{})
	for i := 0; i < n && err == nil; i++ {
		err = st.Update(t.Context(), d.ID, model.Actor{}, func(ctx context.Context, tx *store.Tx) error {
			inventory := model.Inventory{
				Lockfile:     "package-lock.json",
				Dependencies: []model.Dependency{{Ecosystem: "npm", Name: "a", Version: "0.1.0"}},
			}
			_, err := ingest.Apply(ctx, tx, exceptions.ForImport{Store: tx}, ingest.Upload{
				Project: model.Project{Name: "acme/shop"}, Ref: fmt.Sprint("b", i), Full: true,
				Report: &model.Report{
					Tool: "lockfile", Products: model.Products(0).With(model.SCA), Inventories: []model.Inventory{inventory},
				},
			})
			return err
		})
	}
	if err != nil {
		t.Fatal(err)
	}
	return d
}

// OpenData opens a database in a directory.
func OpenData(t *testing.T, dir string) *store.Store {
	t.Helper()
	st, err := store.Open(t.Context(), store.Config{Dir: dir, Clock: time.Now})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = st.Close() }) // the test may have closed it
	return st
}

// Matched counts the findings of a deployment's advisories.
func Matched(t *testing.T, st *store.Store, d model.Deployment) int {
	t.Helper()
	var list []model.Impact
	err := st.View(t.Context(), d.ID, func(ctx context.Context, tx *store.Tx) (err error) {
		list, _, err = tx.Impact(ctx, store.ImpactQuery{Group: 1, Names: []string{"A-1"}, Limit: 10_000})
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return len(list)
}
