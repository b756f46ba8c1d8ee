package conformance

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/redoubt/redoubt/api"
	"github.com/redoubt/redoubt/internal/apihttp"
	"github.com/redoubt/redoubt/internal/apihttp/scans"
	"github.com/redoubt/redoubt/internal/httpx"
	"github.com/redoubt/redoubt/internal/index"
	"github.com/redoubt/redoubt/internal/model"
	"github.com/redoubt/redoubt/internal/store"
	"github.com/redoubt/redoubt/internal/testutil/storetest"
	"github.com/redoubt/redoubt/internal/web"
)

// uploader is a user of the pages that can sign out.
type uploader struct {
	*site
	role model.Role
	left bool
	http.Handler
}

func (u *uploader) Viewer(*http.Request) (web.Viewer, error) {
	if u.left {
		return web.Viewer{}, web.ErrNotSignedIn
	}
	return web.Viewer{User: "ada", DisplayName: "Ada", Role: u.role, Deployment: u.deployment}, nil
}

// uploads returns the pages of a site for a user with a role.
func (s *site) uploads(t *testing.T, role model.Role) *uploader {
	t.Helper()
	u := &uploader{site: s, role: role}
	err := s.store.Update(t.Context(), s.deployment.ID, storetest.Actor, func(ctx context.Context, tx *store.Tx) error {
		_, err := tx.CreateUser(ctx, model.User{Name: "ada", DisplayName: "Ada"}, role)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	pages, err := web.New(web.Config{
		Store: s.store, Index: index.New(s.store, index.Options{BodyCache: 1 << 20}), Clock: s.clock.Now, Logger: slog.New(slog.DiscardHandler),
		Version: "test", Viewers: u, SigningKeys: httpx.OneKey(signingKey), Uploads: func() web.Uploads { return scans.Uploads{Server: s.server} },
	})
	if err != nil {
		t.Fatal(err)
	}
	u.Handler = pages.Handler()
	return u
}

// found returns a match of a rule.
func found(rule, path string, line int) match {
	return match{rule: scanRule{name: rule, kind: "sast", severity: "ERROR", confidence: "HIGH"}, path: path, line: line, fingerprint: fmt.Sprintf("%032x_0", line)}
}

// post sends a body to the form's address; headers may mark it as sent by a script.
func (u *uploader) post(t *testing.T, body io.Reader, contentType string, header ...string) *httptest.ResponseRecorder {
	t.Helper()
	r := httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/orgs/"+u.deployment.Slug+"/upload", body)
	r.Header.Set("Content-Type", contentType)
	r.Header.Set("Sec-Fetch-Site", "same-origin")
	for i := 0; i+1 < len(header); i += 2 {
		r.Header.Set(header[i], header[i+1])
	}
	w := httptest.NewRecorder()
	u.ServeHTTP(w, r)
	return w
}

// openUpload opens the page that the form redirects to.
func (u *uploader) openUpload(t *testing.T, w *httptest.ResponseRecorder) string {
	t.Helper()
	to := w.Header().Get("Location")
	if w.Code != http.StatusSeeOther || !strings.Contains(to, "/upload/") {
		t.Fatalf("%d to %q: %s", w.Code, to, w.Body)
	}
	page := httptest.NewRecorder()
	u.ServeHTTP(page, httptest.NewRequestWithContext(t.Context(), http.MethodGet, to, nil))
	if page.Code != http.StatusOK {
		t.Fatalf("%s: %d %s", to, page.Code, page.Body)
	}
	return page.Body.String()
}

func (s *site) scans(t *testing.T) int {
	t.Helper()
	var n int
	err := s.store.View(t.Context(), s.deployment.ID, func(ctx context.Context, tx *store.Tx) error {
		list, _, err := tx.Scans(ctx, model.ScanFilter{}, store.ScanCursor{}, 1000)
		n = len(list)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// TestPageUploadEqualsImport checks that the form imports like the operation, with the same
// result and as the user. The page lists accepted and rejected files.
func TestPageUploadEqualsImport(t *testing.T) {
	each(t, func(t *testing.T, s *site) {
		u := s.uploads(t, model.RoleTriager)
		report := semgrepReport(found("rules.one", "a.py", 1), found("rules.two", "b.py", 2))
		byAPI := s.imported(t, "project=acme/by-api&ref=main&full=true", report)
		files := []file{{"semgrep.json", report}, {"package-lock.json", []byte("{broken")}}
		body, contentType := form(t, map[string]string{"project": "acme/by-page", "ref": "main", "commit": "", "category": "", "full": "true"}, files...)
		w := u.post(t, bytes.NewReader(body), contentType)
		text := u.openUpload(t, w)
		key := regexp.MustCompile(`/upload/(\S+)$`).FindStringSubmatch(w.Header().Get("Location"))[1]
		var result api.ImportResponse
		err := s.store.View(t.Context(), s.deployment.ID, func(ctx context.Context, tx *store.Tx) (err error) {
			result, _, err = scans.Uploads{}.UploadResult(ctx, tx, key)
			return err
		})
		if err != nil || len(result.Imports) != 2 { // one is the unreadable lockfile
			t.Fatalf("%+v, %v", result, err)
		}
		byPage := result.Imports[0]
		if byPage.Items != nil || result.Gate.Blocking != nil {
			t.Errorf("each finding is stored for a page that shows none: %+v", result)
		}
		// The stored response is not that of an upload.
		s.imported(t, "project=acme/named&ref=main", report, "Idempotency-Key", "upload-mine")
		for _, want := range []string{
			`data-files="1" data-given="2"`, "<b>2 ", fmt.Sprintf(`/scans/%s">Scan`, byPage.ScanID), "package-lock.json", "/findings?ref=refs%2Fheads%2Fmain&amp;repos=acme%2Fby-page",
		} {
			if !strings.Contains(text, want) {
				t.Errorf("the page lacks %q:\n%s", want, text)
			}
		}
		byAPI.Project, byAPI.ProjectID, byAPI.ScanID, byAPI.Items = byPage.Project, byPage.ProjectID, byPage.ScanID, byPage.Items
		byAPI.Advised = nil
		if diff := cmp.Diff(byAPI, byPage); diff != "" {
			t.Errorf("by the API and on the page (-API +page):\n%s", diff)
		}
		for _, path := range []string{"/upload/upload-unknown", "/upload/else", "/upload/upload-mine", "/upload/mine"} {
			gone := httptest.NewRecorder()
			u.ServeHTTP(gone, httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/orgs/"+s.deployment.Slug+path, nil))
			if gone.Code != http.StatusNotFound {
				t.Errorf("%s: %d", path, gone.Code)
			}
		}
		repeated := u.post(t, bytes.NewReader(body), contentType)
		u.openUpload(t, repeated)
		key = regexp.MustCompile(`/upload/(\S+)$`).FindStringSubmatch(repeated.Header().Get("Location"))[1]
		err = s.store.View(t.Context(), s.deployment.ID, func(ctx context.Context, tx *store.Tx) (err error) {
			result, _, err = scans.Uploads{}.UploadResult(ctx, tx, key)
			return err
		})
		if err != nil || result.Imports[0].Unchanged != 2 || result.Imports[0].New != 0 {
			t.Errorf("a second upload: %+v, %v", result.Imports, err)
		}
	})
}

// alert matches the error of the form, and notTaken is its marker.
var alert = regexp.MustCompile(`(?s)<div id="uploadfault".*?<form`)

const rejectedUpload = `data-say="not-taken"`

// TestPageUploadRejectsInvalidInput checks that nothing is imported after an error. The form has the
// entered values again, and the error has a text.
func TestPageUploadRejectsInvalidInput(t *testing.T) {
	each(t, func(t *testing.T, s *site) {
		u := s.uploads(t, model.RoleTriager)
		good := file{"semgrep.json", semgrepReport(found("rules.one", "a.py", 1))}
		typed := map[string]string{"project": "acme/shop", "ref": "re<lease"}
		complete, contentType := form(t, typed, good)
		for name, c := range map[string]struct {
			fields map[string]string
			files  []file
			body   []byte
			status int
			want   string
		}{
			"no project":      {map[string]string{"project": "", "ref": "re<lease"}, []file{good}, nil, 400, "is required"},
			"a bad project":   {map[string]string{"project": "a\x00b", "ref": "re<lease"}, []file{good}, nil, 400, ""},
			"full and diff":   {map[string]string{"project": "acme/shop", "ref": "re<lease", "full": "true", "diff": "true"}, []file{good}, nil, 400, "contradicts full"},
			"no file":         {typed, nil, nil, 400, "contains no file"},
			"no report":       {typed, []file{{"photo.png", []byte("\x89PNG\r\n\x1a\n\x00\x00")}}, nil, 400, "photo.png"},
			"a broken report": {typed, []file{good, {"other.sarif", []byte(`{"version": "2.1.0", "runs": [`)}}, nil, 400, "other.sarif"},
			"cut off":         {typed, nil, complete[:len(complete)-40], 400, "ends too early"},
		} {
			body, kind := c.body, contentType
			if body == nil {
				body, kind = form(t, c.fields, c.files...)
			}
			w := u.post(t, bytes.NewReader(body), kind)
			text := w.Body.String()
			if w.Code != c.status || !strings.Contains(alert.FindString(text), rejectedUpload) || !strings.Contains(alert.FindString(text), c.want) || !strings.Contains(text, `value="re&lt;lease"`) {
				t.Errorf("%s: %d %s", name, w.Code, alert.FindString(text))
			}
			part := u.post(t, bytes.NewReader(body), kind, "HX-Request", "true")
			if part.Code != c.status || strings.Contains(part.Body.String(), "<form") || !strings.Contains(part.Body.String(), rejectedUpload) {
				t.Errorf("%s, by a script: %d %s", name, part.Code, part.Body)
			}
		}
		if w := u.post(t, bytes.NewReader(complete), contentType, "Sec-Fetch-Site", "cross-site"); w.Code != http.StatusForbidden {
			t.Errorf("sent by another site: %d", w.Code)
		}
		u.role = model.RoleViewer
		if w := u.post(t, bytes.NewReader(complete), contentType); w.Code != http.StatusForbidden {
			t.Errorf("sent by a viewer: %d", w.Code)
		}
		if n := s.scans(t); n != 0 {
			t.Errorf("%d scans were accepted", n)
		}
	})
}

// meanwhile is a body that calls a function in its middle.
type meanwhile struct {
	io.Reader
	then   io.Reader
	happen func()
}

func (m *meanwhile) Read(p []byte) (int, error) {
	n, err := m.Reader.Read(p)
	if err == io.EOF && m.then != nil {
		m.happen()
		m.Reader, m.then = m.then, nil
		return n, nil
	}
	return n, err
}

// TestPageUploadAbortedByClient checks that nothing is imported if the user signs out or
// loses the role during the upload. The form has the entered values again.
func TestPageUploadAbortedByClient(t *testing.T) {
	each(t, func(t *testing.T, s *site) {
		u := s.uploads(t, model.RoleTriager)
		body, contentType := form(t, map[string]string{"project": "acme/shop", "ref": "main"}, file{"semgrep.json", semgrepReport(found("rules.one", "a.py", 1))})
		half := len(body) / 2
		for name, happen := range map[string]func(){
			"signs out": func() { u.left = true },
			"loses the role": func() {
				err := s.store.Update(t.Context(), s.deployment.ID, storetest.Actor, func(ctx context.Context, tx *store.Tx) error {
					m, err := tx.Member(ctx, "ada")
					if err != nil {
						return err
					}
					return tx.SetRole(ctx, m.ID, model.RoleViewer)
				})
				if err != nil {
					t.Error(err)
				}
			},
		} {
			w := u.post(t, &meanwhile{bytes.NewReader(body[:half]), bytes.NewReader(body[half:]), happen}, contentType)
			if to := w.Header().Get("Location"); w.Code != http.StatusSeeOther || !strings.HasPrefix(to, "/login?next=") || !strings.Contains(to, "acme%252Fshop") {
				t.Errorf("a user who %s gets %d %q: %s", name, w.Code, to, w.Body)
			}
			u.left = false
		}
		if n := s.scans(t); n != 0 {
			t.Errorf("%d scans were accepted", n)
		}
	})
}

// TestPageUploadSizeLimit checks the limit of the API, with and without a Content-Length.
func TestPageUploadSizeLimit(t *testing.T) {
	s := newSite(t, "sqlite", apihttp.Limits{Upload: 1 << 20})
	u := s.uploads(t, model.RoleTriager)
	large := file{"semgrep.json", append(semgrepReport(found("rules.one", "a.py", 1)), bytes.Repeat([]byte(" "), 2<<20)...)}
	body, contentType := form(t, map[string]string{"project": "acme/shop", "ref": "main"}, large)
	for name, sent := range map[string]io.Reader{"told": bytes.NewReader(body), "not told": struct{ io.Reader }{bytes.NewReader(body)}} {
		w := u.post(t, sent, contentType)
		if w.Code != http.StatusRequestEntityTooLarge || !strings.Contains(w.Body.String(), "1048576 bytes") {
			t.Errorf("%s: %d %s", name, w.Code, alert.FindString(w.Body.String()))
		}
	}
	if n := s.scans(t); n != 0 {
		t.Errorf("%d scans were accepted", n)
	}
}
