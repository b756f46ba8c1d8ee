package policies

import (
	"context"
	"fmt"

	"github.com/redoubt/redoubt/internal/model"
	"github.com/redoubt/redoubt/internal/store/advisories"
	"github.com/redoubt/redoubt/internal/store/sqldb"
)

// SupplyFacts returns the facts about supply-chain findings that conditions use, except lineage
// scores and age. Other findings are omitted.
func (tx *Tx) SupplyFacts(ctx context.Context, ids []int64) (map[int64]model.SupplyFacts, error) {
	in, arg := tx.In("s.finding_id", 2, ids)
	out := make(map[int64]model.SupplyFacts, len(ids))
	groups := map[int64]int64{} // by finding
	err := sqldb.Each(ctx, tx, func(r sqldb.Row) error {
		var id, group int64
		var f model.SupplyFacts
		var members []byte
		if err := r.Scan(&id, &f.Package, &f.Version, &f.Vulnerability, &group, &f.Severity, &members); err != nil {
			return err
		}
		groups[id] = group
		var body struct {
			Fixes []model.Fix `json:"fix_recommendations"`
		}
		if err := sqldb.DecodeStored([]byte("{"+string(members)+"}"), &body); err != nil {
			return fmt.Errorf("a finding's body: %w", err)
		}
		f.Fixes = body.Fixes
		out[id] = f
		return nil
	}, `SELECT s.finding_id, s.package, s.version, s.vulnerability, s.group_id, f.severity, b.body FROM finding_subject s
		JOIN finding f ON f.deployment_id = s.deployment_id AND f.id = s.finding_id
		JOIN finding_body b ON b.deployment_id = s.deployment_id AND b.finding_id = s.finding_id WHERE s.deployment_id = $1
		AND `+
		in,
		arg)
	if err != nil {
		return nil, err
	}
	about := map[advisories.Vulnerability][]int64{} // findings by name and by group
	for id, f := range out {
		byName, byGroup := advisories.VulnerabilityOf(f.Vulnerability, 0), advisories.VulnerabilityOf("", groups[id])
		about[byName] = append(about[byName], id)
		about[byGroup] = append(about[byGroup], id)
	}
	exploited, err := tx.ExploitedOf(ctx, about)
	for v := range exploited {
		for _, id := range about[v] {
			f := out[id]
			f.Exploited = true
			out[id] = f
		}
	}
	return out, err
}
