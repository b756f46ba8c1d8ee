package store

import (
	"context"
	"maps"
	"slices"
	"strings"

	"github.com/redoubt/redoubt/internal/model"
)

// Findings are a tenant's, and advisories, scores and the KEV catalogue everybody's: what the
// latter say of the former is asked by what a finding is about.

// vulnerability is what a finding is about: a group of advisories, by all names that they
// have, or, where no advisory knows it, the name that a scanner gave it.
type vulnerability struct {
	group int64  // 0 for none
	name  string // in upper case; empty with a group
}

func vulnerabilityOf(name string, group int64) vulnerability {
	if group != 0 {
		return vulnerability{group: group}
	}
	return vulnerability{name: strings.ToUpper(name)}
}

// named splits them into names and groups.
func named[V any](about map[vulnerability]V) (names []string, groups []int64) {
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

// scoresOf returns the EPSS scores of vulnerabilities, those that have one: of several
// names of one the highest.
func (tx *Tx) scoresOf(ctx context.Context, about map[vulnerability][]int64) (map[vulnerability]model.EPSS, error) {
	scores := map[vulnerability]model.EPSS{}
	take := func(r row) error {
		var v vulnerability
		var e model.EPSS
		err := r.Scan(&v.name, &v.group, &e.Score, &e.Percentile)
		if known, is := scores[v]; !is || known.Score < e.Score {
			scores[v] = e
		}
		return err
	}
	names, groups := named(about)
	in, list := tx.in("e.cve", 1, names)
	if err := each(ctx, tx.session, take, `SELECT e.cve, 0, e.score, e.percentile FROM epss e WHERE `+in, list); err != nil {
		return nil, err
	}
	in, list = tx.in("m.group_id", 1, groups)
	return scores, each(ctx, tx.session, take, `SELECT DISTINCT '', m.group_id, e.score, e.percentile
		FROM advisory_member m JOIN advisory_name n ON n.advisory_id = m.advisory_id JOIN epss e ON e.cve = n.name WHERE `+in, list)
}

// ExploitedNamed tells which vulnerabilities the KEV catalogue has under any of their
// names, by the names in upper case that are asked for.
func (tx *Tx) ExploitedNamed(ctx context.Context, names []string) (map[string]bool, error) {
	groups, err := tx.AdvisoryGroupsNamed(ctx, names)
	if err != nil {
		return nil, err
	}
	about := map[vulnerability][]int64{}
	for _, name := range names {
		about[vulnerabilityOf(name, groups[name])] = nil
	}
	exploited, err := tx.exploitedOf(ctx, about)
	out := map[string]bool{}
	for _, name := range names {
		out[name] = exploited[vulnerabilityOf(name, groups[name])]
	}
	return out, err
}

// exploitedOf tells which vulnerabilities the KEV catalogue names.
func (tx *Tx) exploitedOf(ctx context.Context, about map[vulnerability][]int64) (map[vulnerability]bool, error) {
	exploited := map[vulnerability]bool{}
	take := func(r row) error {
		var v vulnerability
		err := r.Scan(&v.name, &v.group)
		exploited[v] = true
		return err
	}
	names, groups := named(about)
	in, list := tx.in("k.cve", 1, names)
	if err := each(ctx, tx.session, take, `SELECT k.cve, 0 FROM kev k WHERE `+in, list); err != nil {
		return nil, err
	}
	in, list = tx.in("m.group_id", 1, groups)
	return exploited, each(ctx, tx.session, take, `SELECT DISTINCT '', m.group_id
		FROM advisory_member m JOIN advisory_name n ON n.advisory_id = m.advisory_id JOIN kev k ON k.cve = n.name WHERE `+in, list)
}
