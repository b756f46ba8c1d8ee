package bench

import (
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"time"

	"github.com/redoubt/redoubt/internal/httpx"
	"github.com/redoubt/redoubt/internal/model"
	"github.com/redoubt/redoubt/internal/store"
	"github.com/redoubt/redoubt/internal/web"
)

// pagesOf serves the pages of a world to an administrator.
type pagesOf struct {
	w       *world
	handler http.Handler
}

func newPages(w *world) *pagesOf {
	p := &pagesOf{w: w}
	pages, err := web.New(web.Config{
		Store: w.store, Index: w.index, Clock: time.Now, Logger: slog.New(slog.DiscardHandler), Version: "bench", Viewers: p,
		SigningKeys: httpx.OneKey([]byte("0123456789abcdef0123456789abcdef")),
	})
	w.check(err)
	p.handler = pages.Handler()
	return p
}

// Viewer returns the same viewer for every request.
func (p *pagesOf) Viewer(*http.Request) (web.Viewer, error) {
	return web.Viewer{UserID: 1, User: "ada", Role: model.RoleAdmin, Deployment: p.w.deployment}, nil
}

// open renders a page.
func (p *pagesOf) open(path string) {
	out := httptest.NewRecorder()
	p.handler.ServeHTTP(out, httptest.NewRequestWithContext(p.w.tb.Context(), http.MethodGet, "/orgs/"+p.w.deployment.Slug+path, nil))
	if out.Code != http.StatusOK {
		p.w.tb.Fatalf("%s: %d %s", path, out.Code, out.Body)
	}
}

// projectPage returns the path of a project's page.
func (w *world) projectPage(name string) (path string) {
	w.check(w.store.View(w.tb.Context(), w.deployment.ID, func(ctx context.Context, tx *store.Tx) error {
		p, err := tx.ProjectByName(ctx, name)
		path = fmt.Sprintf("/projects/%d", p.ID)
		return err
	}))
	return path
}
