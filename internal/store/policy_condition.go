package store

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/redoubt/redoubt"
)

// SupplyFacts reads what conditions ask of supply-chain findings, but for their
// lineages' scores and their age. Findings of other kinds are not in the answer.
func (tx *Tx) SupplyFacts(ctx context.Context, ids []int64) (map[int64]redoubt.SupplyFacts, error) {
	in, arg := tx.in("s.finding_id", 2, ids)
	out := make(map[int64]redoubt.SupplyFacts, len(ids))
	err := each(ctx, tx, func(r row) error {
		var id int64
		var f redoubt.SupplyFacts
		var members []byte
		if err := r.Scan(&id, &f.Package, &f.Version, &f.Vulnerability, &members); err != nil {
			return err
		}
		var body struct {
			Fixes []redoubt.Fix `json:"fix_recommendations"`
		}
		if err := json.Unmarshal([]byte("{"+string(members)+"}"), &body); err != nil {
			return fmt.Errorf("a finding's body: %w", err)
		}
		f.Fixes = body.Fixes
		out[id] = f
		return nil
	}, `SELECT s.finding_id, s.package, s.version, s.vulnerability, b.body FROM finding_subject s
		JOIN finding_body b ON b.deployment_id = s.deployment_id AND b.finding_id = s.finding_id WHERE s.deployment_id = $1 AND `+in, arg)
	if err != nil {
		return nil, err
	}
	for _, from := range []string{
		`JOIN kev k ON k.cve = UPPER(s.vulnerability)`,
		`JOIN advisory_member m ON m.group_id = s.group_id JOIN advisory_name n ON n.advisory_id = m.advisory_id JOIN kev k ON k.cve = n.name`,
	} {
		err := each(ctx, tx, func(r row) error {
			var id int64
			err := r.Scan(&id)
			f := out[id]
			f.Exploited = true
			out[id] = f
			return err
		}, `SELECT DISTINCT s.finding_id FROM finding_subject s `+from+` WHERE s.deployment_id = $1 AND `+in, arg)
		if err != nil {
			return nil, err
		}
	}
	return out, nil
}
