package conformance

import (
	"bytes"
	"context"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/redoubt/redoubt/api"
	"github.com/redoubt/redoubt/internal/store"
	"github.com/redoubt/redoubt/internal/testutil/reporttest"
)

// importing uploads a raw report.
func (s *site) importing(t testing.TB, query string, body []byte, headers ...string) answer {
	t.Helper()
	s.clock.Advance(time.Second)
	r := request{method: "POST", path: "imports?" + query, body: body, header: map[string]string{"Content-Type": "application/octet-stream"}}
	for i := 0; i < len(headers); i += 2 {
		r.header[headers[i]] = headers[i+1]
	}
	return s.send(t, r)
}

func (s *site) imported(t testing.TB, query string, body []byte, headers ...string) api.Import {
	t.Helper()
	out := read[api.ImportResponse](t, s.importing(t, query, body, headers...))
	if len(out.Imports) != 1 {
		t.Fatalf("imports %+v, want one", out.Imports)
	}
	return out.Imports[0]
}

func TestImports(t *testing.T) {
	each(t, func(t *testing.T, s *site) {
		w := &world{site: s, rules: map[string]scanRule{}}
		t.Run("again", func(t *testing.T) { testRepeatedImport(t, w) })
		t.Run("identical", func(t *testing.T) { testIdentical(t, w) })
		t.Run("identical, gate", func(t *testing.T) { testIdenticalGate(t, w) })
		t.Run("identical bytes, read again", func(t *testing.T) { testIdenticalReparsed(t, w) })
		t.Run("commits of merged projects", func(t *testing.T) { testMergedCommits(t, w) })
		t.Run("full and diff", func(t *testing.T) { testFullAndDiff(t, w) })
		t.Run("encodings", func(t *testing.T) { testUploadEncodings(t, w) })
		t.Run("at", func(t *testing.T) { testImportAt(t, w) })
		t.Run("broken items", func(t *testing.T) { testInvalidItems(t, w) })
		t.Run("refusals", func(t *testing.T) { testImportRefusals(t, w) })
		t.Run("whole", func(t *testing.T) { testCompleteImport(t, w) })
		t.Run("gate", func(t *testing.T) { testImportGate(t, w) })
		t.Run("client", func(t *testing.T) { testImportClient(t, w) })
		t.Run("secrets are not stored", func(t *testing.T) { testNoSecret(t, w) })
	})
}

