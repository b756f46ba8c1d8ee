package findings

import (
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/redoubt/redoubt/internal/index"
	"github.com/redoubt/redoubt/internal/model"
	"github.com/redoubt/redoubt/internal/web/ui"
)

// TestExpiryFilter checks that the filter supports the options of the facet.
func TestExpiryFilter(t *testing.T) {
	now := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	for value, days := range map[string]int{"7": 7, "30": 30} {
		s, err := searchOf(ui.ProductOf(model.SAST), "/x", url.Values{string(index.FacetEnds): {value}}, now)
		if err != nil || !s.filter.EndsBy.Equal(now.AddDate(0, 0, days)) {
			t.Errorf("%s: %v, %v", value, s, err)
		}
	}
	if _, err := searchOf(ui.ProductOf(model.SAST), "/x", url.Values{string(index.FacetEnds): {"8"}}, now); err == nil {
		t.Error("8 is accepted")
	}
}

func TestSearchAddressRoundTrip(t *testing.T) {
	for _, query := range []string{
		"?-severities=low&q=redoubt&severities=high", "?branch=primary&group=rule", "?status=any", "?-status=fixed", "?ref=refs%2Fheads%2Fmain&repos=acme%2Fpayments&sort=newest",
		"?since=30", "?branch=every&page=2&sort=oldest", "",
	} {
		q, err := url.ParseQuery(strings.TrimPrefix(query, "?"))
		if err != nil {
			t.Fatal(err)
		}
		got, err := searchOf(ui.ProductOf(model.SAST), "/x", q, time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC))
		if err != nil {
			t.Fatal(err)
		}
		if got.address() != "/x"+query {
			t.Errorf("%q becomes %q", query, got.address())
		}
	}
}
