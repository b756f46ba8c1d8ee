package advisories

import (
	"context"
	"maps"
	"slices"
	"strings"

	"github.com/redoubt/redoubt/internal/model"

	"github.com/redoubt/redoubt/internal/store/sqldb"
)

// Findings are a tenant's, and advisories, scores and the KEV catalogue everybody's: what the
// latter say of the former is asked by what a finding is about.

// Vulnerability is what a finding is about: a group of advisories, by all names that they
// have, or, where no advisory knows it, the name that a scanner gave it.
type Vulnerability struct {
	group int64  // 0 for none
	name  string // in upper case; empty with a group
}

// VulnerabilityOf returns the key of a vulnerability: its group of advisories, or its name where there is
// none.
func VulnerabilityOf(name string, group int64) Vulnerability {
	if group != 0 {
		return Vulnerability{group: group}
	}
	return Vulnerability{name: strings.ToUpper(name)}
}

// named splits them into names and groups.
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

// ScoresOf returns the EPSS scores of vulnerabilities, those that have one: of several
// names of one the highest.
func (tx *Tx) ScoresOf(ctx context.Context, about map[Vulnerability][]int64) (map[Vulnerability]model.EPSS, error) {
	scores := map[Vulnerability]model.EPSS{}
	take := func(r sqldb.Row) error {
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
		ctx, tx.Session, take, `SELECT e.cve, 0, e.score, e.percentile FROM epss e WHERE `+in, list,
	); err != nil {
		return nil, err
	}
	in, list = tx.In("m.group_id", 1, groups)
	return scores, sqldb.Each(ctx, tx.Session, take, `SELECT DISTINCT '', m.group_id, e.score, e.percentile
		FROM advisory_member m JOIN advisory_name n ON n.advisory_id = m.advisory_id JOIN epss e ON e.cve = n.name WHERE `+in,
		list)
}

// ExploitedNamed tells which vulnerabilities the KEV catalogue has under any of their
// names, by the names in upper case that are asked for.
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

// ExploitedOf tells which vulnerabilities the KEV catalogue names.
func (tx *Tx) ExploitedOf(ctx context.Context, about map[Vulnerability][]int64) (map[Vulnerability]bool, error) {
	exploited := map[Vulnerability]bool{}
	take := func(r sqldb.Row) error {
		var v Vulnerability
		err := r.Scan(&v.name, &v.group)
		exploited[v] = true
		return err
	}
	names, groups := named(about)
	in, list := tx.In("k.cve", 1, names)
	if err := sqldb.Each(ctx, tx.Session, take, `SELECT k.cve, 0 FROM kev k WHERE `+in, list); err != nil {
		return nil, err
	}
	in, list = tx.In("m.group_id", 1, groups)
	return exploited, sqldb.Each(ctx, tx.Session, take, `SELECT DISTINCT '', m.group_id
		FROM advisory_member m JOIN advisory_name n ON n.advisory_id = m.advisory_id JOIN kev k ON k.cve = n.name WHERE `+in,
		list)
}