// version returns the version of the deployment, which grows with every commit that changes a
// response.
func (s *site) version(t testing.TB) (v int64) {
	t.Helper()
	err := s.store.View(t.Context(), s.deployment.ID, func(_ context.Context, tx *store.Tx) error {
		v = tx.Version()
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return v
}

// testRepeatedImport checks that a repeated file changes no finding.
func testRepeatedImport(t *testing.T, w *world) {
	query, text := "project=acme/again&ref=main&full=true", semgrepReport(w.matches(1, 0, 12)...)
	first := w.imported(t, query, text)
	if first.Outcome != "applied" || first.New != 12 || len(first.Items) != 12 || first.Ref != "refs/heads/main" || first.Source != "semgrep" || first.Counts.Total != 11 {
		t.Errorf("first: %+v", first)
	}
	rows := w.allCode(t)
	repeated := w.imported(t, query, text)
	if repeated.Outcome != "repeat" || repeated.Unchanged != 12 || repeated.New+repeated.Changed+repeated.Closed != 0 || repeated.ScanID == first.ScanID {
		t.Errorf("again: %+v", repeated)
	}
	if diff := cmp.Diff(rows, w.allCode(t)); diff != "" {
		t.Errorf("the repeat changed (-before +after):\n%s", diff)
	}
	if got := w.imported(t, query, semgrepReport(w.matches(1, 0, 11)...)); got.Closed != 1 || got.Unchanged != 11 {
		t.Errorf("one less: %+v", got)
	}
	if got := w.imported(t, query, text); got.Outcome != "applied" || got.Returned != 1 {
		t.Errorf("A, B, A applies the last as %+v", got)
	}
}

// testFullAndDiff checks that a diff scan closes only findings that no full scan reported.
func testFullAndDiff(t *testing.T, w *world) {
	full, diff := "project=acme/diff&ref=main&full=true", "project=acme/diff&ref=main&diff=true"
	w.imported(t, full, semgrepReport(w.matches(2, 0, 8)...))
	if got := w.imported(t, diff, semgrepReport(w.matches(2, 8, 12)...)); got.New != 4 || got.Closed != 0 {
		t.Errorf("a diff: %+v", got)
	}
	if got := w.imported(t, diff, semgrepReport(append(w.matches(2, 8, 10), w.matches(2, 0, 1)...)...)); got.Closed != 2 || got.New != 0 {
		t.Errorf("a smaller diff scan: %+v", got)
	}
	if got := w.imported(t, full, semgrepReport(w.matches(2, 0, 1)...)); got.Closed != 9 {
		t.Errorf("a full scan of one: %+v", got)
	}
}

// testUploadEncodings uploads the same report raw, compressed and as a form.
func testUploadEncodings(t *testing.T, w *world) {
	text := semgrepReport(w.matches(3, 0, 5)...)
	ignore := cmpopts.IgnoreFields(api.Import{}, "Project", "ProjectID", "ScanID", "Items")
	want := w.imported(t, "project=way/raw&ref=main&full=true", text)
	for name, got := range map[string]api.Import{
		"zipped": w.imported(t, "project=way/zipped&ref=main&full=true", reporttest.Gzip(t, text), "Content-Encoding", "gzip"),
		"json":   w.imported(t, "project=way/json&ref=main&full=true", text, "Content-Type", "application/json"),
		"format": w.imported(t, "project=way/format&ref=main&full=true&format=semgrep-json", text),
	} {
		if diff := cmp.Diff(want, got, ignore); diff != "" {
			t.Errorf("%s (-raw +%s):\n%s", name, name, diff)
		}
	}
	body, contentType := form(t, map[string]string{"project": "way/form", "ref": "main", "full": "true"}, file{"a.json", text})
	if diff := cmp.Diff(want, w.imported(t, "", body, "Content-Type", contentType), ignore); diff != "" {
		t.Errorf("a form (-raw +form):\n%s", diff)
	}
	body, contentType = form(t, nil, file{"a.json", text}, file{"b.sarif", sarifReport("bandit", w.matches(3, 0, 1)...)}, file{"go.mod", []byte("module a.example/b\n\nrequire x.example/y v1.2.3\n")})
	out := read[api.ImportResponse](t, w.importing(t, "project=way/several&ref=main", body, "Content-Type", contentType, "Content-Encoding", "identity"))
	var outcomes []string
	for _, i := range out.Imports {
		outcomes = append(outcomes, fmt.Sprint(i.Source, " ", i.New, " ", i.Changes.Added))
	}
	elsewhere := w.matches(3, 0, 2)
	elsewhere[0].path = "file:///builds/acme/" + elsewhere[0].path
	for query, want := range map[string][2]int{"": {1, 1}, "&root=/builds/acme": {2, 0}} {
		got := w.imported(t, fmt.Sprintf("project=way/root%d&ref=main%s", len(query), query), sarifReport("eslint", elsewhere...))
		if got.New != want[0] || len(got.Refused) != want[1] {
			t.Errorf("absolute paths, %q: %d new, refused %v", query, got.New, got.Refused)
		}
	}
	if len(out.Imports) != 3 || out.Imports[0].New != 5 || out.Imports[1].New != 1 || out.Imports[2].Changes.Added != 1 {
		t.Errorf("three files: %v", outcomes)
	}
}

// testImportAt checks that the time of an import may be in the past but not in the future.
func testImportAt(t *testing.T, w *world) {
	at := w.clock.Now().Add(-48 * time.Hour).Format(time.RFC3339Nano)
	got := w.imported(t, "project=acme/old&ref=main&full=true&at="+url.QueryEscape(at), semgrepReport(w.matches(4, 0, 2)...))
	f := w.finding(t, got.Items[0].FindingID)
	scan := post[api.SearchScansResponse](t, w.site, "scans/search", object{"repository_id": got.ProjectID}).Scans[0]
	if want := w.clock.Now().Add(-48 * time.Hour).Add(-time.Second); f.CreatedAt.Sub(want) > 2*time.Second || !scan.StartedAt.Equal(f.CreatedAt.Time) || !f.RelevantSince.Equal(f.CreatedAt.Time) {
		t.Errorf("back-dated to %s are finding %s and scan %s", at, f.CreatedAt, scan.StartedAt)
	}
	future := url.QueryEscape(w.clock.Now().Add(time.Hour).Format(time.RFC3339Nano))
	if a := w.importing(t, "project=acme/old&ref=main&at="+future, semgrepReport()); a.status != 400 {
		t.Errorf("an import from the future returns %d", a.status)
	}
}

// testInvalidItems checks that an invalid item is reported and skipped, unless strict is set.
func testInvalidItems(t *testing.T, w *world) {
	text := semgrepReport(w.matches(5, 0, 4)...)
	broken := bytes.Replace(text, []byte(`"results":[`), []byte(`"results":[{"check_id":"no.extra"},{"check_id":"out","path":"../../etc/passwd","start":{"line":1},"extra":{"message":"x"}},`), 1)
	a := w.importing(t, "project=acme/broken&ref=main&strict=true", broken)
	invalid(t, a, "results[0]", "results[1]")
	refused(t, w.send(t, request{method: "GET", path: "projects/acme/broken"}), 404, api.CodeNotFound)
	got := w.imported(t, "project=acme/broken&ref=main", broken)
	if got.New != 4 || len(got.Refused) != 2 || got.Refused[0].Item != "results[0]" || got.Refused[1].Item != "results[1]" || got.Refused[0].Reason == "" {
		t.Errorf("with two broken items: %+v", got)
	}
}

func testImportRefusals(t *testing.T, w *world) {
	text := semgrepReport(w.matches(6, 0, 2)...)
	for name, c := range map[string]struct {
		query string
		body  []byte
	}{
		"no project":        {"ref=main", text},
		"a short name":      {"project=acme", text},
		"full and diff":     {"project=a/b&full=true&diff=true", text},
		"no time":           {"project=a/b&at=yesterday", text},
		"an unknown kind":   {"project=a/b", []byte("hello")},
		"nothing":           {"project=a/b", []byte{}},
		"an unknown format": {"project=a/b&format=xlsx", text},
		"cut off":           {"project=a/b", text[:len(text)/2]},
		"another format":    {"project=a/b&format=sarif", text},
	} {
		t.Run(name, func(t *testing.T) {
			p := refused(t, w.importing(t, c.query, c.body), 400, api.CodeInvalidArgument)
			if len(p.Errors) == 0 {
				t.Errorf("names nothing: %+v", p)
			}
		})
	}
	body, contentType := form(t, map[string]string{"project": "a/b"})
	invalid(t, w.importing(t, "", body, "Content-Type", contentType))
	refused(t, w.send(t, request{method: "GET", path: "projects/a/b"}), 404, api.CodeNotFound)
}

func testImportClient(t *testing.T, w *world) {
	q := api.ImportQuery{Project: "acme/client", Ref: "main", Full: true, Commit: "abc", Filename: "r.json", RepoURL: "https://github.com/acme/client"}
	out, err := w.api().ImportReport(t.Context(), w.deployment.Slug, q, bytes.NewReader(semgrepReport(w.matches(7, 0, 3)...)))
	if err != nil || len(out.Imports) != 1 || out.Imports[0].New != 3 {
		t.Errorf("imports %+v, %v", out, err)
	}
}

// testNoSecret searches for raw secrets in everything the server writes: responses, log and files.
func testNoSecret(t *testing.T, w *world) {
	const raw = "ghp_R4wS3cr3tThatMustNotBeKept1234567890"
	m := match{rule: secretRule(1), path: "src/key.py", line: 3, fingerprint: "requires login", secret: &secret{text: raw, validation: "CONFIRMED_VALID"}}
	leak := bytes.Replace(semgrepReport(m), []byte(`"errors":[`), []byte(`"errors":[{"level":"warn","path":"src/key.py","message":"near `+raw+`"}`), 1)
	sarif := bytes.ReplaceAll(sarifReport("gitleaks", match{rule: scanRule{name: "github-pat"}, path: "src/key.py", line: 3, fingerprint: "f"}),
		[]byte(`"startColumn":1`), []byte(`"startColumn":1,"snippet":{"text":"`+raw+`"}`))
	var answers []string
	for i, text := range [][]byte{leak, sarif, leak[:len(leak)-3], bytes.Replace(leak, []byte(`"check_id"`), []byte(`"check":"`+raw+`","check_id"`), 1)} {
		answers = append(answers, string(w.importing(t, fmt.Sprintf("project=acme/secret%d&ref=main&filename=r.json", i), text).body))
	}
	ids := all(t, w.api().Secrets(t.Context(), w.deployment.Slug, api.SecretsQuery{Repo: []string{"acme/secret0", "acme/secret1"}}))
	if len(ids) != 2 {
		t.Fatalf("%d secrets, want 2: %v", len(ids), answers)
	}
	for _, s := range ids {
		answers = append(answers, fmt.Sprintf("%+v", s), string(w.send(t, request{method: "GET", path: "findings/" + s.ID}).body))
	}
	if strings.Contains(strings.Join(answers, "\n"), raw) {
		t.Errorf("a response contains the secret: %s", answers)
	}
	if strings.Contains(w.log.String(), raw) {
		t.Error("the log contains the secret")
	}
	if w.config.DatabaseURL == "" {
		notInFiles(t, w.config.Dir, raw)
	}
}

// notInFiles searches every file of a folder, including the database's log.
func notInFiles(t *testing.T, dir, raw string) {
	t.Helper()
	err := filepath.WalkDir(dir, func(path string, d os.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		text, err := os.ReadFile(path)
		if bytes.Contains(text, []byte(raw)) || bytes.Contains(text, []byte(raw[10:])) {
			t.Errorf("%s contains the secret", path)
		}
		return err
	})
	if err != nil {
		t.Error(err)
	}
}
