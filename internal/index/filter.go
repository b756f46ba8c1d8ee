package index

import (
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/RoaringBitmap/roaring/v2"

	"github.com/redoubt/redoubt/internal/index/lexicon"
	"github.com/redoubt/redoubt/internal/model"
)

// query is a filter translated to numbers of one partition. A row must match all of it.
type query struct {
	clauses []clause
	from    int             // minimum ordinal, from Since
	ids     *roaring.Bitmap // accepted ordinals; nil for all

	with    []*roaring.Bitmap // rows must be in each of these
	without []*roaring.Bitmap // rows must not be in any of these
}

// clause is a field with its accepted values. Without values, it matches nothing.
type clause struct {
	field  field
	values []uint32
}

// query translates a filter. Filters on properties of projects or rules become sets of projects or
// rules, so that rows need not store these properties.
func (s *state) query(p *partition, f *model.FindingFilter) *query {
	q := &query{from: p.lowerBound(f.Since)}
	if f.HasIDs {
		q.ids = p.ordinals(f.IDs)
	}
	if f.Ref != "" {
		q.add(byRef, s.refs.Find([]string{f.Ref}))
	}
	if f.Dedup && f.Ref != "" {
		q.add(byRepresentativeRef, []uint32{1})
	} else if f.Dedup {
		q.add(byRepresentative, []uint32{1})
	}
	if numbers, all := s.projectsOf(f); !all {
		q.add(byProject, numbers)
	}
	if numbers, all := s.rulesOf(f); !all {
		q.add(byRule, numbers)
	}
	s.addModes(p, q, f.Modes)
	q.addWords(byTag, &s.tags, f.ComponentTags)
	q.addWords(byPackage, &s.packages, f.Packages)
	q.addWords(bySecretType, &s.secrets, f.SecretTypes)
	s.addAssignees(p, q, f.Assignees)
	if !f.EndsBy.IsZero() {
		q.add(byUntil, s.untils.through(f.EndsBy))
	}
	q.addSmall(f)
	s.addDue(p, q, f)
	s.narrow(p, q, f)
	return q
}

// addSmall adds the clauses of enumerations and flags.
func (q *query) addSmall(f *model.FindingFilter) {
	addEnum(q, byStatus, f.Statuses)
	addEnum(q, byReason, f.TriageReasons)
	addEnum(q, bySeverity, f.Severities)
	addEnum(q, byConfidence, f.Confidences)
	addEnum(q, byVerdict, f.Verdicts)
	addEnum(q, byReachability, f.Reachabilities)
	addEnum(q, byTransitivity, f.Transitivities)
	addEnum(q, byEPSS, f.EPSS)
	addEnum(q, byValidation, f.ValidationStates)
	q.addFlag(byMalicious, f.Malicious)
	q.addFlag(byExploited, f.Exploited)
	q.addFlag(byUnrated, f.Unrated)
	q.addFlag(byProOnly, f.ProOnly)
	if f.ExcludeHistoric {
		q.add(byHistorical, []uint32{uint32(flagNo)})
	}
	if len(f.PRStates) > 0 {
		q.add(byPRs, masks(f.PRStates))
	}
}

func (q *query) add(f field, values []uint32) {
	q.clauses = append(q.clauses, clause{f, values})
}

func (q *query) addWords(f field, w *lexicon.Words, names []string) {
	if len(names) > 0 {
		q.add(f, w.Find(names))
	}
}

func (q *query) addFlag(f field, want *bool) {
	if want != nil {
		q.add(f, []uint32{uint32(yesNo(*want))})
	}
}

func addEnum[T ~uint8](q *query, f field, values []T) {
	if len(values) == 0 {
		return
	}
	numbers := model.Map(values, func(v T) uint32 { return uint32(v) })
	slices.Sort(numbers)
	q.add(f, slices.Compact(numbers))
}

// masks returns the values of byPRs in which one of the states is set.
func masks(states []string) []uint32 {
	want := uint32(0)
	if slices.Contains(states, "open") {
		want |= prOpen
	}
	if slices.Contains(states, "merged") {
		want |= prMerged
	}
	var out []uint32
	for mask := uint32(1); mask <= prOpen|prMerged; mask++ {
		if mask&want != 0 {
			out = append(out, mask)
		}
	}
	return out
}

// projectsOf returns the projects that match all project filters. It returns all = true if there
// are no such filters.
func (s *state) projectsOf(f *model.FindingFilter) (numbers []uint32, all bool) {
	if len(f.Visible)+len(f.Projects)+len(f.ProjectIDs)+len(f.ProjectTags)+len(f.Visibilities) == 0 {
		return nil, true
	}
	names, tags, ids := folded(f.Projects), folded(f.ProjectTags), set(f.ProjectIDs)
	free := s.free(names)
	named := func(p *project) bool {
		return accepts(names, p.folded) || slices.ContainsFunc(p.oldNames, func(old string) bool { return free[old] })
	}
	for n, p := range s.projects.entries {
		if p != nil && named(p) && accepts(ids, s.projects.ids[n]) && acceptsAny(tags, p.tags) &&
			(len(f.Visibilities) == 0 || slices.Contains(f.Visibilities, p.visibility)) && f.Visible.Allows(p.name) {
			numbers = append(numbers, uint32(n))
		}
	}
	return numbers, false
}

