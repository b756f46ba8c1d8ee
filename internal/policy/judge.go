package policy

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"time"

	"github.com/redoubt/redoubt"
)

// GateStorage is what the gate reads, in the transaction that applies the scan.
type GateStorage interface {
	Policies(ctx context.Context) ([]redoubt.Policy, error)
	ServedRules(ctx context.Context) ([]redoubt.ServedRule, error)
	// BlockingRules lists the rules that a policy has in mode block, served or
	// known from imports.
	BlockingRules(ctx context.Context) ([]redoubt.PolicyRule, error)
	Stream(ctx context.Context, projectID int64, ref, source, commit string) (redoubt.ScanStream, error)
	// UnresolvedFindings lists the unresolved findings of a ref: id, identity,
	// lineage, path and the hash of the code. What is muted in the code there is not among
	// them: where the comment is taken away, the finding is new to those who look.
	UnresolvedFindings(ctx context.Context, projectID int64, ref, source string) ([]redoubt.Finding, error)
	// OpenFindings reads the unresolved findings of a ref, with no more of them
	// than the gate asks for.
	OpenFindings(ctx context.Context, projectID int64, ref, source string) ([]redoubt.Finding, error)
	// Occurrences finds what a ref has of some identities, in whatever state: ids,
	// lineages, states, and since when they are relevant.
	Occurrences(ctx context.Context, projectID int64, ref, source string, ids []redoubt.Identity) (map[redoubt.Identity]redoubt.Finding, error)
	// ParsedInPart tells which scans could not parse all of a language.
	ParsedInPart(ctx context.Context, scanIDs []int64) (map[int64]bool, error)
	// FixedFindings finds the fixed findings of a ref that have some identities: identity,
	// path, line and the hash of the code, by the scan that fixed them last.
	FixedFindings(ctx context.Context, projectID int64, ref, source string, ids []redoubt.Identity) (map[int64][]redoubt.Finding, error)
	// LineagesOfFindings reads in which lineages findings are by now.
	LineagesOfFindings(ctx context.Context, projectID int64, ids []int64) (map[int64]int64, error)
	LineagesOf(ctx context.Context, projectID int64, ids []redoubt.Identity) (map[redoubt.Identity]redoubt.Lineage, error)
	Lineages(ctx context.Context, ids []int64) (map[int64]redoubt.Lineage, error)
	// SupplyFacts reads what conditions ask of supply-chain findings, by id, but
	// for their lineages' scores and their age.
	SupplyFacts(ctx context.Context, ids []int64) (map[int64]redoubt.SupplyFacts, error)
	// ExploitedNamed tells which vulnerabilities, by names in upper case, are known to be
	// exploited under any of their names.
	ExploitedNamed(ctx context.Context, names []string) (map[string]bool, error)
	Now() time.Time
}

// LoadEffectivePolicy reads what holds for a project by the policies as they are
// now, and which rules that nobody serves block it (semantics §10).
func LoadEffectivePolicy(ctx context.Context, s GateStorage, project redoubt.Project) (EffectivePolicy, error) {
	policies, err := s.Policies(ctx)
	if err != nil {
		return EffectivePolicy{}, err
	}
	rules, err := s.ServedRules(ctx)
	if err != nil {
		return EffectivePolicy{}, err
	}
	blocking, err := s.BlockingRules(ctx)
	if err != nil {
		return EffectivePolicy{}, err
	}
	e := For(project, policies, rules)
	byID := map[int64]redoubt.Policy{}
	for _, p := range e.Policies {
		byID[p.ID] = p
	}
	for _, r := range blocking {
		if of, covers := byID[r.PolicyID]; covers {
			e.take(r.Rule.Name, of, r.Mode)
		}
	}
	return e, nil
}

