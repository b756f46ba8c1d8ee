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

// state is the read model of one deployment. Whoever changes it holds the
// deployment's turn, and its lock too while readers can see it.
type state struct {
	version  int64
	clock    func() time.Time
	projects table[project]
	rules    table[rule]
	lineages table[lineage]
	refs     lexicon.Words
	packages lexicon.Words
	paths    lexicon.Texts // in lower case, as the two below
	vulns    lexicon.Words
	says     lexicon.Messages
	secrets  lexicon.Words
	tags     lexicon.Words

	assignees lexicon.Words
	untils    instants

	rulesByName map[string][]uint32
	policies    map[int64]*policy
	policyRules map[string]map[int64]policyRule // by rule name, then policy rule id
	audiences   []audience                      // of all projects
	orphans     map[int64]bool                  // deleted lineages, kept until no late row can have one
	departed    map[int64]bool                  // deleted projects, kept until no row that waits to be replaced is in one

	parts [model.Secrets]*partition // by issue type - 1

	searches searchCache
	dues     dueCache

	concealed bool // texts and bodies of code that is a secret now are still among those that no row has
}

// newState returns an empty state that waits for its first rows: they become
// visible with compact.
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

// part returns the partition of an issue type, or nil for none.
func (s *state) part(t model.IssueType) *partition {
	if t == 0 || int(t) > len(s.parts) {
		return nil
	}
	return s.parts[t-1]
}

// apply brings what a batch says into the state. Applying it again changes
// nothing. Rows that have no place at the end wait for compact.
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

// removeProject drops all rows of a project. The project itself goes once all
// rows have their place: until then lists show rows in it that late ones, in
// another project, are to replace.
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

// removeOrphans forgets the deleted projects and lineages, once all rows have
// their place.
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

// putRules takes rules and policies over, and tells each rule touched what
// policies say of it now.
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
		return fmt.Errorf("finding %d of issue type %d has no place in an index", f.ID, f.IssueType)
	}
	for _, other := range s.parts {
		if other == p {
			continue
		}
		_, was := other.where[uint32(f.ID)]
		s.concealed = s.concealed || was && f.IssueType == model.Secrets
		other.remove(uint32(f.ID)) // its type may have been another one, until more was known of its rule
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

// errBereft means that a finding comes before what it hangs on.
var errBereft = errors.New("comes before")

// row packs a finding.
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

// known returns v, or the value for "unknown" when nothing was said.
func known[T ~uint8](v, unknown T) T {
	if v == 0 {
		return unknown
	}
	return v
}

// compact rebuilds the partitions that need it off to the side, while readers go
// on with what is there, and returns them; the others are left as they are.
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

// encoded is a batch with all that costs time to encode done, which needs no
// lock and fails before anything is changed.
type encoded struct {
	*model.Batch
	projects []*project
	rules    []*rule
	policies []*policy
	lineages []*lineage
	texts    []searched // of findings
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
