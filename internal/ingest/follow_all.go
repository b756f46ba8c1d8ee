package ingest

import (
	"context"
	"maps"
	"slices"
	"time"

	"github.com/redoubt/redoubt/internal/model"
)

// FollowAll runs Follow for several refs after advisories changed, and refreshes their scores. It
// writes all changes together and returns one result for each ref, in the same order.
//
// A ref is postponed if an earlier ref of its project changes, because it must be read after that
// ref is written. Refs are also postponed once most or more findings have changed.
func FollowAll(
	ctx context.Context, s Store, ex Exceptions, list []model.Advised, at time.Time, most int,
) ([]model.Followed, error) {
	all := make(followers, len(list))
	for i := range list {
		project, err := s.Project(ctx, list[i].ProjectID)
		if err != nil {
			return nil, err
		}
		all[i] = newFollower(s, project, list[i], 0, at)
	}
	if err := all.plan(ctx, s); err != nil {
		return nil, err
	}
	out, done := make([]model.Followed, len(list)), []model.ProjectRef{}
	ready := all.ready(most)
	if err := ready.write(ctx, s, ex); err != nil {
		return nil, err
	}
	for i, f := range all {
		if slices.Contains(ready, f) {
			out[i] = model.Followed{Done: true, Changed: len(f.sum.Items)}
			done = append(done, model.ProjectRef{ProjectID: f.project.ID, Ref: f.Ref})
		}
	}
	return out, s.RefreshScores(ctx, done)
}

// followers are refs that are updated together.
type followers []*follower

// ready returns the refs that are not postponed. See FollowAll.
func (all followers) ready(most int) (out followers) {
	changed := map[int64]int{} // changed findings of the first ref of a project that changes
	total := 0
	for _, f := range all {
		n, waits := changed[f.project.ID]
		if !waits {
			n = f.plan.changes.findings()
			out = append(out, f)
			if f.plan.changes.any() {
				changed[f.project.ID] = n
			}
		}
		if total += n; total >= most {
			break
		}
	}
	return out
}

// any reports whether there are changes to write.
func (c *Changes) any() bool {
	return len(c.Added)+len(c.Lineages)+len(c.Updated)+len(c.Links)+len(c.Merges)+len(c.Triage)+len(c.Events) > 0
}

// findings returns the number of changed findings.
func (c *Changes) findings() int { return len(c.Added) + len(c.Items) }

// withWork returns the refs with matches or stored findings.
func (all followers) withWork() (out followers) {
	for _, f := range all {
		if f.hasWork {
			out = append(out, f)
		}
	}
	return out
}

// plan reads the stored findings of the refs and plans their changes.
func (all followers) plan(ctx context.Context, s Store) error {
	for _, f := range all {
		rows, err := s.Findings(ctx, f.project.ID, f.Ref, model.SourceAdvisories)
		if err != nil {
			return err
		}
		f.hasWork = len(rows)+len(f.Matches) > 0
		f.rows = f.concerned(rows)
		if err := f.observeMatches(ctx); err != nil {
			return err
		}
	}
	all = all.withWork()
	for _, read := range []func(*follower, context.Context) error{(*follower).load, (*follower).loadCoexisting} {
		for _, f := range all {
			if err := read(f, ctx); err != nil {
				return err
			}
		}
	}
	ruleIDs, err := all.rules(ctx, s)
	if err != nil {
		return err
	}
	for _, f := range all {
		if err := f.decide(ctx, ruleIDs); err != nil {
			return err
		}
	}
	return nil
}

// load reads all lineages that the plan may join.
func (f *follower) load(ctx context.Context) (err error) {
	var d digester
	var ids []model.Identity
	var lineages []int64
	for i := range f.Matches {
		m := &f.Matches[i]
		ids = append(ids, d.everAdvised(m)...)
		for _, t := range f.twins(i) {
			lineages = append(lineages, t.LineageID)
		}
	}
	f.stored.Known = map[model.Identity]model.Lineage{}
	if len(ids) > 0 {
		if f.stored.Known, err = f.s.LineagesOf(ctx, f.project.ID, ids); err != nil {
			return err
		}
	}
	for i := range f.rows {
		lineages = append(lineages, f.rows[i].LineageID)
	}
	slices.Sort(lineages)
	if lineages = slices.Compact(lineages); len(lineages) > 0 {
		f.stored.Lineages, err = f.s.Lineages(ctx, lineages)
	}
	return err
}

// rules stores the rules of the matches.
func (all followers) rules(ctx context.Context, s Store) (map[*model.Rule]int64, error) {
	out := map[*model.Rule]int64{}
	var rules []*model.Rule
	for _, f := range all {
		for i := range f.Matches {
			if r := f.Matches[i].Rule; out[r] == 0 {
				out[r] = -1
				rules = append(rules, r)
			}
		}
	}
	if len(rules) == 0 {
		return out, nil
	}
	ids, err := s.PutRules(ctx, rules)
	if err != nil {
		return nil, err
	}
	for i, r := range rules {
		out[r] = ids[i]
	}
	return out, nil
}

// write stores the planned changes.
func (all followers) write(ctx context.Context, s Store, ex Exceptions) error {
	all = all.withWork()
	if len(all) == 0 {
		return nil
	}
	parts := make([]*portion, len(all))
	known := map[int64]model.Supplement{}
	for i, f := range all {
		parts[i] = &portion{f.project.ID, &f.sum, f.plan.changes}
		maps.Copy(known, f.supplements())
	}
	if err := writeAll(ctx, s, ex, parts, nil); err != nil || len(known) == 0 {
		return err
	}
	return s.Supplement(ctx, known)
}

// supplements returns the fixes and severities from the advisories for findings of scanners that
// replace a match.
func (f *follower) supplements() map[int64]model.Supplement {
	out := map[int64]model.Supplement{}
	for i := range f.Matches {
		m := &f.Matches[i]
		known := model.Supplement{Fixes: m.Dependency.Fixes}
		if !m.Dependency.Unrated {
			known.Severity = m.Severity
		}
		for _, t := range f.twins(i) {
			if live(t.State) && len(known.Fixes)+int(known.Severity) > 0 {
				out[t.FindingID] = known
			}
		}
	}
	return out
}
