package advisory

import (
	"context"
	"maps"
	"slices"
	"strings"
	"sync"

	"github.com/redoubt/redoubt/internal/model"
)

// maxEntries limits the cached packages, including those without advisories. Above the limit the
// cache is cleared.
const maxEntries = 200_000

// Library caches the stored advisories of packages, so that matching a dependency takes one map
// lookup. The cache is cleared when the advisories change. It is safe for concurrent use.
type Library struct {
	orders Orders

	mu      sync.Mutex
	version int64
	entries map[string]*packageEntry // nil for packages without advisories
}

// NewLibrary returns an empty library.
func NewLibrary(orders Orders) *Library {
	return &Library{orders: orders, entries: map[string]*packageEntry{}}
}

// For returns the function for ingest.Upload.Advised in a transaction. It is nil for a nil library.
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

// view contains the packages with advisories that a match reads, by key.
type view map[string]*packageEntry

// view returns the entries of packages and reads missing ones.
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

// read returns entries for the packages that have advisories.
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

// dropText removes the texts, which the rule already contains.
func (v *Vulnerability) dropText() {
	summary := v.Summary()
	for i := range v.Records {
		v.Records[i].Text = Text{}
	}
	v.Records[0].Summary = summary
}
