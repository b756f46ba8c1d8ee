package index

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/redoubt/redoubt/internal/index/lexicon"
	"github.com/redoubt/redoubt/internal/model"
)

// state is the read model of one deployment. A writer must hold the deployment's update semaphore,
// and also its lock while readers can access the state.
//
// Dictionaries assign small numbers to projects, rules, lineages and words. Each issue type has a
// partition with packed rows in list order, one bitmap of ordinals per value of each field, and
// columns for counting. Properties of projects and rules are resolved when a filter is evaluated,
// so changing them modifies no rows. A page is copied under a read lock and written without one,
// from JSON that was encoded when it was stored.
//
//	Source ─ Feed ─► state.apply ─► partition ─► Page ─► io.Writer
//	                                 rows, bitmaps, columns, bodies
//
// Package checkpoint defines the files in which states are saved, package lexicon the dictionaries
// of texts.
type state struct {
	version  int64
	clock    func() time.Time
	projects table[project]
	rules    table[rule]
	lineages table[lineage]
	refs     lexicon.Words
	packages lexicon.Words
	paths    lexicon.Texts // in lower case, as are vulns and messages
	vulns    lexicon.Words
	messages lexicon.Messages
	secrets  lexicon.Words
	tags     lexicon.Words

	assignees lexicon.Words
	untils    instants

	rulesByName map[string][]uint32
	policies    map[int64]*policy
	policyRules map[string]map[int64]policyRule // by rule name, then policy rule ID
	audiences   []audience                      // one per distinct set of policies that apply to a project
	orphans     map[int64]bool                  // deleted lineages, retained until no late row can refer to them
	departed    map[int64]bool                  // deleted projects, retained until their rows are replaced

	parts [model.Secrets]*partition // by issue type - 1

	searches searchCache
	dues     dueCache

	concealed bool // unreferenced texts and bodies may still contain code that is now a secret
}

// newState returns an empty state. Rows become visible after compact.
func newState(b *budget, clock func() time.Time) *state {
	s := &state{
		clock: clock, rulesByName: map[string][]uint32{},
		refs: lexicon.NewWords(memberOf("ref")), secrets: lexicon.NewWords(memberOf("secret_type")),
		policies: map[int64]*policy{}, policyRules: map[string]map[int64]policyRule{},
		orphans: map[int64]bool{}, departed: map[int64]bool{},
	}
	for i := range s.parts {
		s.parts[i] = newPartition(model.IssueType(i+1), &arena{budget: b})
	}
	return s
}

// part returns the partition of an issue type, or nil if there is none.
func (s *state) part(t model.IssueType) *partition {
	if t == 0 || int(t) > len(s.parts) {
		return nil
	}
	return s.parts[t-1]
}

// apply adds a batch to the state. It is idempotent. Rows that do not sort last are added by
// compact.
func (s *state) apply(e *encoded) error {
	s.searches.forget()
	s.dues.forget()
	for i, p := range e.projects {
		s.putProject(e.Projects[i].ID, p)
	}
	s.putRules(e)
	for i, l := range e.lineages {
		s.putLineage(e.Lineages[i].ID, l)
	}
	for i := range e.Findings {
		if err := s.putFinding(&e.Findings[i], e.texts[i]); err != nil {
			return err
		}
	}
	for _, id := range e.DeletedFindings {
		for _, p := range s.parts {
			p.remove(uint32(id))
		}
	}
	s.removePolicies(e.DeletedPolicies)
	for _, id := range e.DeletedProjects {
		s.removeProject(id)
	}
	for _, id := range e.DeletedLineages {
		s.orphans[id] = true
	}
	for _, p := range s.parts {
		p.elect(s)
	}
	return nil
}

func (s *state) putProject(id int64, p *project) {
	p.primaryRef = s.refs.Number(p.primary)
	var fresh bool
	if p.audience, fresh = s.audienceOf(p); fresh {
		s.updateAllStances()
	}
	n, old := s.projects.put(id, p)
	delete(s.departed, id)
	if old != nil && old.primaryRef != p.primaryRef {
		for _, part := range s.parts {
			part.reelectProject(n)
		}
	}
}

// removeProject removes all rows of a project. The project itself is removed by removeOrphans:
// until late rows are sorted in, lists may show rows of it that these rows replace.
func (s *state) removeProject(id int64) {
	n, ok := s.projects.numbers[id]
	if !ok {
		return
	}
	for _, p := range s.parts {
		p.removeProject(n)
	}
	s.departed[id] = true
}

// removeOrphans removes deleted projects and lineages after all late rows are sorted in.
func (s *state) removeOrphans() {
	for id := range s.departed {
		s.projects.remove(s.projects.numbers[id])
	}
	clear(s.departed)
	for id := range s.orphans {
		n := s.lineages.numbers[id]
		if n != 0 && !slices.ContainsFunc(s.parts[:], func(p *partition) bool { return p.has(n) }) {
			s.lineages.remove(n)
		}
	}
	clear(s.orphans)
}

