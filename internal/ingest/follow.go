package ingest

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/redoubt/redoubt/internal/model"
	"github.com/redoubt/redoubt/internal/weblink"
)

// Follow updates the advisories' findings of a ref to match the advisories for its inventory
// (docs/explanation/life-of-a-finding.md). It runs after an upload to the ref, with the upload's
// scan, and after advisories change, with scan 0. The findings change at the time at. It returns
// the context's error if the context ends.
//
//   - A match is a finding, unless a live finding of a scanner reports the same. Then the
//     advisories' finding is removed. Both share a lineage in either case.
//   - A finding without a match is removed if the version is still in use, and fixed otherwise.
//   - Groups that were merged retain their oldest finding.
//   - Triage continues if a scanner's finding closes in the commit in which the advisories'
//     finding replaces it.
func Follow(
	ctx context.Context, s Store, ex Exceptions, project model.Project, advised model.Advised, scanID int64, at time.Time,
) (Summary, error) {
	f := newFollower(s, project, advised, scanID, at)
	all := followers{f}
	err := all.plan(ctx, s)
	if err == nil {
		err = all.write(ctx, s, ex)
	}
	return f.sum, err
}

func newFollower(s Store, project model.Project, advised model.Advised, scanID int64, at time.Time) *follower {
	f := &follower{Advised: advised, s: s, project: project}
	f.sum = Summary{
		ProjectID: project.ID,
		Project:   project.Name,
		Ref:       advised.Ref,
		Source:    model.SourceAdvisories,
		ScanID:    scanID,
		Outcome:   model.ScanApplied,
	}
	f.plan = planner{transferred: map[int64]bool{}, reopened: map[int64]bool{}, Facts: Facts{
		ProjectID: project.ID, Ref: advised.Ref, Primary: project.Primary(),
		Source: model.SourceAdvisories, ScanID: scanID, At: at, Now: s.Now(),
		Links: weblink.New(project.URL, "", advised.Ref),
	}}
	return f
}

// decide plans the changes from the stored findings that were read.
func (f *follower) decide(ctx context.Context, ruleIDs map[*model.Rule]int64) (err error) {
	f.plan.lineages, f.plan.coexisting = newJoiner(f.stored), f.stored.coexisting
	f.plan.RuleIDs, f.plan.Scope = ruleIDs, f.scope()
	if f.stored.Findings, err = f.uniteLineages(ctx, f.rows); err != nil {
		return err
	}
	sightings := f.uncoveredSightings()
	alignment := newAlignment(liveRows(f.stored.Findings), pointers(sightings), f.plan.linksOf, f.plan.Scope)
	if err := f.stored.align(alignment, f.plan.Facts); err != nil {
		return err
	}
	if f.plan.run(f.stored, sightings); f.plan.err != nil {
		return fmt.Errorf("plan the changes of the advisories: %w", f.plan.err)
	}
	f.attributeToScans()
	return f.explainRemovals(f.stored.Findings)
}

// followAdvisories evaluates the advisories if the upload can have changed their result. This
// requires lockfiles or dependency findings, in the upload or in before. The argument before
// contains the findings of the source before the upload.
func (a *application) followAdvisories(ctx context.Context, before []model.Finding) error {
	sca := func(f model.Finding) bool { return f.IssueType == model.SCA }
	if a.upload.Advised == nil || !a.scan.Products.Has(model.SCA) && a.sum.Lockfiles == 0 &&
		!slices.ContainsFunc(before, sca) {
		return nil
	}
	advised, err := a.upload.Advised(ctx, a.project.ID, a.scan.Ref, nil)
	if err != nil {
		return fmt.Errorf("query the advisories: %w", err)
	}
	sum, err := Follow(ctx, a.s, a.exceptions, a.project, advised, a.scan.ID, a.at())
	if a.sum.Followed = &sum; err != nil {
		return err
	}
	return a.s.RefreshScores(ctx, []model.ProjectRef{{ProjectID: a.project.ID, Ref: a.scan.Ref}})
}

// follower updates the findings of one ref from the advisories.
type follower struct {
	model.Advised
	s        Store
	project  model.Project
	plan     planner
	separate coexisting      // lineages that must remain separate
	united   map[int64]int64 // findings that were merged, to the findings that remain

	sightings []Sighting                       // one for each match
	covered   map[model.Identity]model.Subject // the scanner's finding that replaces the match
	scans     map[model.Identity]int64         // the scan that reported the lockfile

	hasWork bool            // whether there is a match, or a finding of the advisories
	rows    []model.Finding // findings of the advisories on the ref, limited by concerned
	stored  Stored
	sum     Summary
}

