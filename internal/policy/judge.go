package policy

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"time"

	"github.com/redoubt/redoubt/internal/model"
)

// GateStorage is the storage that the gate reads in the transaction that applies the scan.
type GateStorage interface {
	SetStorage
	Stream(ctx context.Context, projectID int64, ref, source, commit string) (model.ScanStream, error)
	// UnresolvedFindings returns the unresolved findings of a ref with their ID, identity, lineage,
	// path and code hash. It excludes muted findings: after their comment is removed, they are new.
	UnresolvedFindings(ctx context.Context, projectID int64, ref, source string) ([]model.Finding, error)
	// OpenFindings returns the unresolved findings of a ref with the fields that the gate needs.
	OpenFindings(ctx context.Context, projectID int64, ref, source string) ([]model.Finding, error)
	// Occurrences returns the findings of a ref with the given identities, in any state, with their
	// ID, lineage, state and relevant time.
	Occurrences(ctx context.Context, projectID int64, ref, source string, ids []model.Identity) (
		map[model.Identity]model.Finding, error,
	)
	// ParsedInPart returns the scans that could not completely parse a language.
	ParsedInPart(ctx context.Context, scanIDs []int64) (map[int64]bool, error)
	// FixedFindings returns the fixed findings of a ref with the given identities, by the last scan
	// that fixed them. They have an identity, path, line and code hash.
	FixedFindings(ctx context.Context, projectID int64, ref, source string, ids []model.Identity) (
		map[int64][]model.Finding, error,
	)
	// LineagesOfFindings returns the current lineages of findings.
	LineagesOfFindings(ctx context.Context, projectID int64, ids []int64) (map[int64]int64, error)
	LineagesOf(ctx context.Context, projectID int64, ids []model.Identity) (map[model.Identity]model.Lineage, error)
	Lineages(ctx context.Context, ids []int64) (map[int64]model.Lineage, error)
	// SupplyFacts returns the facts for conditions on supply-chain findings, by finding ID. It does
	// not include the EPSS scores and ages.
	SupplyFacts(ctx context.Context, ids []int64) (map[int64]model.SupplyFacts, error)
	// ExploitedNamed returns which vulnerabilities, by names in upper case, are known to be
	// exploited under any of their names.
	ExploitedNamed(ctx context.Context, names []string) (map[string]bool, error)
	Now() time.Time
}

// Judge collects the facts about the findings of one scan that policies use
// (docs/reference/policies.md). These are the state of the primary branch before the scan, and the
// findings after it is applied.
type Judge struct {
	s         GateStorage
	policies  []EffectivePolicy // policies to evaluate
	project   int64
	scan      model.Scan
	primary   string          // primary branch of the project
	first     bool            // the scan is the first full scan of the primary branch
	before    []model.Finding // unresolved findings of the primary branch
	unseen    map[seenAt]bool // fixed findings of the primary branch that may still exist, see unseenBefore
	sightings []Sighting      // findings that may fail a build
	advised   bool            // rules or conditions may apply to findings of advisories
	own       []Sighting      // findings of advisories for the lockfiles of a scan that is only recorded
}

// Judge reads the state before a scan is applied, for findings that the policy may block.
func (e EffectivePolicy) Judge(
	ctx context.Context, s GateStorage, project model.Project, scan model.Scan, reported []Sighting,
) (*Judge, error) {
	return newJudge(ctx, s, project, scan, reported, e)
}

// newJudge is like Judge for several policies. The facts suffice to evaluate any of them.
func newJudge(ctx context.Context, s GateStorage, project model.Project, scan model.Scan,
	reported []Sighting, policies ...EffectivePolicy,
) (*Judge, error) {
	j := &Judge{s: s, project: project.ID, scan: scan, primary: PrimaryAfter(project, scan)}
	for _, e := range policies {
		e = e.On(scan.Ref)
		j.policies = append(j.policies, e)
		j.advised = j.advised || scan.Products.Has(model.SCA) && (e.blocksUnserved() || e.conditional(model.SCA))
	}
	for i := range reported {
		f := &reported[i].Finding
		if slices.ContainsFunc(j.policies, func(e EffectivePolicy) bool { return e.mayBlock(f) }) {
			j.sightings = append(j.sightings, reported[i])
		}
	}
	if len(j.sightings) == 0 && !j.advised {
		return j, nil
	}
	stream, err := s.Stream(ctx, project.ID, j.primary, scan.Source, "")
	if err != nil {
		return nil, err
	}
	j.first = scan.Ref == j.primary && !stream.Complete
	for _, source := range j.sources() {
		live, err := s.UnresolvedFindings(ctx, project.ID, j.primary, source)
		if err != nil {
			return nil, err
		}
		j.before = append(j.before, live...)
	}
	j.unseen, err = j.unseenBefore(ctx, stream)
	return j, err
}

// mayBlock reports whether a finding may fail a build or be noted.
func (e EffectivePolicy) mayBlock(f *model.Finding) bool {
	return e.RuleMode(f.RuleName).Mode == model.ModeBlock || e.conditional(f.IssueType)
}

// blocksUnserved reports whether an unserved rule blocks. Rules of advisories are not served.
func (e EffectivePolicy) blocksUnserved() bool {
	for name := range e.wants {
		if _, served := e.products[name]; !served && e.RuleMode(name).Mode == model.ModeBlock {
			return true
		}
	}
	return false
}