// putRules stores rules and policies and updates the policy stances of each affected rule.
func (s *state) putRules(e *encoded) {
	touched := map[string]bool{}
	for i, r := range e.rules {
		n, old := s.rules.put(e.Rules[i].ID, r)
		if old == nil {
			s.rulesByName[r.name] = append(s.rulesByName[r.name], n)
		}
		touched[r.name] = true
	}
	for i := range e.PolicyRules {
		pr := &e.PolicyRules[i]
		of := s.policyRules[pr.Rule.Name]
		if of == nil {
			of = map[int64]policyRule{}
			s.policyRules[pr.Rule.Name] = of
		}
		if of[pr.ID] = (policyRule{policy: pr.PolicyID, mode: pr.Mode}); pr.Removed {
			delete(of, pr.ID)
		}
		touched[pr.Rule.Name] = true
	}
	for i, p := range e.policies {
		s.policies[e.Policies[i].ID] = p
	}
	if len(e.policies) > 0 {
		s.gatherAudiences()
		return
	}
	for name := range touched {
		s.updateStances(name)
	}
}

func (s *state) putLineage(id int64, l *lineage) {
	n, old := s.lineages.put(id, l)
	delete(s.orphans, id)
	if old == nil || old == l {
		return
	}
	m := s.inheritedOf(l)
	for _, p := range s.parts {
		p.inherit(n, l, m)
	}
}

func (s *state) putFinding(f *model.IndexedFinding, texts searched) error {
	p := s.part(f.IssueType)
	if p == nil || f.ID <= 0 || f.ID > math.MaxUint32 {
		return fmt.Errorf("finding %d of issue type %d is not supported by the index", f.ID, f.IssueType)
	}
	for _, other := range s.parts {
		if other == p {
			continue
		}
		_, was := other.where[uint32(f.ID)]
		s.concealed = s.concealed || was && f.IssueType == model.Secrets
		other.remove(uint32(f.ID)) // the issue type can change when more is known about the rule
	}
	if f.State == model.StateRemoved {
		p.remove(uint32(f.ID))
		return nil
	}
	r, err := s.row(f, texts)
	if err != nil {
		return err
	}
	p.put(r, f.Body)
	return nil
}

// errBereft reports a finding that arrives before its lineage, project or rule.
var errBereft = errors.New("comes before")

// row packs a finding into a row.
func (s *state) row(f *model.IndexedFinding, texts searched) (*row, error) {
	r := &row{
		relevant: micros(f.RelevantSince), created: micros(f.CreatedAt), stateAt: micros(f.StateUpdatedAt),
		scan: f.FirstScanID, id: uint32(f.ID),
		lineage: s.lineages.numbers[f.LineageID], project: s.projects.numbers[f.ProjectID], rule: s.rules.numbers[f.RuleID],
		state: uint8(f.State), severity: uint8(f.Severity), confidence: uint8(f.Confidence),
		ref: s.refs.Number(f.Ref), pkg: s.packages.Number(f.Package),
		secret: s.secrets.Number(f.SecretType), validation: uint8(f.ValidationState),
		path: s.paths.Number(texts.path), malicious: yesNo(f.Malicious),
		proOnly: yesNo(f.ProOnly), historical: yesNo(f.Historical),
		unrated: yesNo(f.IssueType == model.SCA && model.BodyUnrated(f.Body)),
		fixable: yesNo(f.IssueType == model.SCA && model.BodyFixable(f.Body)),
	}
	if r.lineage == 0 || r.project == 0 || r.rule == 0 {
		return nil, fmt.Errorf("finding %d %w its lineage %d, project %d or rule %d",
			f.ID, errBereft, f.LineageID, f.ProjectID, f.RuleID)
	}
	if f.IssueType == model.SCA {
		r.scanned = uint8(known(f.Reachability, model.ReachabilityUnknown))
		r.transitivity = uint8(known(f.Transitivity, model.TransitivityUnknown))
	}
	s.nameRow(r, f, texts)
	l := s.lineages.entries[r.lineage]
	r.inherit(l, s.inheritedOf(l))
	return r, nil
}

// known returns v, or unknown if v is 0.
func known[T ~uint8](v, unknown T) T {
	if v == 0 {
		return unknown
	}
	return v
}

// compact rebuilds the partitions that need it, while readers use the old ones. It returns all
// partitions, with the unchanged ones included, or nil if no rebuild is needed.
func (s *state) compact() (fresh []*partition) {
	for i, p := range s.parts {
		if p.needsCompaction() {
			if fresh == nil {
				fresh = slices.Clone(s.parts[:])
			}
			fresh[i] = p.rebuild(s)
		}
	}
	return fresh
}

// encoded is a batch with its values encoded. Encoding needs no lock and fails before the state is
// modified.
type encoded struct {
	*model.Batch
	projects []*project
	rules    []*rule
	policies []*policy
	lineages []*lineage
	texts    []searched // by finding
}

func encode(b *model.Batch) (*encoded, error) {
	e := &encoded{Batch: b}
	var errs [4]error
	e.projects, errs[0] = each(b.Projects, newProject)
	e.rules, errs[1] = each(b.Rules, newRule)
	e.policies, errs[2] = each(b.Policies, newPolicy)
	e.lineages, errs[3] = each(b.Lineages, newLineage)
	e.texts = make([]searched, len(b.Findings))
	for i := range b.Findings {
		e.texts[i] = searchedOf(&b.Findings[i])
	}
	for _, err := range errs {
		if err != nil {
			return nil, err
		}
	}
	return e, nil
}

func each[From, To any](in []From, convert func(*From) (To, error)) ([]To, error) {
	out := make([]To, len(in))
	for i := range in {
		var err error
		if out[i], err = convert(&in[i]); err != nil {
			return nil, err
		}
	}
	return out, nil
}
