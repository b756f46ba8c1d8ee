package index

import (
	"cmp"
	"slices"
	"time"

	"github.com/RoaringBitmap/roaring/v2"

	"github.com/redoubt/redoubt/internal/model"
)

// Grouping is a property that findings are grouped by.
type Grouping uint8

// Groupings of findings.
const (
	ByRule Grouping = iota
	ByProject
	ByPackage // supply chain only; findings without a package are omitted
)

// Group is a set of findings with the same rule, project or package.
type Group struct {
	Name     string
	ID       int64 // of the project; 0 for other groupings
	Total    int
	Severity [model.SeverityCritical + 1]int // number of findings by severity
	Overdue  int
}

// groups counts rows by each grouping and sorts the groups, worst first.
func (s *state) groups(p *partition, b *roaring.Bitmap, by []Grouping, now time.Time) map[Grouping][]Group {
	fields, byName := make([]field, len(by)), make([]map[string]*Group, len(by))
	for i := range by {
		fields[i], byName[i] = by[i].kind().field, map[string]*Group{}
	}
	for severity := model.SeverityLow; len(by) > 0 && severity <= model.SeverityCritical; severity++ {
		for i, counts := range p.tally(roaring.And(b, p.readBitmap(bySeverity, uint32(severity))), fields...) {
			s.group(byName[i], by[i], severity, counts)
		}
	}
	s.groupOverdue(p, b, by, byName, now)
	out := map[Grouping][]Group{}
	for i, groups := range byName {
		list := make([]Group, 0, len(groups))
		for _, g := range groups {
			list = append(list, *g)
		}
		slices.SortFunc(list, worst)
		out[by[i]] = list
	}
	return out
}

// groupOverdue adds the number of overdue findings to groups.
func (s *state) groupOverdue(
	p *partition, b *roaring.Bitmap, by []Grouping, byName []map[string]*Group, now time.Time,
) {
	if len(by) == 0 || now.IsZero() {
		return
	}
	late := roaring.And(b, s.dueIn(p, model.DueWithin([]model.DueWindow{model.DueOverdue}, now)))
	for i := range by {
		for number, n := range p.tally(late, by[i].kind().field)[0] {
			if n == 0 {
				continue
			}
			if g := byName[i][by[i].kind().values(s, uint32(number))[0]]; g != nil { // nil without a severity
				g.Overdue += n
			}
		}
	}
}

// kind returns the facet that defines the groups.
func (by Grouping) kind() facetKind {
	switch by {
	case ByProject:
		return facetKinds[FacetProject]
	case ByPackage:
		return facetKinds[FacetPackage]
	case ByRule:
	}
	return facetKinds[FacetRule]
}

// group adds the counts of a severity to groups.
func (s *state) group(byName map[string]*Group, by Grouping, severity model.Severity, counts []int) {
	for number, n := range counts {
		if n == 0 {
			continue
		}
		name := by.kind().values(s, uint32(number))[0]
		if by == ByPackage && name == "" {
			continue
		}
		g := byName[name]
		if g == nil {
			g = &Group{Name: name}
			if by == ByProject {
				g.ID = s.projects.ids[number]
			}
			byName[name] = g
		}
		g.Severity[severity] += n
		g.Total += n
	}
}

// worst compares groups by their number of findings of the worst severity, then of the next ones,
// then by name.
func worst(a, b Group) int {
	for severity := model.SeverityCritical; severity >= model.SeverityLow; severity-- {
		if a.Severity[severity] != b.Severity[severity] {
			return cmp.Compare(b.Severity[severity], a.Severity[severity])
		}
	}
	return cmp.Compare(a.Name, b.Name)
}

// VulnerabilityCount contains the counts of a vulnerability.
type VulnerabilityCount struct {
	Findings int // distinct lineages
	Projects int
}

// Vulnerabilities counts matching findings by vulnerability. Keys are in lower case. Findings
// without a vulnerability are not counted.
func (v *View) Vulnerabilities(f model.FindingFilter) map[string]VulnerabilityCount {
	out := map[string]VulnerabilityCount{}
	v.read(f.IssueType, func(s *state, p *partition) {
		counts := make([]VulnerabilityCount, s.vulns.Count()+1)
		seen := map[uint64]bool{} // vulnerability and project
		known := roaring.New()    // lineages
		for ordinal := range roaring.Values(s.selected(p, &f)) {
			r := &p.rows[ordinal]
			if r.vuln == 0 {
				continue
			}
			if known.CheckedAdd(r.lineage) {
				counts[r.vuln].Findings++
			}
			if key := uint64(r.vuln)<<32 | uint64(r.project); !seen[key] {
				seen[key] = true
				counts[r.vuln].Projects++
			}
		}
		for n, c := range counts {
			if c.Findings > 0 {
				out[s.vulns.Text(uint32(n))] = c
			}
		}
	})
	return out
}
