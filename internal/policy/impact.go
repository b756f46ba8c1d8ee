package policy

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/redoubt/redoubt/internal/model"
)

// Impact is the difference between the results of two sets of policies. It assumes that the newest
// scan of each branch is repeated with the same results.
type Impact struct {
	Open     int // findings affected by the change, on all branches
	Blocking int // of these, findings that would fail a build
	Builds   int // branches whose build would fail
	Now      int // findings that fail a build with the current policies
	Failing  int // branches whose build fails with the current policies
	Changed  []ChangedBuild
	Branches int  // evaluated branches: those scanned recently
	Cut      bool // there are more branches than were evaluated
	Large    int  // branches with more findings than may be read

	Projects int // projects that the changed policy covers
	Before   int // projects that the current policy covers
	Joined   []model.Project
	Left     []model.Project // projects no longer covered
	Removed  int             // findings on newly excluded paths
	// Unserved contains the sorted, distinct rules that a project would no longer receive. The next
	// full scan of the project removes their findings.
	Unserved []string
}

// ChangedBuild is a branch on which a change of policies affects the number of blocking findings.
type ChangedBuild struct {
	Project       model.Project
	Ref           string
	Before, After int // number of findings that fail its build
}

// Limits of a preview.
const (
	previewDays     = 30      // maximum age of a branch's scan
	previewScans    = 300     // number of evaluated scans
	previewFindings = 100_000 // number of findings read for all branches
	maxChanged      = 20      // number of branches in the result
)

// Most returns the maximum number of evaluated branches.
func (Impact) Most() int { return previewScans }

// Proposal is a change of a policy that is not stored.
type Proposal struct {
	Policy  model.Policy // ID 0 for a new policy
	Deleted bool
	// Served contains the rules that a new policy would serve. Rules contains changed rules with
	// their new mode: rules of the policy, or unserved rules of a new policy.
	Served      []model.ServedRule
	Rules       []model.PolicyRule
	MaxFindings int // maximum number of findings to read; 0 for 100,000
}

// ImpactStorage is the storage that Preview reads.
type ImpactStorage interface {
	GateStorage
	Storage
	// CurrentScans returns the newest applied scan of each (project, ref, source) that started
	// since a time. more is true if there are more than limit. Nil projects means all.
	CurrentScans(ctx context.Context, since time.Time, projects []int64, limit int) (_ []model.Scan, more bool, err error)
	UnresolvedCount(ctx context.Context, projectID int64, ref, source string, most int) (int, error)
}

// Preview compares the current policies with those after a change. It returns model.ErrNotFound for
// an unknown policy.
func Preview(ctx context.Context, s ImpactStorage, change Proposal) (out Impact, err error) {
	now, err := LoadSet(ctx, s)
	if err != nil {
		return out, err
	}
	at := policyAt(now.Policies, change.Policy.ID)
	if at < 0 && change.Policy.ID != 0 {
		return out, fmt.Errorf("policy %d: %w", change.Policy.ID, model.ErrNotFound)
	}
	var stored *model.Policy
	if at >= 0 {
		stored = &now.Policies[at]
	}
	all, err := s.VisibleProjects(ctx, nil)
	if err != nil {
		return out, err
	}
	c := comparison{
		now: now, then: now.with(change), product: change.Policy.Product, rules: map[string]bool{},
		counted: map[int64]bool{}, out: &out,
		reads: &boundedReads{ImpactStorage: s, remaining: cmp.Or(change.MaxFindings, previewFindings)},
	}
	if stored != nil {
		for _, r := range change.Rules {
			c.rules[r.Rule.Name] = true
		}
	}
	projects := out.cover(all, stored, change)
	if stored != nil {
		out.Unserved = unserved(c.now, c.then, out.Left)
	}
	if p := change.Policy; !change.Deleted && len(p.Excludes) > 0 && (stored == nil || !leavesOutTheSame(*stored, p)) {
		gone, err := leftOut(ctx, s, p)
		if err != nil {
			return out, err
		}
		out.Removed = len(gone)
	}
	if len(projects) == 0 {
		return out, nil
	}
	var in []int64 // nil for all
	for id := range projects {
		if len(projects) < len(all) {
			in = append(in, id)
		}
	}
	slices.Sort(in)
	err = c.compare(ctx, projects, in)
	return out, err
}

