package conformance

import (
	"bytes"
	"slices"
	"strings"
	"testing"

	"github.com/redoubt/redoubt/api"
)

// TestImportOfUnreadableFiles checks that an unreadable lockfile does not affect the others. Its stored
// dependencies and findings remain (docs/reference/uploads.md).
func TestImportOfUnreadableFiles(t *testing.T) {
	each(t, func(t *testing.T, s *site) {
		s.publish(t, record{id: "GHSA-1111-1111-1111", name: "lodash", fixed: "4.17.21", severity: "HIGH"},
			record{id: "GHSA-2222-2222-2222", ecosystem: "PyPI", name: "jinja2", fixed: "3.0.0", severity: "HIGH"})
		s.inventory(t, "main", "4.17.20")
		before := s.supply(t, "")
		if len(before) != 2 {
			t.Fatalf("findings %q, want two", before)
		}
		cut := file{"package-lock.json", shopLock("4.17.20")[:90]}
		api2 := file{"api/uv.lock", []byte(uvLock)}
		goMod := file{"go.mod", []byte("module a.example/b\n\nrequire x.example/y v1.2.3\n")}
		out := s.uploadFiles(t, "acme/shop", "main", cut, api2, goMod)
		if out.Files != 2 || out.Given != 3 || len(out.Unread) != 1 || out.Unread[0].Name != cut.name || out.Unread[0].Reason == "" {
			t.Errorf("%d files read, unread %+v", out.Files, out.Unread)
		}
		if c := out.Imports[0].Changes; c.Removed != 0 || len(c.LockfilesDropped) != 0 || c.Lockfiles != 2 || c.Added != 1 {
			t.Errorf("the inventory changed: %+v", c)
		}
		wants(t, "findings", s.supply(t, ""), before...)

		sent, err := s.api().ImportReports(t.Context(), s.deployment.Slug, api.ImportQuery{Project: "acme/shop", Ref: "main", Whole: true, Commit: "2"},
			[]api.File{{Name: cut.name, Unread: "it has 209715200 bytes"}, {Name: goMod.name, Data: goMod.text}}, api.WithKey("unsent"))
		if err != nil || len(sent.Unread) != 1 || sent.Unread[0] != (api.UnreadFile{Name: cut.name, Reason: "it has 209715200 bytes"}) {
			t.Fatalf("one that is not sent: %+v, %v", sent, err)
		}
		if c := sent.Imports[0].Changes; c.Removed != 1 || !slices.Equal(c.LockfilesDropped, []string{api2.name}) {
			t.Errorf("findings of a removed lockfile are not counted: %+v", c)
		}
		wants(t, "findings", s.supply(t, "status=open"), before[1])

		send := func(query string, files ...file) answer {
			body, contentType := form(t, nil, files...)
			return s.importing(t, "project=acme/shop&ref=main&"+query, body, "Content-Type", contentType)
		}
		invalid(t, send("", cut, file{"uv.lock", []byte("[[[")}), cut.name) // none can be read
		invalid(t, send("strict=true", cut, goMod), cut.name)
		invalid(t, send("", goMod, file{"scan.sarif", []byte(`{"version":"2.1.0","runs":[`)}), "scan.sarif")
		refused(t, s.importing(t, "project=acme/shop&ref=main&filename=uv.lock", []byte("[[[")), 400, api.CodeInvalidArgument)
		testTruncatedForm(t, s, goMod)
		wants(t, "findings after refusals", s.supply(t, "status=open"), before[1])
	})
}

// testTruncatedForm sends truncated forms: missing files must not count as deleted.
func testTruncatedForm(t *testing.T, s *site, goMod file) {
	body, contentType := form(t, nil, goMod, file{"package-lock.json", shopLock("4.17.20")})
	second := bytes.LastIndex(body, []byte("Content-Disposition"))
	boundary := bytes.LastIndex(body[:second], []byte("--"))
	for name, end := range map[string]int{"behind a file": boundary, "in a file": len(body) - 100, "before the last boundary": bytes.LastIndex(body, []byte("--"+strings.Split(contentType, "boundary=")[1]))} {
		if a := s.importing(t, "project=acme/shop&ref=main&whole=true", body[:end], "Content-Type", contentType); a.status != 400 {
			t.Errorf("a form that ends %s returns %d", name, a.status)
		}
	}
}
