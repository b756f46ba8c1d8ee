package index

import (
	"cmp"
	"slices"

	"github.com/RoaringBitmap/roaring/v2"

	"github.com/redoubt/redoubt/internal/model"
)

// NameKind is the kind of a name.
type NameKind uint8

// Kinds of names that findings can be searched by.
const (
	NameOfProject NameKind = iota
	NameOfRule
	NameOfPackage
	NameOfVulnerability
)

// NameHit is a name that matches a search.
type NameHit struct {
	Kind      NameKind
	ID        int64 // of a project; 0 for other kinds
	Name      string
	Rank      int             // rank assigned by NameRank
	IssueType model.IssueType // issue type with the most open findings; 0 if there are no findings
	Open      int             // number of open findings, deduplicated
}

// NameRank returns the rank of a name, where lower is better, and whether it matches. Names of
// vulnerabilities are in lower case, other names as written.
type NameRank func(kind NameKind, name string) (rank int, hit bool)

// SearchNames returns the best names of each kind, at most limit per kind. It searches all visible
// projects, and the rules, packages and vulnerabilities of their findings, without rules of the
// supply chain. Names with equal rank are sorted by length.
func (v *View) SearchNames(visible model.ProjectGlobs, limit int, rank NameRank) []NameHit {
	v.d.mu.RLock()
	defer v.d.mu.RUnlock()
	n := &nameSearch{s: v.d.state, rank: rank, limit: limit}
	for _, p := range n.s.parts {
		f := model.FindingFilter{IssueType: p.issueType, Visible: visible}
		seen := n.s.selected(p, &f)
		f.Statuses, f.Dedup = []model.Status{model.StatusOpen}, true
		n.scopes = append(n.scopes, nameScope{p, seen, n.s.selected(p, &f)})
	}
	return slices.Concat(n.projects(visible), n.rules(), n.packages(), n.vulnerabilities())
}

// nameSearch is a search for names under the lock of the state.
type nameSearch struct {
	s      *state
	scopes []nameScope // by issue type
	rank   NameRank
	limit  int
}

// nameScope is the visible part of a partition. Its bitmaps must not be modified.
type nameScope struct {
	p          *partition
	seen, open *roaring.Bitmap
}

func (n *nameSearch) projects(visible model.ProjectGlobs) []NameHit {
	best := n.best(NameOfProject)
	for number, p := range n.s.projects.entries {
		if p == nil || !visible.Allows(p.name) {
			continue
		}
		if hit, good := best.wants(p.name, n.s.projects.ids[number]); good {
			best.put(hit, uint32(number))
		}
	}
	return n.counted(best, byProject)
}

// rules excludes supply-chain rules. Each of them represents one vulnerability, which is a hit
// itself.
func (n *nameSearch) rules() []NameHit {
	of := *n
	of.scopes = slices.DeleteFunc(slices.Clone(n.scopes), func(s nameScope) bool { return s.p.issueType == model.SCA })
	best := n.best(NameOfRule)
	for name, numbers := range n.s.rulesByName {
		if hit, good := best.wants(name, 0); good && of.isVisible(byRule, numbers...) {
			best.put(hit, numbers...)
		}
	}
	return of.counted(best, byRule)
}

func (n *nameSearch) packages() []NameHit {
	best := n.best(NameOfPackage)
	for number, name := range n.s.packages.List() {
		if hit, good := best.wants(name, 0); good && n.isVisible(byPackage, uint32(number)) {
			best.put(hit, uint32(number))
		}
	}
	return n.counted(best, byPackage)
}

// vulnerabilities counts rows to find names that are still in use, because vulnerabilities have no
// bitmaps. It does so only if at least one name matches.
func (n *nameSearch) vulnerabilities() []NameHit {
	best := n.best(NameOfVulnerability)
	texts := n.s.vulns.List()
	if !slices.ContainsFunc(texts, func(name string) bool { _, good := best.wants(name, 0); return good }) {
		return nil
	}
	scope := n.scopes[model.SCA-1]
	column := scope.p.columns[namedVuln]
	seen, open := make([]int, len(texts)), make([]int, len(texts))
	if column != nil {
		for batch := range batches(scope.seen) {
			count(seen, column, batch)
		}
		for batch := range batches(scope.open) {
			count(open, column, batch)
		}
	}
	for number, name := range texts {
		if seen[number] == 0 {
			continue
		}
		if hit, good := best.wants(name, 0); good {
			hit.IssueType, hit.Open = model.SCA, open[number]
			best.put(hit)
		}
	}
	return best.hits()
}

// isVisible reports whether a visible finding has one of the values.
func (n *nameSearch) isVisible(f field, values ...uint32) bool {
	return slices.ContainsFunc(n.scopes, func(scope nameScope) bool {
		return slices.ContainsFunc(values, func(v uint32) bool { return scope.p.readBitmap(f, v).Intersects(scope.seen) })
	})
}

// counted returns the best hits with their numbers of open findings.
func (n *nameSearch) counted(best *bestNames, f field) []NameHit {
	for i := range best.list {
		c := &best.list[i]
		most := -1
		for _, scope := range n.scopes {
			open, seen := 0, false
			for _, v := range c.values {
				b := scope.p.readBitmap(f, v)
				open += int(b.AndCardinality(scope.open))
				seen = seen || b.Intersects(scope.seen)
			}
			c.Open += open
			if seen && open > most {
				c.IssueType, most = scope.p.issueType, open
			}
		}
	}
	return best.hits()
}

// bestNames retains the best names of a kind.
type bestNames struct {
	kind  NameKind
	rank  NameRank
	limit int
	list  []rankedName // best first
}

// rankedName is a hit and the values of a field that it represents.
type rankedName struct {
	NameHit
	values []uint32
}

func (n *nameSearch) best(kind NameKind) *bestNames {
	return &bestNames{kind: kind, rank: n.rank, limit: n.limit}
}

// wants ranks a name and reports whether it is among the best so far. It rejects the empty name.
func (b *bestNames) wants(name string, id int64) (hit NameHit, good bool) {
	if name == "" {
		return hit, false
	}
	rank, matches := b.rank(b.kind, name)
	hit = NameHit{Kind: b.kind, ID: id, Name: name, Rank: rank}
	return hit, matches && (len(b.list) < b.limit || hit.compare(b.list[len(b.list)-1].NameHit) < 0)
}

// put inserts a name in order.
func (b *bestNames) put(hit NameHit, values ...uint32) {
	at, _ := slices.BinarySearchFunc(b.list, hit, func(r rankedName, h NameHit) int { return r.compare(h) })
	b.list = slices.Insert(b.list, at, rankedName{hit, values})
	b.list = b.list[:min(len(b.list), b.limit)]
}

// compare returns a negative number if h sorts before another hit of its kind.
func (h NameHit) compare(other NameHit) int {
	return cmp.Or(cmp.Compare(h.Rank, other.Rank), cmp.Compare(len(h.Name), len(other.Name)),
		cmp.Compare(h.Name, other.Name), cmp.Compare(h.ID, other.ID))
}

func (b *bestNames) hits() []NameHit {
	return model.Map(b.list, func(r rankedName) NameHit { return r.NameHit })
}
