package web

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"time"

	"github.com/redoubt/redoubt"
	"github.com/redoubt/redoubt/internal/policy"
	"github.com/redoubt/redoubt/internal/store"
)

// wouldBlock is what the gate would say of what is open now.
type wouldBlock struct {
	Open     int  // findings of the rules on the branches
	Blocking int  // of them, that would fail a build
	Builds   int  // branches whose build would fail
	Branches int  // that were judged: scanned lately
	Cut      bool // there are more branches than were looked at
	Large    int  // branches that have more findings than were read

	room int // findings to read at most; 0: judgedFindings
}

const (
	// judgedDays is how far back a branch may have been scanned to be judged.
	judgedDays = 30
	// judgedScans bounds the branches that are looked at for the answer, judgedFindings
	// what is read of them all together.
	judgedScans    = 300
	judgedFindings = 100_000
)

// Most is how many branches are looked at.
func (wouldBlock) Most() int { return judgedScans }

// branchOf is a branch of a project.
type branchOf struct {
	project int64
	ref     string
}

// question is what the gate is asked, of one branch after the other.
type question struct {
	tx      *store.Tx
	of      redoubt.Policy
	rules   map[string]bool // whose mode would change
	reads   *policy.Remembered
	counted map[int64]bool // findings, by id
	answer  *wouldBlock
}

// ask has the gate judge what is open of rules of a policy, on each branch of its projects
// that was scanned lately, as if its scan ran again and found the same.
func (w *wouldBlock) ask(ctx context.Context, tx *store.Tx, of redoubt.Policy, now time.Time, would policy.AsIf) error {
	projects, err := coveredBy(ctx, tx, of)
	if err != nil || projects != nil && len(projects) == 0 {
		return err
	}
	var scans []redoubt.Scan
	if scans, w.Cut, err = tx.StandingScans(ctx, now.AddDate(0, 0, -judgedDays), projects, judgedScans); err != nil {
		return err
	}
	q := question{
		tx: tx, of: of, rules: map[string]bool{}, counted: map[int64]bool{}, answer: w,
		reads: &policy.Remembered{GateStorage: would, Unresolved: tx.UnresolvedCount, Room: cmp.Or(w.room, judgedFindings)},
	}
	for _, r := range would.Rules {
		q.rules[r.Rule.Name] = true
	}
	at, failing, large := map[branchOf]bool{}, map[branchOf]bool{}, map[branchOf]bool{}
	// What a project has is read once, so that its branches are judged together.
	slices.SortStableFunc(scans, func(a, b redoubt.Scan) int { return cmp.Compare(a.ProjectID, b.ProjectID) })
	for _, s := range scans {
		on := branchOf{s.ProjectID, s.Ref}
		blocks, err := q.judge(ctx, s)
		switch {
		case errors.Is(err, policy.ErrNoRoom):
			large[on] = true
			continue
		case err != nil:
			return err
		case blocks:
			failing[on] = true
		}
		at[on] = true
	}
	w.Builds, w.Branches, w.Large = len(failing), len(at), len(large)
	return nil
}

// coveredBy lists the projects that a policy is for; nil for all.
func coveredBy(ctx context.Context, tx *store.Tx, of redoubt.Policy) ([]int64, error) {
	if of.Scope.Everything() {
		return nil, nil
	}
	all, err := tx.VisibleProjects(ctx, nil)
	ids := []int64{}
	for _, p := range all {
		if of.Scope.Covers(p) {
			ids = append(ids, p.ID)
		}
	}
	return ids, err
}

// judge has the gate judge what is open of a scan's source, and of the advisories where
// the scan is about dependencies.
func (q *question) judge(ctx context.Context, s redoubt.Scan) (blocks bool, err error) {
	own, err := q.open(ctx, s, s.Source)
	if err != nil {
		return false, err
	}
	ours := slices.Clone(own)
	if s.Products.Has(redoubt.SCA) {
		advised, err := q.open(ctx, s, redoubt.SourceAdvisories)
		if err != nil {
			return false, err
		}
		ours = append(ours, advised...)
	}
	if len(ours) == 0 {
		return false, nil
	}
	project, err := q.tx.Project(ctx, s.ProjectID)
	if err != nil {
		return false, err
	}
	// The gate reads what the advisories say by itself.
	verdict, err := policy.Reevaluate(ctx, q.reads, project, s, own)
	if err != nil {
		return false, err
	}
	fresh := map[int64]bool{}
	for _, f := range ours {
		if !q.counted[f.ID] && !verdict.Policy.Excluded(f.IssueType, f.Path) {
			q.counted[f.ID], fresh[f.ID] = true, true
			q.answer.Open++
		}
	}
	for i := range verdict.Blocking {
		if id := verdict.Blocking[i].Finding.ID; fresh[id] {
			q.answer.Blocking++
			blocks = true
		}
	}
	return blocks, nil
}

// open are the findings of the rules on a branch, of one source.
func (q *question) open(ctx context.Context, s redoubt.Scan, source string) (list []redoubt.Finding, err error) {
	all, err := q.reads.OpenFindings(ctx, s.ProjectID, s.Ref, source)
	for i := range all {
		if all[i].IssueType == q.of.Product && q.rules[all[i].RuleName] {
			list = append(list, all[i])
		}
	}
	return list, err
}
