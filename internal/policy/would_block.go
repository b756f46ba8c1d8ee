package policy

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"time"

	"github.com/redoubt/redoubt"
)

// WouldBlock is what the gate would say of what is open now, on each branch of some
// projects that was scanned lately, if a policy were another one: as if each scan ran
// again and found the same.
type WouldBlock struct {
	Open     int // findings that the change is about, on the branches
	Blocking int // of them, that would fail a build
	Builds   int // branches whose build would fail
	Now      int // findings that fail a build as the policy is
	Failing  int // branches whose build fails as the policy is
	Changed  []ChangedBuild
	Branches int  // that were judged: scanned lately
	Cut      bool // there are more branches than were looked at
	Large    int  // branches that have more findings than were read

	// Room is how many findings are read at most; 0 is JudgedFindings.
	Room int
}

// ChangedBuild is a branch on which a change of a policy would block more or less.
type ChangedBuild struct {
	Project       redoubt.Project
	Ref           string
	Before, After int // findings that fail its build
}

// Bounds of what is asked of the gate.
const (
	JudgedDays     = 30      // a branch may have been scanned so long ago
	JudgedScans    = 300     // that are looked at
	JudgedFindings = 100_000 // that are read of all branches together
	maxChanged     = 20      // branches that are named
)

// Most is how many branches are looked at.
func (WouldBlock) Most() int { return JudgedScans }

// WouldStorage is what the question reads.
type WouldStorage interface {
	GateStorage
	// StandingScans lists the newest applied scan of each (project, ref, source), of those
	// that started since then, and whether there are more than limit. Nil projects are all.
	StandingScans(ctx context.Context, since time.Time, projects []int64, limit int) (scans []redoubt.Scan, more bool, err error)
	VisibleProjects(ctx context.Context, globs redoubt.ProjectGlobs) ([]redoubt.Project, error)
	UnresolvedCount(ctx context.Context, projectID int64, ref, source string, most int) (int, error)
}

// Change is one that nobody has made yet.
type Change struct {
	Product redoubt.IssueType
	Scopes  []redoubt.PolicyScope // the projects that it is about are in one of them
	Rules   map[string]bool       // it is about; nil for all of the product
	As      func(GateStorage) GateStorage
}

// branchOf is a branch of a project.
type branchOf struct {
	project int64
	ref     string
}

// question is what the gate is asked, of one branch after the other.
type question struct {
	change  Change
	now, as GateStorage
	counted map[int64]bool // findings, by id
	answer  *WouldBlock
}

// Ask has the gate judge what is open of what a change is about, as it is and as it would be.
func (w *WouldBlock) Ask(ctx context.Context, s WouldStorage, c Change) error {
	projects, all, err := coveredBy(ctx, s, c.Scopes)
	if err != nil || len(projects) == 0 {
		return err
	}
	var in []int64
	if !all {
		for id := range projects {
			in = append(in, id)
		}
		slices.Sort(in)
	}
	var scans []redoubt.Scan
	if scans, w.Cut, err = s.StandingScans(ctx, s.Now().AddDate(0, 0, -JudgedDays), in, JudgedScans); err != nil {
		return err
	}
	reads := &Remembered{GateStorage: s, Unresolved: s.UnresolvedCount, Room: cmp.Or(w.Room, JudgedFindings)}
	q := question{change: c, now: reads, as: c.As(reads), counted: map[int64]bool{}, answer: w}
	builds, large := map[branchOf]*ChangedBuild{}, map[branchOf]bool{}
	var order []branchOf
	// What a project has is read once, so that its branches are judged together.
	slices.SortStableFunc(scans, func(a, b redoubt.Scan) int { return cmp.Compare(a.ProjectID, b.ProjectID) })
	for _, scan := range scans {
		on := branchOf{scan.ProjectID, scan.Ref}
		before, after, err := q.judge(ctx, projects[scan.ProjectID], scan)
		switch {
		case errors.Is(err, ErrNoRoom):
			large[on] = true
			continue
		case err != nil:
			return err
		case builds[on] == nil:
			builds[on] = &ChangedBuild{Project: projects[scan.ProjectID], Ref: scan.Ref}
			order = append(order, on)
		}
		builds[on].Before += before
		builds[on].After += after
	}
	w.Branches, w.Large = len(builds), len(large)
	for _, on := range order {
		w.count(builds[on])
	}
	return nil
}

// count takes a branch into the answer.
func (w *WouldBlock) count(b *ChangedBuild) {
	w.Now += b.Before
	w.Blocking += b.After
	if b.Before > 0 {
		w.Failing++
	}
	if b.After > 0 {
		w.Builds++
	}
	if b.Before != b.After && len(w.Changed) < maxChanged {
		w.Changed = append(w.Changed, *b)
	}
}

// coveredBy finds the projects in one of the scopes, by id, and whether they are all.
func coveredBy(ctx context.Context, s WouldStorage, scopes []redoubt.PolicyScope) (_ map[int64]redoubt.Project, all bool, err error) {
	list, err := s.VisibleProjects(ctx, nil)
	covered := map[int64]redoubt.Project{}
	for _, p := range list {
		if slices.ContainsFunc(scopes, func(scope redoubt.PolicyScope) bool { return scope.Covers(p) }) {
			covered[p.ID] = p
		}
	}
	return covered, len(covered) == len(list), err
}

// judge has the gate judge what is open of a scan's source, and of the advisories where
// the scan is about dependencies. It counts what fails the build, before and after.
func (q *question) judge(ctx context.Context, project redoubt.Project, s redoubt.Scan) (before, after int, err error) {
	own, err := q.open(ctx, s, s.Source)
	if err != nil {
		return 0, 0, err
	}
	ours := slices.Clone(own)
	if s.Products.Has(redoubt.SCA) {
		advised, err := q.open(ctx, s, redoubt.SourceAdvisories)
		if err != nil {
			return 0, 0, err
		}
		ours = append(ours, advised...)
	}
	if len(ours) == 0 {
		return 0, 0, nil
	}
	// The gate reads what the advisories say by itself.
	is, err := Reevaluate(ctx, q.now, project, s, own)
	if err != nil {
		return 0, 0, err
	}
	would, err := Reevaluate(ctx, q.as, project, s, own)
	if err != nil {
		return 0, 0, err
	}
	fresh := map[int64]bool{}
	for _, f := range ours {
		if !q.counted[f.ID] {
			q.counted[f.ID], fresh[f.ID] = true, true
			if !would.Policy.Excluded(f.IssueType, f.Path) {
				q.answer.Open++
			}
		}
	}
	return blockingOf(is, fresh), blockingOf(would, fresh), nil
}

// blockingOf counts which of some findings, by their ids, fail a build.
func blockingOf(r Rerun, ids map[int64]bool) (n int) {
	for i := range r.Blocking {
		if ids[r.Blocking[i].Finding.ID] {
			n++
		}
	}
	return n
}

// open are the findings on a branch that the change is about, of one source.
func (q *question) open(ctx context.Context, s redoubt.Scan, source string) (list []redoubt.Finding, err error) {
	all, err := q.now.OpenFindings(ctx, s.ProjectID, s.Ref, source)
	for i := range all {
		if all[i].IssueType == q.change.Product && (q.change.Rules == nil || q.change.Rules[all[i].RuleName]) {
			list = append(list, all[i])
		}
	}
	return list, err
}
