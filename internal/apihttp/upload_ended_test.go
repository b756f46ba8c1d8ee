package apihttp

import (
	"context"
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/redoubt/redoubt/internal/model"
	"github.com/redoubt/redoubt/internal/store"
	"github.com/redoubt/redoubt/internal/testutil/storetest"
)

// firstReadBody is a body that calls a function when it is first read. The server reads the body after
// it authenticated the request.
type firstReadBody struct {
	io.Reader
	do   func()
	once sync.Once
}

func (o *firstReadBody) Read(p []byte) (int, error) {
	o.once.Do(o.do)
	return o.Reader.Read(p)
}

// TestTokensThatExpireDuringUpload revokes a token, and expires another one, during an upload. An
// upload with an expired token completes, and one with a revoked token stores nothing.
func TestTokensThatExpireDuringUpload(t *testing.T) {
	for name, c := range map[string]struct {
		end  func(t *testing.T, h *harness)
		want int
	}{
		"revoked": {func(t *testing.T, h *harness) {
			err := h.store.Update(t.Context(), h.deployment.ID, storetest.Actor, func(ctx context.Context, tx *store.Tx) error {
				list, err := tx.Tokens(ctx)
				if err != nil {
					return err
				}
				return tx.RevokeToken(ctx, list[len(list)-1].ID)
			})
			if err != nil {
				t.Error(err)
			}
		}, http.StatusUnauthorized},
		"expired": {func(_ *testing.T, h *harness) { h.clock.Advance(2 * time.Hour) }, http.StatusOK},
	} {
		for _, engine := range storetest.Engines {
			t.Run(name+"/"+engine, func(t *testing.T) {
				clock := storetest.NewClock()
				h := newHarnessOn(t, storetest.Database(t, engine, clock), clock)
				h.token = h.newToken(model.Token{Name: "ci", Scopes: []model.Scope{model.ScopeCI}, ExpiresAt: clock.Now().Add(time.Hour)})
				before := len(h.projects())
				checked := false
				body := &firstReadBody{Reader: strings.NewReader(semgrepReport(map[string][]int{"a.py": {1}})), do: func() {
					checked = true
					c.end(t, h)
				}}
				if status := h.sendAfterContinue(imports+"?project=acme/one", body); status != c.want || !checked {
					t.Errorf("status %d, checked: %t", status, checked)
				}
				if stored := len(h.projects()) > before; stored != (c.want == http.StatusOK) {
					t.Errorf("stored: %t", stored)
				}
				if next := h.send(http.MethodPost, imports+"?project=acme/two", semgrepReport(nil)); next.status != http.StatusUnauthorized {
					t.Errorf("next: %d %s", next.status, next.body)
				}
			})
		}
	}
}

// sendAfterContinue uploads a body that is sent when the server requests it.
func (h *harness) sendAfterContinue(target string, body io.Reader) (status int) {
	h.t.Helper()
	req, err := http.NewRequestWithContext(h.t.Context(), http.MethodPost, h.url+target, body)
	if err != nil {
		h.t.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer "+h.token)
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Expect", "100-continue")
	res, err := (&http.Transport{ExpectContinueTimeout: time.Minute}).RoundTrip(req)
	if err != nil {
		h.t.Fatal(err)
	}
	defer res.Body.Close()
	return res.StatusCode
}

// projects returns the deployment's projects.
func (h *harness) projects() (list []model.Project) {
	h.t.Helper()
	err := h.store.View(h.t.Context(), h.deployment.ID, func(ctx context.Context, tx *store.Tx) (err error) {
		list, err = tx.Projects(ctx, store.ProjectQuery{})
		return err
	})
	if err != nil {
		h.t.Fatal(err)
	}
	return list
}
