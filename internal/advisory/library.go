package advisory

import (
	"context"
	"maps"
	"slices"
	"strings"
	"sync"

	"github.com/redoubt/redoubt"
)

// maxEntries bounds the packages that a library remembers, those without
// advisories too. Then it forgets them all.
const maxEntries = 200_000

// Library remembers what the stored advisories say of packages, so that many
// lockfiles are matched with one map lookup a dependency. It forgets all when
// the advisories change. It is safe for concurrent use.
type Library struct {
	orders Orders

	mu      sync.Mutex
	version int64
	entries map[string]*packageEntry // nil where there is no advisory
}

// NewLibrary makes an empty one.
func NewLibrary(orders Orders) *Library {
	return &Library{orders: orders, entries: map[string]*packageEntry{}}
}

// For answers for the uploads of one transaction: see ingest.Upload. Without a
// library there is nothing to follow.
func (l *Library) For(s Store) func(ctx context.Context, projectID int64, ref string) (redoubt.Advised, error) {
	if l == nil {
		return nil
	}
	return func(ctx context.Context, projectID int64, ref string) (redoubt.Advised, error) {
		return l.Match(ctx, s, projectID, ref, nil)
	}
}

// view is what a match reads: the packages with advisories, by key.
type view map[string]*packageEntry

// packageEntry is what is known of a package.
type packageEntry struct {
	key      string
	order    Order
	groups   []*Vulnerability // by id
	affected [][]*Affected    // of each group, what its live records say of the package
	mu       sync.Mutex
	verdicts map[string]*versionVerdict // by version
}

// versionVerdict is what holds of one version of a package, by group.
type versionVerdict struct {
	affected []bool
	fixes    []string
}

// view returns what is known of the packages, and reads what is not yet.
func (l *Library) view(ctx context.Context, s Store, packages []string) (view, error) {
	version, err := s.AdvisoryVersion(ctx)
	if err != nil {
		return nil, err
	}
	out := view{}
	var missing []string
	l.mu.Lock()
	if l.version != version || len(l.entries)+len(packages) > maxEntries {
		l.version, l.entries = version, map[string]*packageEntry{}
	}
	for _, key := range packages {
		entry, known := l.entries[key]
		switch {
		case !known:
			missing = append(missing, key)
		case entry != nil:
			out[key] = entry
		}
	}
	l.mu.Unlock()
	if len(missing) == 0 {
		return out, nil
	}
	read, err := l.read(ctx, s, missing)
	if err != nil {
		return nil, err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, key := range missing {
		if read[key] != nil {
			out[key] = read[key]
		}
		if l.version == version {
			l.entries[key] = read[key]
		}
	}
	return out, nil
}

// read makes entries of the packages that records are about.
func (l *Library) read(ctx context.Context, s Store, packages []string) (map[string]*packageEntry, error) {
	stored, err := s.AdvisoryGroups(ctx, packages)
	if err != nil {
		return nil, err
	}
	known := map[int64]*Vulnerability{}
	out := map[string]*packageEntry{}
	for _, key := range slices.Sorted(maps.Keys(stored)) {
		ecosystem, _, _ := strings.Cut(key, "/")
		entry := &packageEntry{key: key, order: l.orders(ecosystem), verdicts: map[string]*versionVerdict{}}
		for _, g := range stored[key] {
			if known[g.ID] == nil {
				if known[g.ID], err = NewVulnerability(g); err != nil {
					return nil, err
				}
				known[g.ID].dropText()
			}
			entry.add(known[g.ID])
		}
		if len(entry.groups) > 0 {
			out[key] = entry
		}
	}
	return out, nil
}

// dropText lets go of the texts, which the rule has.
func (v *Vulnerability) dropText() {
	summary := v.Summary()
	for i := range v.Records {
		v.Records[i].Text = Text{}
	}
	v.Records[0].Summary = summary
}

func (p *packageEntry) add(v *Vulnerability) {
	var affected []*Affected
	for i := range v.Records {
		r := &v.Records[i]
		for j := range r.Affected {
			if !r.Withdrawn && r.Affected[j].Package == p.key {
				affected = append(affected, &r.Affected[j])
			}
		}
	}
	if len(affected) > 0 {
		p.groups, p.affected = append(p.groups, v), append(p.affected, affected)
	}
}

// maxVerdicts bounds the versions of a package that are remembered.
const maxVerdicts = 10_000

// verdictOn judges a version once.
func (p *packageEntry) verdictOn(version string) *versionVerdict {
	p.mu.Lock()
	defer p.mu.Unlock()
	if known := p.verdicts[version]; known != nil {
		return known
	}
	out := &versionVerdict{affected: make([]bool, len(p.groups)), fixes: make([]string, len(p.groups))}
	normal := redoubt.PackageVersion(p.key, version)
	var all []*Affected
	for i, affected := range p.affected {
		out.affected[i] = slices.ContainsFunc(affected, func(a *Affected) bool { return a.affects(p.order, normal) })
		if out.affected[i] {
			all = append(all, affected...)
		}
	}
	for i, affected := range p.affected {
		if out.affected[i] {
			out.fixes[i] = lowestFix(p.order, normal, affected, all)
		}
	}
	if len(p.verdicts) >= maxVerdicts {
		p.verdicts = map[string]*versionVerdict{}
	}
	p.verdicts[version] = out
	return out
}
