package advisory

import (
	"cmp"
	"slices"
	"strings"
	"sync"

	"github.com/redoubt/redoubt/internal/model"
	"github.com/redoubt/redoubt/internal/purl"
)

// packageEntry contains the advisories of a package. Its versions are parsed and sorted once into a
// scale, and all comparisons use positions on it. A verdict on a version takes one pass over the
// groups.
type packageEntry struct {
	key      string
	order    Order
	position placer
	groups   []*Vulnerability // by id
	extents  []extent         // of each group
	listed   map[string][]int // groups whose records list a version exactly

	withdrawn map[int64]bool // groups, by id, whose records are all withdrawn

	mu       sync.Mutex
	verdicts map[verdictKey]*versionVerdict
}

// extent is the combined data of a group's live records on a package.
type extent struct {
	spans []span // affected, as a union
	fixes []fix  // not affected by any of its records, lowest first, without duplicates
}

// fix is a version that a record lists as fixed.
type fix struct {
	version  string
	position int
}

// verdictKey identifies versions with equal verdicts. It contains the position of the version, and
// its spelling if a record lists it.
type verdictKey struct {
	position int // 0 also for invalid versions
	version  bool
	listed   string
}

// versionVerdict is the result for one version of a package.
type versionVerdict struct {
	groups []int    // indexes of the groups that affect it, ascending
	fixes  []string // upgrade for each of these, or "" if unknown
}

// newPackageEntry returns the entry of the vulnerabilities with live records about the package.
// Withdrawn ones are only recorded as withdrawn.
func newPackageEntry(key string, order Order, vulnerabilities []*Vulnerability) *packageEntry {
	p := &packageEntry{
		key:       key,
		order:     order,
		listed:    map[string][]int{},
		withdrawn: map[int64]bool{},
		verdicts:  map[verdictKey]*versionVerdict{},
	}
	var affected [][]*Affected // of each group
	var versions []string
	for _, v := range vulnerabilities {
		if v.Withdrawn() {
			p.withdraw(v)
			continue
		}
		about := v.about(key)
		if len(about) == 0 {
			continue
		}
		for _, a := range about {
			versions = append(versions, a.onScale()...)
			p.list(a.Versions, len(p.groups))
		}
		p.groups, affected = append(p.groups, v), append(affected, about)
	}
	p.position = order.Scale(versions)
	for group := range p.groups {
		p.extents = append(p.extents, p.extent(group, affected[group]))
	}
	return p
}

func (p *packageEntry) withdraw(v *Vulnerability) {
	p.withdrawn[v.Group] = true
	for _, former := range v.Former {
		p.withdrawn[former] = true
	}
}

// about returns the data of live records on a package.
func (v *Vulnerability) about(key string) (out []*Affected) {
	for i := range v.Records {
		r := &v.Records[i]
		for j := range r.Affected {
			if !r.Withdrawn && r.Affected[j].Package == key {
				out = append(out, &r.Affected[j])
			}
		}
	}
	return out
}

func (p *packageEntry) list(versions []string, group int) {
	for _, v := range versions {
		if by := p.listed[v]; len(by) == 0 || by[len(by)-1] != group {
			p.listed[v] = append(by, group)
		}
	}
}

func (p *packageEntry) extent(group int, affected []*Affected) (e extent) {
	for _, a := range affected {
		e.spans = append(e.spans, a.spans(p.position)...)
	}
	e.spans = slices.Clip(union(e.spans))
	seen := map[string]bool{}
	for _, a := range affected {
		for _, v := range a.Fixes() {
			at, ok := p.position(v)
			if seen[v] || !ok || contains(e.spans, at) {
				continue
			}
			seen[v] = true
			if _, listed := slices.BinarySearch(p.listed[v], group); !listed {
				e.fixes = append(e.fixes, fix{v, at})
			}
		}
	}
	slices.SortStableFunc(e.fixes, byPosition)
	return e
}

