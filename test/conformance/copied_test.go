package conformance

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/redoubt/redoubt/internal/model"
	"github.com/redoubt/redoubt/internal/store"
)

// copyKinds are the kinds of reports about the contents of files, with their sources.
var copyKinds = map[string]struct {
	source string
	send   func(t *testing.T, s *site, ref string, paths ...string)
}{
	"a secret": {"gitleaks", func(t *testing.T, s *site, ref string, paths ...string) {
		t.Helper()
		var leaks []string
		for _, path := range append(paths, "other.env") {
			secret := map[bool]string{true: "AKIAIMNOJVGFDXXXE4OA", false: "AKIAIMNOJVGFDXXXE4OB"}[path == "other.env"]
			leaks = append(leaks, fmt.Sprintf(`{"RuleID": "aws", "Description": "AWS", "File": %q, "StartLine": 1, "EndLine": 1, "Match": "key=%[2]s", "Secret": %[2]q, "Fingerprint": "%[1]s:aws:1"}`, path, secret))
		}
		s.imported(t, "project=acme/copied&full=true&filename=leaks.json&ref="+ref, []byte("["+strings.Join(leaks, ",")+"]"))
	}},
	"a package": {"trivy", func(t *testing.T, s *site, ref string, paths ...string) {
		t.Helper()
		var results []string
		for _, path := range append(paths, "other/package-lock.json") {
			results = append(results, fmt.Sprintf(`{"Target": %q, "Class": "lang-pkgs", "Type": "npm",
				"Vulnerabilities": [{"VulnerabilityID": "CVE-2026-1", "PkgName": "p-%v", "InstalledVersion": "1.0.0", "Severity": "HIGH"}]}`, path, strings.HasPrefix(path, "other")))
		}
		s.imported(t, "project=acme/copied&full=true&filename=trivy.json&ref="+ref, []byte(`{"SchemaVersion": 2, "Results": [`+strings.Join(results, ",")+"]}"))
	}},
	"a package with advisories": {"trivy", func(t *testing.T, s *site, ref string, paths ...string) {
		t.Helper()
		s.clock.Advance(1e9)
		var results []string
		files := []file{{"other/uv.lock", []byte(uvLock)}}
		for _, path := range paths {
			files = append(files, file{path, shopLock("4.17.20")})
			results = append(results, fmt.Sprintf(`{"Target": %q, "Class": "lang-pkgs", "Type": "npm",
				"Vulnerabilities": [{"VulnerabilityID": "GHSA-1", "PkgName": "lodash", "InstalledVersion": "4.17.20", "Severity": "HIGH"}]}`, path))
		}
		files = append(files, file{"trivy.json", []byte(`{"SchemaVersion": 2, "Results": [` + strings.Join(results, ",") + "]}")})
		body, media := form(t, map[string]string{"project": "acme/copied", "ref": ref, "full": "true"}, files...)
		if a := s.send(t, request{method: "POST", path: "imports", body: body, header: map[string]string{"Content-Type": media}}); a.status != 200 {
			t.Fatalf("import: %d %s", a.status, a.body)
		}
	}},
	"a lockfile": {model.SourceAdvisories, func(t *testing.T, s *site, ref string, paths ...string) {
		t.Helper()
		s.clock.Advance(1e9)
		files := []file{{"other/uv.lock", []byte(uvLock)}}
		for _, path := range paths {
			files = append(files, file{path, shopLock("4.17.20")})
		}
		body, media := form(t, map[string]string{"project": "acme/copied", "ref": ref, "full": "true"}, files...)
		if a := s.send(t, request{method: "POST", path: "imports", body: body, header: map[string]string{"Content-Type": media}}); a.status != 200 {
			t.Fatalf("import: %d %s", a.status, a.body)
		}
	}},
}

// decisions returns the triage states and the live findings of a ref in some files, by path.
func (s *site) decisions(t *testing.T, source, ref string, among []string) (map[string]string, map[string]model.Finding) {
	t.Helper()
	states, found := map[string]string{}, map[string]model.Finding{}
	err := s.store.View(t.Context(), s.deployment.ID, func(ctx context.Context, tx *store.Tx) error {
		p, err := tx.ProjectByName(ctx, "acme/copied")
		if err != nil {
			return err
		}
		rows, err := tx.Findings(ctx, p.ID, model.FullRef(ref), source)
		for _, f := range rows {
			lineages, err := tx.Lineages(ctx, []int64{f.LineageID})
			if err != nil {
				return err
			}
			if f.State == model.Unresolved && slices.Contains(among, f.Path) {
				states[f.Path], found[f.Path] = lineages[f.LineageID].Triage.State.String(), f
			}
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return states, found
}

// TestCopyDoesNotInheritTriage checks that a copy of an ignored finding is not ignored. It moves a
// secret, a vulnerable package and a lockfile, all ignored, and then reports them at both
// locations. The history of the copy records its origin if it was known before.
func TestCopyDoesNotInheritTriage(t *testing.T) {
	for name, kind := range copyKinds {
		t.Run(name, func(t *testing.T) {
			each(t, func(t *testing.T, s *site) {
				a, b := "a/shop/package-lock.json", "b/shop/package-lock.json"
				s.publish(t, record{id: "GHSA-1", name: "lodash", fixed: "4.17.21", severity: "HIGH"})
				expect := func(when, ref string, want map[string]string) map[string]model.Finding {
					t.Helper()
					got, found := s.decisions(t, kind.source, ref, []string{a, b})
					if diff := cmp.Diff(want, got); diff != "" {
						t.Errorf("%s, %s (-want +got):\n%s", when, ref, diff)
					}
					return found
				}
				kind.send(t, s, "main", a)
				found := expect("first", "main", map[string]string{a: "untriaged"})
				err := s.store.Update(t.Context(), s.deployment.ID, model.Actor{Kind: "user", ID: "1"}, func(ctx context.Context, tx *store.Tx) error {
					return tx.UpdateTriage(ctx, []model.TriageEvent{{LineageID: found[a].LineageID, At: tx.Now(), After: model.Triage{State: model.TriageIgnored}}})
				})
				if err != nil {
					t.Fatal(err)
				}
				kind.send(t, s, "dev", a)
				expect("as main", "dev", map[string]string{a: "ignored"})
				kind.send(t, s, "dev", b)
				expect("moved", "dev", map[string]string{b: "ignored"})
				for _, step := range []string{"moved and back", "again"} {
					kind.send(t, s, "dev", a, b)
					found = expect(step, "dev", map[string]string{a: "ignored", b: "untriaged"})
				}
				s.checkCopyOf(t, found[b].ID, found[a].ID)
				kind.send(t, s, "main", a, b)
				expect("merged", "main", map[string]string{a: "ignored", b: "untriaged"})
			})
		})
	}
}

// checkCopyOf checks that the history of a finding contains the finding that it was copied from.
func (s *site) checkCopyOf(t *testing.T, id, of int64) {
	t.Helper()
	err := s.store.View(t.Context(), s.deployment.ID, func(ctx context.Context, tx *store.Tx) error {
		events, err := tx.History(ctx, id)
		var originals []int64
		for _, e := range events {
			var detail struct {
				FindingID int64 `json:"finding_id"`
			}
			if e.Kind == model.EventCopied && json.Unmarshal([]byte(e.Detail), &detail) == nil {
				originals = append(originals, detail.FindingID)
			}
		}
		if !slices.Equal(originals, []int64{of}) {
			t.Errorf("finding %d is listed as a copy of %v, want %d", id, originals, of)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}