// observeMatches creates a sighting for each match. It returns the context's error if the context
// ends.
func (f *follower) observeMatches(ctx context.Context) error {
	o := observer{tool: model.SourceAdvisories}
	f.sightings = make([]Sighting, len(f.Matches))
	f.covered, f.scans = map[model.Identity]model.Subject{}, map[model.Identity]int64{}
	for i := range f.Matches {
		if err := ctx.Err(); err != nil {
			return err
		}
		m := &f.Matches[i]
		links := weblink.New(f.project.URL, m.Commit, f.Ref)
		f.sightings[i] = o.match(m)
		f.sightings[i].links = &links
		id := f.sightings[i].Finding.Identity
		f.scans[id] = m.ScanID
		twins := f.twins(i)
		if at := slices.IndexFunc(twins, func(t model.Subject) bool { return live(t.State) }); at >= 0 {
			f.covered[id] = twins[at]
		}
	}
	return nil
}

// match creates a sighting for a match of the advisories.
func (o *observer) match(m *model.Match) Sighting {
	r := &model.Result{
		Rule: m.Rule, Path: m.Dependency.Lockfile,
		Location: model.Location{Line: m.Dependency.Line, EndLine: m.Dependency.Line},
		Message:  m.Message, Severity: m.Severity, Dependency: &m.Dependency,
	}
	return Sighting{Result: r, Finding: o.row(digestedResult{r, o.d.content(r)}, o.d.advised(m, m.Group), o.codeHash(r))}
}

// concerned returns the rows that were queried or that belong to a match. A partial query must not
// change findings of other packages.
func (f *follower) concerned(rows []model.Finding) []model.Finding {
	var d digester
	matched := map[model.Identity]bool{}
	for i := range f.Matches {
		m := &f.Matches[i]
		for _, id := range d.everAdvised(m) {
			matched[id] = true
		}
	}
	return slices.DeleteFunc(rows, func(r model.Finding) bool {
		_, queried := f.InLockfile[r.ID]
		return !queried && !matched[r.Identity]
	})
}

func (f *follower) twins(i int) []model.Subject {
	if i < len(f.Twins) {
		return f.Twins[i]
	}
	return nil
}

// advised returns the identity of a match under one of its groups.
func (d *digester) advised(m *model.Match, group int64) model.Identity {
	hash := d.start("advised 1").num(group).str(m.Dependency.Lockfile, m.Package).sum()
	return model.Identity{Kind: model.IdentityDependency, Hash: hash}
}

// everAdvised returns the identities of a match under all its groups, the current one first.
func (d *digester) everAdvised(m *model.Match) []model.Identity {
	ids := []model.Identity{d.advised(m, m.Group)}
	for _, former := range m.Former {
		ids = append(ids, d.advised(m, former))
	}
	return ids
}

// scope returns the scope that closes findings without a match. Its searched files are the
// lockfiles in force, because a finding may have moved away from a removed lockfile.
func (f *follower) scope() Scope {
	searched := f.Lockfiles
	if searched == nil {
		searched = []string{}
	}
	return Scope{Full: true, searched: set(searched), judge: func(row *model.Finding) model.State {
		inInventory, queried := f.InLockfile[row.ID]
		switch {
		case f.isCovered(row.Identity):
			return model.StateRemoved
		case !queried:
			return row.State
		case inInventory:
			return model.StateRemoved
		}
		return model.Fixed
	}}
}

// uncoveredSightings returns the sightings that no finding of a scanner replaces.
func (f *follower) uncoveredSightings() []Sighting {
	return slices.DeleteFunc(slices.Clone(f.sightings), func(s Sighting) bool { return f.isCovered(s.Finding.Identity) })
}

func (f *follower) isCovered(id model.Identity) bool {
	_, covered := f.covered[id]
	return covered
}

// attributeToScans sets the first scan of a new finding to the scan that reported the lockfile.
// Advisories have no scan. Unscanned marks findings that changed advisories produced.
func (f *follower) attributeToScans() {
	for i := range f.plan.changes.Added {
		w := &f.plan.changes.Added[i]
		if w.FirstScanID == 0 {
			w.FirstScanID, w.Unscanned = f.scans[w.Identity], f.News
		}
	}
}