// with returns the policies after a change.
func (s Set) with(change Proposal) Set {
	p := change.Policy
	s.Policies = slices.DeleteFunc(slices.Clone(s.Policies), func(one model.Policy) bool { return one.ID == p.ID })
	if !change.Deleted {
		s.Policies = append(s.Policies, p)
	}
	modes := map[int64]model.PolicyMode{}
	for _, r := range change.Rules {
		modes[r.ID] = r.Mode
	}
	s.Served, s.Blocking = slices.Clone(s.Served), slices.Clone(s.Blocking)
	for i := range s.Served {
		if r := &s.Served[i]; r.PolicyID == p.ID {
			r.Mode = cmp.Or(modes[r.ID], r.Mode)
		}
	}
	s.Served = append(s.Served, change.Served...)
	s.Blocking = slices.DeleteFunc(s.Blocking, func(r model.PolicyRule) bool {
		return r.PolicyID == p.ID && modes[r.ID] != 0
	})
	for _, r := range change.Rules {
		if r.Mode == model.ModeBlock {
			s.Blocking = append(s.Blocking, r)
		}
	}
	return s
}

// cover counts the projects of the policy, and returns the projects covered before or after the
// change, by ID.
func (out *Impact) cover(all []model.Project, stored *model.Policy, change Proposal) map[int64]model.Project {
	projects := map[int64]model.Project{}
	for _, one := range all {
		was, is := stored != nil && stored.Scope.Covers(one), !change.Deleted && change.Policy.Scope.Covers(one)
		switch {
		case is && !was:
			out.Joined = append(out.Joined, one)
		case was && !is:
			out.Left = append(out.Left, one)
		}
		if was {
			out.Before++
		}
		if is {
			out.Projects++
		}
		if was || is {
			projects[one.ID] = one
		}
	}
	return projects
}

