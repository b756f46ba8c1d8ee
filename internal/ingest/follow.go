package ingest

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/redoubt/redoubt/internal/model"
	"github.com/redoubt/redoubt/internal/weblink"
)

// Follow brings the advisories' findings of a ref in line with what the
// advisories say of its inventory, through the ordinary life of findings
// (docs/explanation/life-of-a-finding.md). It runs after an upload to the ref, with the scan, and
// when advisories changed, with scan 0; at is when findings come and go. It breaks off with the
// context's error when that ends.
//
//   - A match is a finding, unless a live one of a scanner says the same: then
//     the advisories' own is removed. Both are one lineage either way.
//   - Where there is no match any more and the version is still there, nobody
//     fixed anything: removed. Else fixed.
//   - Groups that became one keep their oldest finding.
//   - What people were at goes on when a scanner's finding ends in the same
//     commit as the advisories' takes its place.
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
	f.plan = planner{handedOver: map[int64]bool{}, reopened: map[int64]bool{}, Facts: Facts{
		ProjectID: project.ID, Ref: advised.Ref, Primary: project.Primary(),
		Source: model.SourceAdvisories, ScanID: scanID, At: at, Now: s.Now(),
		Links: weblink.New(project.URL, "", advised.Ref),
	}}
	return f
}

// decide plans what follows, of what was read.
func (f *follower) decide(ctx context.Context, ruleIDs map[*model.Rule]int64) (err error) {
	f.plan.lineages, f.plan.beside = newJoiner(f.stored), f.stored.beside
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
		return fmt.Errorf("plan what follows from the advisories: %w", f.plan.err)
	}
	f.attributeToScans()
	return f.explainRemovals(f.stored.Findings)
}

// followAdvisories asks the advisories where the upload can have changed their answer:
// by what lockfiles hold, or by what a scanner says of dependencies. before are the
// findings of the source before the upload.
func (a *application) followAdvisories(ctx context.Context, before []model.Finding) error {
	sca := func(f model.Finding) bool { return f.IssueType == model.SCA }
	if a.upload.Advised == nil || !a.scan.Products.Has(model.SCA) && a.sum.Lockfiles == 0 &&
		!slices.ContainsFunc(before, sca) {
		return nil
	}
	advised, err := a.upload.Advised(ctx, a.project.ID, a.scan.Ref, nil)
	if err != nil {
		return fmt.Errorf("ask the advisories: %w", err)
	}
	sum, err := Follow(ctx, a.s, a.exceptions, a.project, advised, a.scan.ID, a.at())
	if a.sum.Followed = &sum; err != nil {
		return err
	}
	return a.s.RefreshScores(ctx, []model.ProjectRef{{ProjectID: a.project.ID, Ref: a.scan.Ref}})
}

// follower is one ref on its way to what the advisories say of it.
type follower struct {
	model.Advised
	s        Store
	project  model.Project
	plan     planner
	standing beside          // keeps lineages apart
	united   map[int64]int64 // findings that are one by now, to those that stay

	sightings []Sighting                       // one for each match
	covered   map[model.Identity]model.Subject // the finding of a scanner that stands for the match
	scans     map[model.Identity]int64         // that brought the lockfile

	hasWork bool            // whether there is a match, or a finding of the advisories
	rows    []model.Finding // of the advisories on the ref, those that are concerned
	stored  Stored
	sum     Summary
}

// observeMatches makes a sighting of each match. It breaks off when the context
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

// match makes a sighting of what the advisories say.
func (o *observer) match(m *model.Match) Sighting {
	r := &model.Result{
		Rule: m.Rule, Path: m.Dependency.Lockfile,
		Location: model.Location{Line: m.Dependency.Line, EndLine: m.Dependency.Line},
		Message:  m.Message, Severity: m.Severity, Dependency: &m.Dependency,
	}
	return Sighting{Result: r, Finding: o.row(digestedResult{r, o.d.content(r)}, o.d.advised(m, m.Group), o.codeHash(r))}
}

// concerned are the rows that were asked about, or are of a match: what is said of some
// packages changes no finding of another.
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
		_, asked := f.Held[r.ID]
		return !asked && !matched[r.Identity]
	})
}

func (f *follower) twins(i int) []model.Subject {
	if i < len(f.Twins) {
		return f.Twins[i]
	}
	return nil
}

// advised is the identity of a match under one of its groups.
func (d *digester) advised(m *model.Match, group int64) model.Identity {
	hash := d.start("advised 1").num(group).str(m.Dependency.Lockfile, m.Package).sum()
	return model.Identity{Kind: model.IdentityDependency, Hash: hash}
}

// everAdvised are the identities of a match under all its groups, its own first.
func (d *digester) everAdvised(m *model.Match) []model.Identity {
	ids := []model.Identity{d.advised(m, m.Group)}
	for _, former := range m.Former {
		ids = append(ids, d.advised(m, former))
	}
	return ids
}

// scope judges the findings that no match stands for any more. The lockfiles in
// force are where it was searched: what left with its lockfile may have moved.
func (f *follower) scope() Scope {
	searched := f.Lockfiles
	if searched == nil {
		searched = []string{}
	}
	return Scope{Full: true, searched: set(searched), judge: func(row *model.Finding) model.State {
		held, asked := f.Held[row.ID]
		switch {
		case f.isCovered(row.Identity):
			return model.StateRemoved
		case !asked:
			return row.State
		case held:
			return model.StateRemoved
		}
		return model.Fixed
	}}
}

// uncoveredSightings are the sightings that no finding of a scanner stands for.
func (f *follower) uncoveredSightings() []Sighting {
	return slices.DeleteFunc(slices.Clone(f.sightings), func(s Sighting) bool { return f.isCovered(s.Finding.Identity) })
}

func (f *follower) isCovered(id model.Identity) bool {
	_, covered := f.covered[id]
	return covered
}

// attributeToScans names the scan that brought the lockfile as the one that saw a new
// finding first: advisories make no scan. What news of theirs made stays marked.
func (f *follower) attributeToScans() {
	for i := range f.plan.changes.Added {
		w := &f.plan.changes.Added[i]
		if w.FirstScanID == 0 {
			w.FirstScanID, w.Unscanned = f.scans[w.Identity], f.News
		}
	}
}