// Judge judges one scan by what the primary branch had before it (semantics
// §10), for scanners that report by themselves and for imports.
type Judge struct {
	s         GateStorage
	effective EffectivePolicy
	project   int64
	scan      redoubt.Scan
	primary   string            // the project's primary branch
	first     bool              // the scan is the first full one of the primary branch
	before    []redoubt.Finding // what the primary branch had unresolved
	unseen    map[seenAt]bool   // what it has fixed though it may be there: see unseenBefore
	sightings []Sighting        // of blocking rules
	others    []Sighting        // of a preview: what no policy would fail a build on
	advised   bool              // a rule of the advisories blocks, maybe
	own       []Sighting        // what the advisories say of the lockfiles of a scan that is recorded only
}

// Judge looks at what stands before a scan is applied, and at what it reports.
func (e EffectivePolicy) Judge(ctx context.Context, s GateStorage, project redoubt.Project, scan redoubt.Scan, reported []Sighting) (*Judge, error) {
	return e.judge(ctx, s, project, scan, reported, false)
}

// judge is Judge, which for a preview keeps what no policy would fail a build on.
func (e EffectivePolicy) judge(ctx context.Context, s GateStorage, project redoubt.Project, scan redoubt.Scan, reported []Sighting, previews bool) (*Judge, error) {
	e = e.On(scan.Ref)
	j := &Judge{s: s, effective: e, project: project.ID, scan: scan, primary: PrimaryAfter(project, scan), advised: scan.Products.Has(redoubt.SCA) && (e.blocksUnserved() || e.conditional(redoubt.SCA))}
	for _, r := range reported {
		if e.Stance(r.Finding.RuleName).Mode == redoubt.ModeBlock || e.conditional(r.Finding.IssueType) {
			j.sightings = append(j.sightings, r)
		} else if previews {
			j.others = append(j.others, r)
		}
	}
	if len(j.sightings)+len(j.others) == 0 && !j.advised {
		return j, nil
	}
	primary := j.primary
	stream, err := s.Stream(ctx, project.ID, primary, scan.Source, "")
	if err != nil {
		return nil, err
	}
	j.first = scan.Ref == primary && !stream.Complete
	for _, source := range j.sources() {
		live, err := s.UnresolvedFindings(ctx, project.ID, primary, source)
		if err != nil {
			return nil, err
		}
		j.before = append(j.before, live...)
	}
	j.unseen, err = j.unseenBefore(ctx, stream)
	return j, err
}

// blocksUnserved reports whether a rule blocks that is not served, as those of
// the advisories are.
func (e EffectivePolicy) blocksUnserved() bool {
	for name, stance := range e.stances {
		if _, served := e.products[name]; !served && stance.Mode == redoubt.ModeBlock {
			return true
		}
	}
	return false
}

// sources are those whose findings the scan brings.
func (j *Judge) sources() []string {
	if j.advised {
		return []string{j.scan.Source, redoubt.SourceAdvisories}
	}
	return []string{j.scan.Source}
}

// Verdict judges once the scan is applied, or recorded, when every finding has
// its lineage and its id, which the verdict's findings carry.
//
// A scan of the primary branch that was recorded only fails no build, since a
// newer one has spoken of it. On any other branch it is judged as the commit that
// it is: who sets the branch back to that commit may merge it, and a machine whose
// clock is behind makes late what is the newest.
func (j *Judge) Verdict(ctx context.Context, outcome redoubt.ScanOutcome) (Verdict, error) {
	if outcome.Recorded() && j.scan.Ref == j.primary {
		return Verdict{}, nil
	}
	judged, err := j.facts(ctx, outcome)
	if err != nil {
		return Verdict{}, err
	}
	return j.verdict(judged, outcome), nil
}

func (j *Judge) verdict(judged []Sighting, outcome redoubt.ScanOutcome) Verdict {
	for i := range judged {
		if s := &judged[i]; s.Proposed && s.stored != 0 && !outcome.Recorded() {
			s.Finding.State = s.stored
		}
	}
	v := j.effective.Gate(j.first, judged)
	if outcome.Recorded() && v.Reason != "" {
		v.Reason = Recorded(outcome) + " " + v.Reason
	}
	return v
}