// sources returns the sources whose findings the scan affects.
func (j *Judge) sources() []string {
	if j.advised {
		return []string{j.scan.Source, model.SourceAdvisories}
	}
	return []string{j.scan.Source}
}

// Outcome evaluates the policy after the scan is applied or recorded.
func (j *Judge) Outcome(ctx context.Context, outcome model.ScanOutcome) (Outcome, error) {
	f, err := j.findings(ctx, outcome)
	if err != nil {
		return Outcome{}, err
	}
	return Evaluate(f, j.policies[0]), nil
}

// Rename replaces reported identities by the stored ones, under which facts are stored.
func (j *Judge) Rename(knownAs map[model.Identity]model.KnownAs) {
	for i := range j.sightings {
		s := &j.sightings[i]
		if is, otherwise := knownAs[s.Finding.Identity]; otherwise {
			s.reported, s.Finding.Identity, s.Finding.CodeHash = s.Finding.Identity, is.Identity, is.CodeHash
		}
	}
}

// MarkCopies marks findings as copies, which have no lineage yet.
func (j *Judge) MarkCopies(copies []model.Identity) {
	parted := make(map[model.Identity]bool, len(copies))
	for _, id := range copies {
		parted[id] = true
	}
	for i := range j.sightings {
		j.sightings[i].copied = parted[j.sightings[i].Finding.Identity]
	}
}

// Advise sets the findings of advisories for the lockfiles of the scan. They are used if the scan
// is only recorded, because then the current lockfiles are of another commit.
func (j *Judge) Advise(own []Sighting) { j.own = own }

// findings returns the findings to evaluate, after they have lineages and IDs.
func (j *Judge) findings(ctx context.Context, outcome model.ScanOutcome) (Findings, error) {
	f := Findings{
		Ref: j.scan.Ref, Primary: j.scan.Ref == j.primary, First: j.first, Outcome: outcome, List: slices.Clone(j.sightings),
	}
	switch {
	case j.advised && outcome.Recorded():
		f.List = append(f.List, j.own...)
	case j.advised:
		open, err := j.s.OpenFindings(ctx, j.project, j.scan.Ref, model.SourceAdvisories)
		if err != nil {
			return f, err
		}
		for i := range open {
			f.List = append(f.List, Sighting{Finding: open[i]})
		}
	}
	for i := len(j.sightings); i < len(f.List); i++ {
		f.List[i].Advised = true
	}
	if len(f.List) == 0 {
		return f, nil
	}
	return f, j.fill(ctx, f.List, outcome)
}

// fill adds the facts that policies use to findings.
func (j *Judge) fill(ctx context.Context, judged []Sighting, outcome model.ScanOutcome) error {
	ids := make([]model.Identity, len(judged))
	for i := range judged {
		ids[i] = judged[i].Finding.Identity
	}
	rows, err := j.occurrences(ctx, ids)
	if err != nil {
		return err
	}
	lineages, err := j.lineages(ctx, ids, rows)
	if err != nil {
		return err
	}
	for i := range judged {
		s := &judged[i]
		lineage, row := lineages[s.Finding.Identity], rows[s.Finding.Identity]
		if s.copied {
			lineage = model.Lineage{}
		}
		s.Triage = lineage.Triage.State
		s.Finding.ID, s.Finding.LineageID = row.ID, lineage.ID
		if s.Proposed && row.State != 0 && !outcome.Recorded() {
			s.Finding.State = row.State
		}
		if s.Finding.Reachability == 0 || s.Finding.Reachability == model.ReachabilityUnknown {
			s.Finding.Reachability = cmp.Or(lineage.Annotations.Reachability, s.Finding.Reachability)
		}
		s.Supply.EPSS = cmp.Or(lineage.Annotations.EPSS, s.Supply.EPSS)
		if row.ID != 0 {
			s.Supply.Age = j.s.Now().Sub(row.RelevantSince)
		}
	}
	if err := j.know(ctx, judged); err != nil {
		return err
	}
	return j.supply(ctx, judged)
}

// lineages returns the lineages of identities. It prefers the lineage of the finding on the scan's
// ref over that of the identity.
func (j *Judge) lineages(
	ctx context.Context, ids []model.Identity, rows map[model.Identity]model.Finding,
) (map[model.Identity]model.Lineage, error) {
	var without []model.Identity
	var of []int64
	for _, id := range ids {
		if row, ok := rows[id]; ok {
			of = append(of, row.LineageID)
		} else {
			without = append(without, id)
		}
	}
	found, err := j.s.LineagesOf(ctx, j.project, without)
	if err != nil {
		return nil, err
	}
	byID, err := j.s.Lineages(ctx, of)
	if err != nil {
		return nil, err
	}
	for id, row := range rows {
		found[id] = byID[row.LineageID]
	}
	return found, nil
}

// occurrences returns the current findings on the scan's ref with the identities, from any of the
// sources.
func (j *Judge) occurrences(ctx context.Context, ids []model.Identity) (map[model.Identity]model.Finding, error) {
	found := make(map[model.Identity]model.Finding, len(ids))
	for _, source := range j.sources() {
		rows, err := j.s.Occurrences(ctx, j.project, j.scan.Ref, source, ids)
		if err != nil {
			return nil, err
		}
		maps.Copy(found, rows)
	}
	return found, nil
}
