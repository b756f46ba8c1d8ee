package pages

import (
	"context"
	"net/http"
	"testing"

	"github.com/redoubt/redoubt/api"
	"github.com/redoubt/redoubt/internal/auth"
	"github.com/redoubt/redoubt/internal/model"
	"github.com/redoubt/redoubt/internal/store"
)

// noUploads rejects all uploads. Real uploads are tested in conformance with a server, and in
// cmd/redoubt with a browser.
type noUploads struct{}

func (noUploads) ImportUpload(http.ResponseWriter, *http.Request, auth.Caller, *api.ImportQuery) (string, error) {
	return "", &api.Problem{Status: http.StatusBadRequest, Detail: "body: holds no file"}
}

func (noUploads) UploadResult(context.Context, *store.Tx, string) (api.ImportResponse, []int, error) {
	return api.ImportResponse{}, nil, model.ErrNotFound
}

// TestUploadFormIsPrefilled checks that the address can fill in the form.
func TestUploadFormIsPrefilled(t *testing.T) {
	s := newSite(t)
	page := s.page("/upload?project=acme%2Fshop&ref=release&full=true&commit=c0ffee")
	containsAll(t, page, `value="acme/shop"`, `value="release"`, `name="full" value="true" checked`, `value="c0ffee"`, "<details class=\"fold\" open>")
	lacks(t, page, `name="diff" value="true" checked`)
	hides(t, page, "#uploadfault .say")
	d := newSignInSite(t)
	shows(t, d.browserAs(d.user(d.org, "ben", model.RoleTriager)).submit("/upload", nil).text, "#uploadfault .say")
	if a := s.get("/upload/upload-unknown"); a.StatusCode != http.StatusNotFound {
		t.Errorf("a file that was never uploaded: %s", a.Status)
	}
	s.as(model.RoleViewer)
	if a := s.get("/upload"); a.StatusCode != http.StatusForbidden {
		t.Errorf("a viewer: %s", a.Status)
	}
}
