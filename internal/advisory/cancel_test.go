package advisory_test

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/redoubt/redoubt/internal/advisory"
	"github.com/redoubt/redoubt/internal/model"
	"github.com/redoubt/redoubt/internal/version"
)

// leavingOrder is an order that cancels a context when versions are sorted.
type leavingOrder struct {
	version.Order
	leave  func()
	scales *int
}

func (o leavingOrder) Scale(versions []string) func(string) (int, bool) {
	o.leave()
	*o.scales++
	return o.Order.Scale(versions)
}

func TestMatchEndsWithContext(t *testing.T) {
	s := &shelf{version: 1, holdings: []model.Holding{{Lockfile: "l"}}}
	for i := range 50 {
		s.groups = append(s.groups, model.AdvisoryGroup{ID: int64(i + 1), Records: []model.Advisory{stored(t, int64(i+1), fmt.Sprintf(
			`{"id":"OSV-%d","affected":[{"package":{"ecosystem":"npm","name":"a%[1]d"},"ranges":[{"type":"SEMVER","events":[{"introduced":"0"}]}]}]}`, i))}})
		s.holdings[0].Dependencies = append(s.holdings[0].Dependencies, dep("npm", fmt.Sprint("a", i), "1.0.0"), dep("npm", fmt.Sprint("a", i), "1.0.1"))
	}
	scales, leave := 0, func() {}
	library := advisory.NewLibrary(func(e string) advisory.Order {
		return leavingOrder{version.OrderOf(e), func() { leave() }, &scales}
	})
	for _, when := range []string{"records are read", "versions are judged"} {
		ctx, cancel := context.WithCancel(t.Context())
		scales, leave = 0, cancel
		if _, err := library.Match(ctx, s, 1, "refs/heads/main", nil); !errors.Is(err, context.Canceled) || scales != 1 {
			t.Errorf("while %s: %v, and %d packages were sorted", when, err, scales)
		}
		leave = func() {}
		if advised := match(t, library, s, nil); len(advised.Matches) != 50 {
			t.Errorf("after it ended while %s: %d matches", when, len(advised.Matches))
		}
	}
}
