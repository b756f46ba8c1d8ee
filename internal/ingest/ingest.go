package ingest

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/redoubt/redoubt/internal/model"
	"github.com/redoubt/redoubt/internal/weblink"
)

// Upload is one report and the parameters of its request.
type Upload struct {
	// Project is found or created by its name or RepoID. Its URL and Tags are added.
	Project model.Project
	// Globs restrict the uploading token to projects. An empty list allows all projects.
	Globs model.ProjectGlobs
	// Decides reports whether the sender may triage. Otherwise VEX documents are stored as
	// proposals, and mutes outside of the code are ignored (docs/reference/uploads.md).
	Decides bool

	Ref    string // branch or ref, short or in full; HEAD if empty
	Commit string // the report's commit if empty
	Full   bool   // a scan of the whole source, not only of a change request
	// DeclaredFull asserts that a full report without searched paths covers all of its source
	// (docs/explanation/life-of-a-finding.md).
	DeclaredFull bool
	Category     string // the report's category if empty
	// At back-dates the scan and its findings. The zero value means now.
	At time.Time
	// Strict rejects the whole upload if one of its items is refused.
	Strict bool
	Report *model.Report
	// Release drops the report's results once their changes are planned. This frees memory, because
	// writing the changes needs as much memory as the results.
	Release bool

	// OutOfPolicy reports whether the rule left the project's policy or the path is newly excluded
	// from it. A full scan then removes unreported findings. It is nil for imports, which have no
	// policy.
	OutOfPolicy func(rule, path string) bool
	// Advised returns the advisories' matches of a ref's stored inventory; see Follow. If stated is
	// not nil, it evaluates these dependencies instead. Nil disables advisories.
	Advised func(ctx context.Context, projectID int64, ref string, stated []model.Holding) (model.Advised, error)
	// Before is called before the changes are applied, with the scan as far as it is known. It may
	// be nil.
	Before func(ctx context.Context, project model.Project, scan model.Scan, seen []Sighting) error
	// Whole marks the lockfiles of all reports of the request as complete. Other lockfiles of any
	// source are dropped (docs/reference/lockfiles.md).
	Whole bool
	// Begun is the running scan that the upload finishes, as AddScan stored it. The upload uses its
	// start time. If nil, as for imports, a finished scan is added.
	Begun *model.Scan
	// ExitCode and Unread are stored with the scan.
	ExitCode int
	Unread   []string
	// Digest identifies the bytes of the request and the settings they are read with (see
	// gate.Identical). It is zero if the request need not be recognized again.
	Digest model.Digest

	named []string        // with Whole: lockfiles of the other reports of the request
	rows  []model.Finding // of the source on the ref, once they are read
	plain map[string]bool // rules that parse nothing: see learnPlain
}

// Apply imports an upload inside one transaction. It finds the project, records a scan, and writes
// the changes of the report (docs/explanation/identity.md).
//
// It returns a *model.InvalidError for a malformed upload, and with Strict for an upload with
// refused items. The caller must then roll back. Other errors are those of the store.
func Apply(ctx context.Context, s Store, ex Exceptions, upload Upload) (Summary, error) {
	u := &upload
	// A VEX document is not a scan. It closes no findings and does not set the default branch.
	if u.Report != nil && u.Report.OnlyVEX() {
		u.Full, u.DeclaredFull = false, false
	}
	if err := u.Check(s.Now()); err != nil {
		return Summary{}, err
	}
	sightings, inventories, all := u.observe()
	if u.Strict && all.CountRefused() > 0 {
		return Summary{}, invalidItems(all)
	}
	if err := u.sayingNothing(sightings, all); err != nil {
		return Summary{}, err
	}
	project, err := u.project(ctx, s)
	if err != nil {
		return Summary{}, err
	}
	stream, err := s.Stream(ctx, project.ID, u.Ref, u.source(), u.Commit)
	if err != nil {
		return Summary{}, err
	}
	if err := u.learnPlain(ctx, s, project.ID); err != nil {
		return Summary{}, err
	}
	if err := u.inheritCodeless(ctx, s, project, sightings); err != nil {
		return Summary{}, err
	}
	if err := u.presetMutes(ctx, s, project.ID, sightings); err != nil {
		return Summary{}, err
	}
	scan := u.scan(project.ID, s.Now(), sightings)
	sum := Summary{
		ProjectID: project.ID, Project: project.Name, Ref: scan.Ref, Source: scan.Source,
		Counts: scan.Counts, Refusals: all, MoreLocations: moreLocations(sightings), ProposedMutes: openProposals(sightings),
		SkippedVulnerabilities: u.Report.SkippedVulnerabilities,
	}
	scan.Digest = u.storedDigest(s, &sum, scan, sightings, inventories)
	a := application{s: s, exceptions: ex, upload: u, project: project, scan: scan, sum: &sum}
	err = a.apply(ctx, stream, sightings, inventories)
	return sum, err
}

