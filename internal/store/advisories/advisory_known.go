package advisories

import (
	"context"
	"maps"
	"slices"
	"strings"

	"github.com/redoubt/redoubt/internal/model"
	"github.com/redoubt/redoubt/internal/store/sqldb"
)

// Findings belong to a tenant, while advisories, scores and the KEV catalog are global. They are
// joined by the vulnerability of a finding.

// Vulnerability identifies the vulnerability of a finding: a group of advisories, or the scanner's
// name if no advisory has it.
type Vulnerability struct {
	group int64  // 0 for none
	name  string // in upper case; empty if there is a group
}

// VulnerabilityOf returns the key of a vulnerability: its group of advisories, or its name if the
// group is 0.
func VulnerabilityOf(name string, group int64) Vulnerability {
	if group != 0 {
		return Vulnerability{group: group}
	}
	return Vulnerability{name: strings.ToUpper(name)}
}

// named returns the names and groups of the keys, sorted.
func named[V any](about map[Vulnerability]V) (names []string, groups []int64) {
	for v := range maps.Keys(about) {
		if v.group != 0 {
			groups = append(groups, v.group)
		} else {
			names = append(names, v.name)
		}
	}
	slices.Sort(names)
	slices.Sort(groups)
	return names, groups
}

// ScoresOf returns the EPSS scores of vulnerabilities; those without a score are omitted. If
// several names have a score, the highest one is returned.
func (tx *Tx) ScoresOf(ctx context.Context, about map[Vulnerability][]int64) (map[Vulnerability]model.EPSS, error) {
	scores := map[Vulnerability]model.EPSS{}
	scan := func(r sqldb.Row) error {
		var v Vulnerability
		var e model.EPSS
		err := r.Scan(&v.name, &v.group, &e.Score, &e.Percentile)
		if known, is := scores[v]; !is || known.Score < e.Score {
			scores[v] = e
		}
		return err
	}
	names, groups := named(about)
	in, list := tx.In("e.cve", 1, names)
	if err := sqldb.Each(
		ctx, tx.Session, scan, `SELECT e.cve, 0, e.score, e.percentile FROM epss e WHERE `+in, list,
	); err != nil {
		return nil, err
	}
	in, list = tx.In("m.group_id", 1, groups)
	return scores, sqldb.Each(ctx, tx.Session, scan, `SELECT DISTINCT '', m.group_id, e.score, e.percentile
		FROM advisory_member m JOIN advisory_name n ON n.advisory_id = m.advisory_id JOIN epss e ON e.cve = n.name WHERE `+in,
		list)
}

// ExploitedNamed reports for each name, in upper case, whether the KEV catalog contains the
// vulnerability under any of its names.
func (tx *Tx) ExploitedNamed(ctx context.Context, names []string) (map[string]bool, error) {
	groups, err := tx.AdvisoryGroupsNamed(ctx, names)
	if err != nil {
		return nil, err
	}
	about := map[Vulnerability][]int64{}
	for _, name := range names {
		about[VulnerabilityOf(name, groups[name])] = nil
	}
	exploited, err := tx.ExploitedOf(ctx, about)
	out := map[string]bool{}
	for _, name := range names {
		out[name] = exploited[VulnerabilityOf(name, groups[name])]
	}
	return out, err
}

// ExploitedOf returns the vulnerabilities that the KEV catalog contains.
func (tx *Tx) ExploitedOf(ctx context.Context, about map[Vulnerability][]int64) (map[Vulnerability]bool, error) {
	exploited := map[Vulnerability]bool{}
	scan := func(r sqldb.Row) error {
		var v Vulnerability
		err := r.Scan(&v.name, &v.group)
		exploited[v] = true
		return err
	}
	names, groups := named(about)
	in, list := tx.In("k.cve", 1, names)
	if err := sqldb.Each(ctx, tx.Session, scan, `SELECT k.cve, 0 FROM kev k WHERE `+in, list); err != nil {
		return nil, err
	}
	in, list = tx.In("m.group_id", 1, groups)
	return exploited, sqldb.Each(ctx, tx.Session, scan, `SELECT DISTINCT '', m.group_id
		FROM advisory_member m JOIN advisory_name n ON n.advisory_id = m.advisory_id JOIN kev k ON k.cve = n.name WHERE `+in,
		list)
}