// unserved returns the rules that some of the projects receive before the change but not after it.
func unserved(now, then Set, projects []model.Project) (names []string) {
	done := map[string]bool{}
	for _, one := range projects {
		var covering []int64
		for i := range now.Policies {
			if now.Policies[i].Scope.Covers(one) {
				covering = append(covering, now.Policies[i].ID)
			}
		}
		key := fmt.Sprint(covering) // most projects have the same policies
		if done[key] {
			continue
		}
		done[key] = true
		after := then.For(one)
		for _, r := range now.For(one).Rules {
			if _, served := after.products[r.Rule.Name]; !served {
				names = append(names, r.Rule.Name)
			}
		}
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// comparison evaluates the policies before and after the change on each branch.
type comparison struct {
	now, then Set
	product   model.IssueType
	rules     map[string]bool // affected rules; empty for all
	reads     *boundedReads
	counted   map[int64]bool // findings by ID
	out       *Impact
}

// compare evaluates the policies on the newest scans of projects. in restricts the projects, with
// nil for all.
func (c *comparison) compare(ctx context.Context, projects map[int64]model.Project, in []int64) error {
	type branch struct {
		project int64
		ref     string
	}
	scans, cut, err := c.reads.CurrentScans(ctx, c.reads.Now().AddDate(0, 0, -previewDays), in, previewScans)
	if err != nil {
		return err
	}
	builds, large := map[branch]*ChangedBuild{}, map[branch]bool{}
	var order []*ChangedBuild
	// Findings are cached per project, so the branches of a project must be consecutive.
	slices.SortStableFunc(scans, func(a, b model.Scan) int { return cmp.Compare(a.ProjectID, b.ProjectID) })
	for _, scan := range scans {
		on := branch{scan.ProjectID, scan.Ref}
		before, after, err := c.blocking(ctx, projects[scan.ProjectID], scan)
		switch {
		case errors.Is(err, errLimitReached):
			large[on] = true
			continue
		case err != nil:
			return err
		case builds[on] == nil:
			builds[on] = &ChangedBuild{Project: projects[scan.ProjectID], Ref: scan.Ref}
			order = append(order, builds[on])
		}
		builds[on].Before += before
		builds[on].After += after
	}
	c.out.Branches, c.out.Cut, c.out.Large = len(builds), cut, len(large)
	for _, b := range order {
		c.out.count(b)
	}
	return nil
}

func (out *Impact) count(b *ChangedBuild) {
	out.Now += b.Before
	out.Blocking += b.After
	if b.Before > 0 {
		out.Failing++
	}
	if b.After > 0 {
		out.Builds++
	}
	if b.Before != b.After && len(out.Changed) < maxChanged {
		out.Changed = append(out.Changed, *b)
	}
}

// blocking returns the numbers of open findings of a scan that fail its build before and after the
// change. It omits findings already counted for another scan.
func (c *comparison) blocking(ctx context.Context, project model.Project, scan model.Scan) (is, would int, _ error) {
	own, err := c.open(ctx, scan, scan.Source)
	if err != nil {
		return 0, 0, err
	}
	var advised []model.Finding // StoredFindings adds these itself
	if scan.Products.Has(model.SCA) {
		if advised, err = c.open(ctx, scan, model.SourceAdvisories); err != nil {
			return 0, 0, err
		}
	}
	if len(own)+len(advised) == 0 {
		return 0, 0, nil
	}
	now, then := c.now.For(project), c.then.For(project)
	found, err := StoredFindings(ctx, c.reads, project, scan, own, now, then)
	if err != nil {
		return 0, 0, err
	}
	fresh := map[int64]bool{}
	for _, f := range slices.Concat(own, advised) {
		if !c.counted[f.ID] {
			c.counted[f.ID], fresh[f.ID] = true, true
			if !then.Excluded(f.IssueType, f.Path) {
				c.out.Open++
			}
		}
	}
	count := func(o Outcome) (n int) {
		for i := range o.Blocking {
			if fresh[o.Blocking[i].Finding.ID] {
				n++
			}
		}
		return n
	}
	return count(Evaluate(found, now)), count(Evaluate(found, then)), nil
}

// open returns the findings of a branch and source that the change affects.
func (c *comparison) open(ctx context.Context, scan model.Scan, source string) (list []model.Finding, err error) {
	all, err := c.reads.OpenFindings(ctx, scan.ProjectID, scan.Ref, source)
	for i := range all {
		if all[i].IssueType == c.product && (len(c.rules) == 0 || c.rules[all[i].RuleName]) {
			list = append(list, all[i])
		}
	}
	return list, err
}

// errLimitReached reports a branch with more findings than may be read.
var errLimitReached = errors.New("too many findings to read")

// boundedReads caches the findings of the current project's branches, and limits the total number
// of findings.
type boundedReads struct {
	ImpactStorage
	remaining int
	project   int64
	known     map[branchRead][]model.Finding
}

type branchRead struct{ method, ref, source string }

// OpenFindings implements GateStorage.
func (r *boundedReads) OpenFindings(ctx context.Context, project int64, ref, source string) ([]model.Finding, error) {
	return r.loadOnce(ctx, branchRead{"open", ref, source}, project, r.ImpactStorage.OpenFindings)
}

// UnresolvedFindings implements GateStorage.
func (r *boundedReads) UnresolvedFindings(
	ctx context.Context, project int64, ref, source string,
) ([]model.Finding, error) {
	return r.loadOnce(ctx, branchRead{"unresolved", ref, source}, project, r.ImpactStorage.UnresolvedFindings)
}

func (r *boundedReads) loadOnce(ctx context.Context, of branchRead, project int64,
	read func(context.Context, int64, string, string) ([]model.Finding, error),
) ([]model.Finding, error) {
	if r.known == nil || r.project != project {
		r.project, r.known = project, map[branchRead][]model.Finding{}
	}
	if list, read := r.known[of]; read {
		return list, nil
	}
	n, err := r.UnresolvedCount(ctx, project, of.ref, of.source, r.remaining+1)
	if err != nil {
		return nil, err
	}
	if n > r.remaining {
		return nil, errLimitReached
	}
	list, err := read(ctx, project, of.ref, of.source)
	if err == nil {
		r.known[of] = list
		r.remaining -= len(list)
	}
	return list, err
}