// apply calls Before, records the scan, and applies its changes if the scan's outcome in its stream
// is ScanApplied.
func (a *application) apply(
	ctx context.Context, stream model.ScanStream, sightings []Sighting, inventories []model.InventoryStatement,
) (err error) {
	u, scan := a.upload, a.scan
	scan.Outcome = OutcomeOf(scan, stream)
	// Rules are stored first, so that Before can evaluate the policies of new rules.
	if a.ruleIDs, err = a.rules(ctx, sightings); err != nil {
		return err
	}
	if u.Before != nil {
		if err := u.Before(ctx, a.project, scan, sightings); err != nil {
			return err
		}
	}
	if scan.ID, err = recordScan(ctx, a.s, scan); err != nil {
		return err
	}
	a.sum.ScanID, a.sum.Outcome = scan.ID, scan.Outcome
	if scan.Outcome != model.ScanApplied {
		return a.recordOnly(ctx, scan.ID, sightings, inventories)
	}
	if a.project, err = a.s.UpdateProjectByScan(ctx, u.Globs, a.project.ID, u.Project); err != nil {
		return err
	}
	a.sum.Project, a.scan = a.project.Name, scan
	return a.run(ctx, sightings, inventories)
}

// recordOnly stores the account of a scan that changes nothing.
func (a *application) recordOnly(
	ctx context.Context, scanID int64, sightings []Sighting, inventories []model.InventoryStatement,
) error {
	if err := a.resolve(ctx, sightings); err != nil {
		return err
	}
	if err := a.adviseRecorded(ctx, sightings, inventories); err != nil {
		return err
	}
	a.upload.noteProposals(a.sum.ProposedMutes)
	return recordAccount(ctx, a.s, a.upload, scanID, a.sum.Refusals, nil)
}

// observe converts the report into sightings and inventories, and returns all refused items.
func (u *Upload) observe() ([]Sighting, []model.InventoryStatement, model.Refusals) {
	sightings, refused := Observe(u.Report)
	u.proposeMutes(sightings)
	inventories, more := statements(u.Report)
	all := u.Report.Refusals
	all.Refused = slices.Clone(all.Refused)
	all.RefuseAll(refused)
	all.RefuseAll(more)
	return sightings, inventories, all
}

// sayingNothing returns an error for an import of which all items were refused. A scan that was
// begun always ends normally.
func (u *Upload) sayingNothing(sightings []Sighting, all model.Refusals) error {
	if u.Begun != nil {
		return nil
	}
	rest := *u.Report
	rest.Refusals = all
	if len(sightings) == 0 {
		rest.Results = nil
	}
	if why := rest.AllRefused(); why != "" {
		return model.Invalid("report", "%s", why)
	}
	return nil
}

// project finds the project. A scan that was begun uses its stored project, because the sender's
// names and ids may have changed since.
func (u *Upload) project(ctx context.Context, s Store) (model.Project, error) {
	if u.Begun != nil {
		return s.Project(ctx, u.Begun.ProjectID)
	}
	return s.ProjectForScan(ctx, u.Globs, u.Project)
}

// recordScan adds the scan, or stores the end of one that was begun.
func recordScan(ctx context.Context, s Store, scan model.Scan) (int64, error) {
	if scan.ID != 0 {
		return scan.ID, s.FinishScan(ctx, scan)
	}
	return s.AddScan(ctx, scan)
}

// application applies an upload to the store.
type application struct {
	s          Store
	exceptions Exceptions
	upload     *Upload
	project    model.Project
	scan       model.Scan
	sum        *Summary
	ruleIDs    map[*model.Rule]int64
}

func (a *application) run(ctx context.Context, sightings []Sighting, inventories []model.InventoryStatement) error {
	if err := a.putVEX(ctx); err != nil {
		return err
	}
	scope := scopeOf(a.upload, sightings)
	facts := a.facts(scope, a.ruleIDs)
	stored, err := a.load(ctx, sightings, facts)
	if err != nil {
		return err
	}
	if a.upload.Release {
		a.upload.Report.Results = nil // only the sightings refer to them now
	}
	facts.Release = a.upload.Release
	changes, err := Plan(stored, sightings, facts)
	if err != nil {
		return fmt.Errorf("plan the changes of scan %d: %w", a.scan.ID, err)
	}
	a.sum.StoredAs = changes.StoredAs
	if err := a.resolveMutes(ctx, sightings, changes.MuteDecisions); err != nil {
		return err
	}
	if err := a.write(ctx, changes); err != nil {
		return err
	}
	if err := a.putInventories(ctx, scope, inventories); err != nil {
		return err
	}
	if err := a.followAdvisories(ctx, stored.Findings); err != nil {
		return err
	}
	branchScanned := a.scan.Full && !scope.Failed && strings.HasPrefix(a.scan.Ref, "refs/heads/")
	return a.s.ScanApplied(ctx, a.project.ID, a.scan.Ref, branchScanned, a.scan.StartedAt)
}