// rulesOf returns the rules that match all rule filters, and all = true if there are no such
// filters.
func (s *state) rulesOf(f *model.FindingFilter) (numbers []uint32, all bool) {
	if len(f.Rules)+len(f.Rulesets)+len(f.Categories) == 0 {
		return nil, true
	}
	names, rulesets, categories := set(f.Rules), set(f.Rulesets), set(f.Categories)
	for n, r := range s.rules.entries {
		if r != nil && accepts(names, r.name) && acceptsAny(rulesets, r.rulesets) && acceptsAny(categories, r.category) {
			numbers = append(numbers, uint32(n))
		}
	}
	return numbers, false
}

// free returns those names that no current project uses. A former name selects its project only if
// it is free (docs/reference/projects.md).
func (s *state) free(names map[string]bool) map[string]bool {
	out := maps.Clone(names)
	for n, p := range s.projects.entries {
		if p != nil && !s.departed[s.projects.ids[n]] {
			delete(out, p.folded)
		}
	}
	return out
}

func folded(names []string) map[string]bool { return set(lowerCase(names)) }

func lowerCase(names []string) []string {
	var out []string
	for _, name := range names {
		out = append(out, strings.ToLower(name))
	}
	return out
}

func set[T comparable](values []T) map[T]bool {
	if len(values) == 0 {
		return nil
	}
	out := make(map[T]bool, len(values))
	for _, v := range values {
		out[v] = true
	}
	return out
}

// accepts reports whether a set contains v. The nil set contains everything.
func accepts[T comparable](s map[T]bool, v T) bool { return s == nil || s[v] }

func acceptsAny[T comparable](s map[T]bool, values []T) bool {
	return s == nil || slices.ContainsFunc(values, func(v T) bool { return s[v] })
}

// lowerBound returns the first ordinal whose row is relevant since t or later.
func (p *partition) lowerBound(t time.Time) int {
	if t.IsZero() {
		return 0
	}
	at := t.UnixMicro()
	if t.After(time.UnixMicro(at)) {
		at++
	}
	n, _ := slices.BinarySearchFunc(p.rows, at, func(r row, at int64) int {
		if r.relevant < at {
			return -1
		}
		return 1
	})
	return n
}

// ordinals returns the ordinals of known finding IDs.
func (p *partition) ordinals(ids []int64) *roaring.Bitmap {
	b := roaring.New()
	for _, id := range ids {
		if int64(uint32(id)) != id {
			continue
		}
		if ordinal, ok := p.where[uint32(id)]; ok {
			b.Add(ordinal)
		}
	}
	return b
}

// narrow adds the filters of pages that are extensions of the contract.
func (s *state) narrow(p *partition, q *query, f *model.FindingFilter) {
	if f.Primary {
		q.add(byPrimary, []uint32{1})
	}
	if f.Search != "" || len(f.Named) > 0 {
		q.with = append(q.with, s.cachedSearch(p, f.Search, f.Named))
	}
	if f.Except != nil {
		q.without = s.exceptions(p, f.Except)
	}
}

// exceptions returns, for each list of values in a filter, the rows with one of the values.
func (s *state) exceptions(p *partition, f *model.FindingFilter) []*roaring.Bitmap {
	q := &query{}
	if f.Ref != "" {
		q.add(byRef, s.refs.Find([]string{f.Ref}))
	}
	for _, one := range []model.FindingFilter{
		{Projects: f.Projects}, {ProjectIDs: f.ProjectIDs}, {ProjectTags: f.ProjectTags}, {Visibilities: f.Visibilities},
	} {
		if numbers, all := s.projectsOf(&one); !all {
			q.add(byProject, numbers)
		}
	}
	for _, one := range []model.FindingFilter{{Rules: f.Rules}, {Rulesets: f.Rulesets}, {Categories: f.Categories}} {
		if numbers, all := s.rulesOf(&one); !all {
			q.add(byRule, numbers)
		}
	}
	q.addWords(byTag, &s.tags, f.ComponentTags)
	q.addWords(byPackage, &s.packages, f.Packages)
	q.addWords(bySecretType, &s.secrets, f.SecretTypes)
	lists := *f
	lists.Malicious, lists.Exploited, lists.Unrated, lists.ProOnly, lists.ExcludeHistoric = nil, nil, nil, nil, false
	q.addSmall(&lists)
	var out []*roaring.Bitmap
	if len(f.Modes) > 0 {
		out = append(out, s.inModes(p, f.Modes))
	}
	if len(f.Assignees) > 0 {
		out = append(out, s.assignedTo(p, f.Assignees))
	}
	if f.Due != nil {
		out = append(out, s.dueIn(p, f.Due))
	}
	for _, c := range q.clauses {
		out = append(out, p.union(c))
	}
	return out
}
