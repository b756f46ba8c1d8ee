package conformance

import (
	"context"
	"net/url"
	"testing"

	"github.com/redoubt/redoubt/api"
	"github.com/redoubt/redoubt/internal/store"
	"github.com/redoubt/redoubt/internal/testutil/storetest"
)

// TestFormerProjectNameFilter renames a project. Filters by its old name select it until another
// project has that name.
func TestFormerProjectNameFilter(t *testing.T) {
	each(t, func(t *testing.T, s *site) {
		w := &world{site: s, rules: map[string]scanRule{}}
		s.upload(t, "acme/before", "main", "full", semgrepReport(w.matches(1, 0, 2)...))
		s.imported(t, "project=acme/before&ref=main&filename=leaks.json", []byte(`[{"RuleID": "aws", "File": "a.py", "StartLine": 1, "Secret": "AKIA1111111111111111", "Match": "k", "Fingerprint": "a.py:aws:1"}]`))
		rename := func(old, name string) {
			t.Helper()
			if err := s.store.Update(t.Context(), s.deployment.ID, storetest.Actor, func(ctx context.Context, tx *store.Tx) error {
				p, err := tx.ProjectByName(ctx, old)
				if err == nil {
					_, err = tx.RenameProject(ctx, p.ID, name)
				}
				return err
			}); err != nil {
				t.Fatal(err)
			}
		}
		expect := func(name string, code, secrets int) {
			t.Helper()
			if got := len(get[api.ListFindingsResponse](t, s, "findings", url.Values{"issue_type": {"sast"}, "repos": {name}}).SASTFindings.Findings); got != code {
				t.Errorf("%s lists %d findings, want %d", name, got, code)
			}
			if got := len(get[api.ListSecretsResponse](t, s, "secrets", url.Values{"repo": {name}}).Findings); got != secrets {
				t.Errorf("%s lists %d secrets, want %d", name, got, secrets)
			}
		}
		expect("acme/before", 2, 1)
		rename("acme/before", "acme/between")
		rename("acme/between", "acme/after")
		for _, name := range []string{"acme/before", "acme/between", "acme/after", "ACME/after"} {
			expect(name, 2, 1)
		}
		s.upload(t, "acme/other", "main", "full", semgrepReport(w.matches(1, 0, 1)...))
		rename("acme/other", "acme/before")
		expect("acme/before", 1, 0)
		expect("acme/other", 1, 0)
		expect("acme/between", 2, 1)
		rename("acme/before", "acme/last") // the name belongs to that project from now on
		expect("acme/before", 1, 0)
		expect("acme/between", 2, 1)
	})
}