func (a *application) facts(scope Scope, ruleIDs map[*model.Rule]int64) Facts {
	return Facts{
		ProjectID: a.project.ID, Ref: a.scan.Ref, Primary: a.project.Primary(), Source: a.scan.Source, ScanID: a.scan.ID,
		Scope: scope, At: a.at(), Now: a.s.Now(), RuleIDs: ruleIDs,
		Links: weblink.New(a.project.URL, a.scan.Commit, a.scan.Ref),
	}
}

// at returns the time of the changes to findings.
func (a *application) at() time.Time {
	if !a.upload.At.IsZero() {
		return a.upload.At
	}
	return a.s.Now()
}

// load reads the input of the plan: all rows of the stream, lineages and pairs. A full scan reads
// the lineages of identities without a row and of rows whose lineage may change. A diff scan reads
// all lineages, because decided findings pair by their code only.
func (a *application) load(ctx context.Context, sightings []Sighting, facts Facts) (stored Stored, err error) {
	if stored.Findings, err = a.upload.stored(ctx, a.s, a.project.ID); err != nil {
		return stored, err
	}
	alignment := newAlignment(liveRows(stored.Findings), pointers(sightings), facts.linksOf, facts.Scope)
	steps := []func() error{
		func() (err error) { stored.Bodies, err = bodiesOf(ctx, a.s, alignment.loads()); return err },
		func() error { return a.loadKnown(ctx, &stored, sightings) },
		func() error { return stored.align(alignment, facts) },
		func() error { return a.loadLineages(ctx, &stored, sightings) },
		func() (err error) { stored.coexisting, err = a.loadCoexisting(ctx, stored, sightings); return err },
	}
	if !a.scan.Full {
		steps[2], steps[3] = steps[3], steps[2]
	}
	for _, step := range steps {
		if err := step(); err != nil {
			return stored, err
		}
	}
	return stored, nil
}

// loadKnown reads the lineages of reported identities without a row.
func (a *application) loadKnown(ctx context.Context, stored *Stored, sightings []Sighting) (err error) {
	has := make(map[model.Identity]bool, len(stored.Findings))
	for i := range stored.Findings {
		has[stored.Findings[i].Identity] = true
	}
	var unseen []model.Identity
	for i := range sightings {
		if s := &sightings[i]; !has[s.Finding.Identity] && (!s.codeless || s.inherits) {
			unseen = append(unseen, s.Finding.Identity)
		}
	}
	if len(unseen) > 0 {
		stored.Known, err = a.s.LineagesOf(ctx, a.project.ID, unseen)
	}
	return err
}

// loadLineages reads the lineages of rows that close, return, or pair with another identity. A diff
// scan reads those of all rows.
func (a *application) loadLineages(ctx context.Context, stored *Stored, sightings []Sighting) (err error) {
	reported := make(map[model.Identity]bool, len(sightings))
	for i := range sightings {
		reported[sightings[i].Finding.Identity] = true
	}
	stays := make(map[int64]bool, len(stored.pairs))
	for _, k := range stored.pairs {
		stays[k.row.ID] = k.sighting.codeless || k.row.Identity == k.sighting.Finding.Identity
	}
	var lineages []int64
	for i := range stored.Findings {
		row := &stored.Findings[i]
		if live(row.State) && !stays[row.ID] || !live(row.State) && reported[row.Identity] || !a.scan.Full {
			lineages = append(lineages, row.LineageID)
		}
	}
	slices.Sort(lineages)
	if lineages = slices.Compact(lineages); len(lineages) > 0 {
		stored.Lineages, err = a.s.Lineages(ctx, lineages)
	}
	return err
}

// rules stores the rules of the report and of its results, and returns their ids.
func (a *application) rules(ctx context.Context, sightings []Sighting) (map[*model.Rule]int64, error) {
	out := map[*model.Rule]int64{}
	var rules []*model.Rule
	add := func(r *model.Rule) {
		if _, known := out[r]; !known && r != nil && r.Name != "" && model.IsStorable(r.Name) {
			out[r] = 0
			rules = append(rules, r)
		}
	}
	for _, r := range a.upload.Report.Rules {
		add(r)
	}
	for i := range sightings {
		add(sightings[i].Result.Rule)
	}
	if len(rules) == 0 {
		return out, nil
	}
	ids, err := a.s.PutRules(ctx, rules)
	if err != nil {
		return nil, err
	}
	for i, r := range rules {
		out[r] = ids[i]
	}
	return out, nil
}
