package accounts

import (
	"context"
	"slices"
	"time"

	"github.com/redoubt/redoubt/internal/model"
	"github.com/redoubt/redoubt/internal/store/sqldb"
)

// loginLine contains the undecided token requests, oldest first.
type loginLine struct {
	waiting  []model.LoginRequest
	familiar map[string]bool // networks with a signed-in user; loaded only if the limit is reached
}

// familiarNetworks returns the networks with a signed-in user.
func familiarNetworks(ctx context.Context, q *sqldb.Session, now time.Time) (map[string]bool, error) {
	addresses, err := sqldb.Many(
		ctx, q, sqldb.Scalar[string], `SELECT DISTINCT address FROM user_session WHERE expires_at > $1`, now,
	)
	networks := make(map[string]bool, len(addresses))
	for _, address := range addresses {
		networks[model.Network(address)] = true
	}
	return networks, err
}

// accepts reports whether a request from an address is accepted. gone is the key of the request
// that it replaces, if any.
func (l loginLine) accepts(address string) (accepted bool, gone []byte) {
	network, ofOne := model.Network(address), 0
	for _, w := range l.waiting {
		if model.Network(w.Address) == network {
			ofOne++
		}
	}
	if ofOne >= maxLoginsOfOne {
		return false, nil
	}
	if len(l.waiting) < maxLogins {
		return true, nil
	}
	candidates := slices.DeleteFunc(slices.Clone(l.waiting), func(w model.LoginRequest) bool {
		return l.familiar[model.Network(w.Address)]
	})
	switch {
	case len(candidates) > 0:
	case l.familiar[network]:
		candidates = l.waiting
	default:
		return false, nil
	}
	of, most := map[string]int{}, 0
	for _, w := range candidates {
		wide := model.WideNetwork(w.Address)
		of[wide]++
		most = max(most, of[wide])
	}
	// replacing it would only swap the two networks
	if own := of[model.WideNetwork(address)]; own > 0 && own+1 >= most && !l.familiar[network] {
		return false, nil
	}
	i := slices.IndexFunc(candidates, func(w model.LoginRequest) bool { return of[model.WideNetwork(w.Address)] == most })
	return true, candidates[i].KeyHash
}
