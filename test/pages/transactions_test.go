package pages

import (
	"net/http"
	"net/url"
	"testing"

	"github.com/redoubt/redoubt/internal/testutil/storetest"
)

// TestFindingTransactionCounts checks the number of transactions. A page of findings opens one view, and
// a bulk decision opens one view for the preview and one update.
func TestFindingTransactionCounts(t *testing.T) {
	clock, opened := storetest.NewClock(), &storetest.Transactions{Handler: "/internal/web/ui.(*Pages).serve"}
	config := theDemo.Database(t, clock, fillDemo)
	config.Clock = opened.Watch(clock.Now)
	st := storetest.Open(t, config)
	org, err := st.Deployment(t.Context(), "acme")
	if err != nil {
		t.Fatal(err)
	}
	s := siteOf(t, clock, st, org)
	check := func(what string, wantViews, wantUpdates int, do func()) {
		t.Helper()
		views, updates := opened.During(do)
		if views != wantViews || updates != wantUpdates {
			t.Errorf("%s: %d views, want %d; %d updates, want %d", what, views, wantViews, updates, wantUpdates)
		}
	}
	for _, path := range []string{
		"/findings", "/findings?severities=high", "/findings?finding=1", "/findings?group=rule",
		"/supply-chain/vulnerabilities", "/secrets",
	} {
		check(path, 1, 0, func() { s.page(path) })
	}
	var form url.Values
	check("what a decision would change", 1, 0, func() { form = formOf(s.previewOf("repos=acme%2Fpayments")) })
	form.Set("state", "ignored")
	form.Set("reason", "acceptable_risk")
	check("the decision", 0, 1, func() {
		if a := s.post("/triage", form); a.StatusCode != http.StatusSeeOther {
			t.Errorf("the decision: %s", a.Status)
		}
	})
}