func byPosition(a, b fix) int { return cmp.Compare(a.position, b.position) }

// maxVerdicts limits the cached verdicts of a package.
const maxVerdicts = 10_000

// verdictOn returns the verdict on a version. Versions at the same position share a cached verdict.
func (p *packageEntry) verdictOn(version string) *versionVerdict {
	version = purl.Version(p.key, version)
	key := verdictKey{}
	key.position, key.version = p.position(version)
	if len(p.listed[version]) > 0 {
		key.listed = version
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if known := p.verdicts[key]; known != nil {
		return known
	}
	if len(p.verdicts) >= maxVerdicts {
		p.verdicts = map[verdictKey]*versionVerdict{}
	}
	out := p.judge(key)
	p.verdicts[key] = out
	return out
}

// judge returns the groups that affect a version, as OSV defines it: the version is listed or in a
// range. An invalid version is affected only if it is listed, and has no upgrade.
func (p *packageEntry) judge(v verdictKey) *versionVerdict {
	affected := make([]bool, len(p.groups))
	if v.listed != "" {
		for _, group := range p.listed[v.listed] {
			affected[group] = true
		}
	}
	out := &versionVerdict{}
	for group := range p.groups {
		if affected[group] = affected[group] || v.version && contains(p.extents[group].spans, v.position); affected[group] {
			out.groups = append(out.groups, group)
		}
	}
	out.fixes = make([]string, len(out.groups))
	if !v.version {
		return out
	}
	common := p.commonFix(v.position, out.groups, affected)
	for i, group := range out.groups {
		out.fixes[i] = cmp.Or(common, p.extents[group].fixAbove(v.position))
	}
	return out
}

// fixAbove returns the lowest fix above a position, or "".
func (e *extent) fixAbove(position int) string {
	for _, f := range e.fixes {
		if f.position > position {
			return f.version
		}
	}
	return ""
}

// commonFix returns the lowest version above a position that fixes all groups, or "". One of the
// groups must list it as fixed, and none may affect it. The arguments groups and affected contain
// the same groups, as a list and by index.
func (p *packageEntry) commonFix(position int, groups []int, affected []bool) string {
	var spans []span
	var candidates []fix
	seen := map[string]bool{}
	for _, group := range groups {
		e := &p.extents[group]
		spans = append(spans, e.spans...)
		for _, f := range e.fixes {
			if f.position > position && !seen[f.version] {
				seen[f.version] = true
				candidates = append(candidates, f)
			}
		}
	}
	spans = union(spans)
	slices.SortStableFunc(candidates, byPosition)
	for _, c := range candidates {
		lists := func(group int) bool { return affected[group] }
		if !contains(spans, c.position) && !slices.ContainsFunc(p.listed[c.version], lists) {
			return c.version
		}
	}
	return ""
}

// lowestFirst returns the dependencies with affected versions, the lowest version first. Invalid
// versions come before valid ones.
func (p *packageEntry) lowestFirst(dependencies []*model.MatchDependency) []*model.MatchDependency {
	dependencies = slices.DeleteFunc(dependencies, func(d *model.MatchDependency) bool {
		return len(p.verdictOn(d.Version).groups) == 0
	})
	if len(dependencies) < 2 {
		return dependencies
	}
	versions := make([]string, len(dependencies))
	for i, d := range dependencies {
		versions[i] = purl.Version(p.key, d.Version)
	}
	position := p.order.Scale(versions)
	slices.SortFunc(dependencies, func(a, b *model.MatchDependency) int {
		x, y := purl.Version(p.key, a.Version), purl.Version(p.key, b.Version)
		left, isLeft := position(x)
		right, isRight := position(y)
		sign := cmp.Compare(left, right) // 0 for invalid versions
		if !isLeft && !isRight {
			sign = p.order.Compare(x, y)
		}
		return cmp.Or(sign, strings.Compare(a.Version, b.Version))
	})
	return dependencies
}
