package findings

import (
	"net/url"
	"slices"
	"testing"
)

// TestOutcomeIsAddedToAddress checks that the outcome is added to an address and its other
// parts stay unchanged.
func TestOutcomeIsAddedToAddress(t *testing.T) {
	for _, c := range []struct {
		o          outcome
		from, want string
	}{
		{outcome{first: 1, last: 2, left: 3}, "/orgs/acme/findings?q=1-2-0", "/orgs/acme/findings?done=1-2-3&q=1-2-0"},
		{outcome{first: 1, last: 2, left: 3}, "/orgs/acme/findings?a=x&done=1-2-0", "/orgs/acme/findings?a=x&done=1-2-3"},
		{outcome{first: 4, last: 9, left: 1, named: []int64{7}}, "/orgs/acme/advisories/a%2Fb#impact", "/orgs/acme/advisories/a%2Fb?done=4-9-1-7#impact"},
	} {
		got := c.o.addTo(c.from)
		if got != c.want {
			t.Errorf("%s becomes %s, want %s", c.from, got, c.want)
		}
		u, err := url.Parse(got)
		if err != nil {
			t.Fatal(err)
		}
		back, ok := outcomeFrom(u.Query().Get("done"))
		if !ok || back.left != c.o.left || back.first != c.o.first || back.last != c.o.last || !slices.Equal(back.named, c.o.named) {
			t.Errorf("%s reads as %+v, %v", got, back, ok)
		}
	}
	for _, bad := range []string{"", "1", "1-2", "x-1-0", "9-2-0", "1-2--1", "1-2-99999999999"} {
		if _, ok := outcomeFrom(bad); ok {
			t.Errorf("%q is an outcome", bad)
		}
	}
}