// Recorded says to people why a scan was recorded only; it is empty for one that
// counts.
func Recorded(outcome redoubt.ScanOutcome) string {
	switch outcome {
	case redoubt.ScanLate:
		return "A scan of this branch that started later counts already, so this one is recorded and changes no finding."
	case redoubt.ScanSuperseded:
		return "The branch had this commit before and others since, as in a re-run of an old pipeline, so this scan is recorded and changes no finding."
	}
	return ""
}

// Rename has findings judged as what they are stored as: the scan may name them otherwise,
// and under its names nothing is known of them.
func (j *Judge) Rename(became map[redoubt.Identity]redoubt.KnownAs) {
	for _, list := range [][]Sighting{j.sightings, j.others} {
		for i := range list {
			f := &list[i].Finding
			if is, otherwise := became[f.Identity]; otherwise {
				list[i].told, f.Identity, f.CodeHash = f.Identity, is.Identity, is.CodeHash
			}
		}
	}
}

// Part has findings judged as copies, which are of no lineage yet.
func (j *Judge) Part(copies []redoubt.Identity) {
	parted := make(map[redoubt.Identity]bool, len(copies))
	for _, id := range copies {
		parted[id] = true
	}
	for _, list := range [][]Sighting{j.sightings, j.others} {
		for i := range list {
			list[i].copied = parted[list[i].Finding.Identity]
		}
	}
}

// Advise tells what the advisories say of the lockfiles that the scan itself states.
// It counts where the scan is recorded only: those in force are of another commit.
func (j *Judge) Advise(own []Sighting) { j.own = own }

// facts are the findings to judge, with all that the gate asks of them.
func (j *Judge) facts(ctx context.Context, outcome redoubt.ScanOutcome) ([]Sighting, error) {
	if len(j.sightings) == 0 && !j.advised {
		return nil, nil
	}
	judged := slices.Clone(j.sightings)
	switch {
	case j.advised && outcome.Recorded():
		for _, s := range j.own {
			s.advised = true
			judged = append(judged, s)
		}
	case j.advised:
		open, err := j.s.OpenFindings(ctx, j.project, j.scan.Ref, redoubt.SourceAdvisories)
		if err != nil {
			return nil, err
		}
		for i := range open {
			judged = append(judged, Sighting{Finding: open[i], advised: true})
		}
	}
	return judged, j.fill(ctx, judged)
}

// fill tells of findings all that the gate asks of them.
func (j *Judge) fill(ctx context.Context, judged []Sighting) error {
	ids := make([]redoubt.Identity, len(judged))
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
			lineage = redoubt.Lineage{}
		}
		s.Triage = lineage.Triage.State
		s.Finding.ID, s.Finding.LineageID, s.stored = row.ID, lineage.ID, row.State
		if s.Finding.Reachability == 0 || s.Finding.Reachability == redoubt.ReachabilityUnknown {
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

// lineages finds those of identities: where the scan's ref has a finding of one,
// that finding's, else the one that holds the identity.
func (j *Judge) lineages(ctx context.Context, ids []redoubt.Identity, rows map[redoubt.Identity]redoubt.Finding) (map[redoubt.Identity]redoubt.Lineage, error) {
	var without []redoubt.Identity
	var of []int64
	for _, id := range ids {
		if row, there := rows[id]; there {
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

// occurrences finds what the scan's ref has of identities by now, of any of the
// sources.
func (j *Judge) occurrences(ctx context.Context, ids []redoubt.Identity) (map[redoubt.Identity]redoubt.Finding, error) {
	found := make(map[redoubt.Identity]redoubt.Finding, len(ids))
	for _, source := range j.sources() {
		rows, err := j.s.Occurrences(ctx, j.project, j.scan.Ref, source, ids)
		if err != nil {
			return nil, err
		}
		maps.Copy(found, rows)
	}
	return found, nil
}
