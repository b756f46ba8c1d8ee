package advisory

import (
	"context"
	"maps"
	"slices"
	"strings"
	"sync"

	"github.com/redoubt/redoubt/internal/model"
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
func (l *Library) For(s Store) func(
	ctx context.Context, projectID int64, ref string, stated []model.Holding,
) (model.Advised, error) {
	if l == nil {
		return nil
	}
	return func(ctx context.Context, projectID int64, ref string, stated []model.Holding) (model.Advised, error) {
		if stated != nil {
			return first(l.match(ctx, s, []model.ProjectRef{{ProjectID: projectID, Ref: ref}}, nil, [][]model.Holding{stated}))
		}
		return l.Match(ctx, s, projectID, ref, nil)
	}
}

// view is what a match reads: the packages with advisories, by key.
type view map[string]*packageEntry

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
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		var vulnerabilities []*Vulnerability
		for _, g := range stored[key] {
			if known[g.ID] == nil {
				if known[g.ID], err = NewVulnerability(g); err != nil {
					return nil, err
				}
				known[g.ID].dropText()
			}
			vulnerabilities = append(vulnerabilities, known[g.ID])
		}
		ecosystem, _, _ := strings.Cut(key, "/")
		if entry := newPackageEntry(key, l.orders(ecosystem), vulnerabilities); len(entry.groups)+len(entry.withdrawn) > 0 {
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
