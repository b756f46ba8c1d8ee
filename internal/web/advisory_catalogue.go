package web

import (
	"context"
	"strings"
	"sync"

	"github.com/redoubt/redoubt"
	"github.com/redoubt/redoubt/internal/advisory"
	"github.com/redoubt/redoubt/internal/store"
)

// known is what the pages keep of the advisories between requests, until either
// they or the findings change.
type known struct {
	mu        sync.Mutex
	versions  [2]int64 // of the advisories and of the scores
	catalogue *advisory.Catalogue
	present   map[int64]present // by deployment
}

// present is what of all vulnerabilities a deployment has, at a version of its
// findings and of the advisories.
type present struct {
	version, advisories int64
	here                map[int64]advisory.Presence
}

// advisories is the catalogue of all vulnerabilities, as new as the store. One
// caller reads it, the others wait.
func (v *visit) advisories() (*advisory.Catalogue, error) {
	v.known.mu.Lock()
	defer v.known.mu.Unlock()
	version, scores, err := v.Store.AdvisoryVersions(v.r.Context()) // behind the lock: who waited needs no older one
	if err != nil {
		return nil, err
	}
	if now := [2]int64{version, scores}; v.known.catalogue == nil || v.known.versions != now {
		// It serves all who wait, so it outlives the one who happened to start it.
		c, err := advisory.NewCatalogue(context.WithoutCancel(v.r.Context()), v.Store)
		if err != nil {
			return nil, err
		}
		v.known.versions, v.known.catalogue = now, c
	}
	return v.known.catalogue, nil
}

// present counts what is open of each vulnerability, by its group.
func (v *visit) present() (map[int64]advisory.Presence, error) {
	view, err := v.findings()
	if err != nil {
		return nil, err
	}
	advisories, _, err := v.Store.AdvisoryVersions(v.r.Context())
	if err != nil {
		return nil, err
	}
	id := v.viewer.Deployment.ID
	v.known.mu.Lock()
	last := v.known.present[id]
	v.known.mu.Unlock()
	if last.here != nil && last.version == view.Version() && last.advisories == advisories {
		return last.here, nil
	}
	f := every(productOf(redoubt.SCA))
	f.Statuses = []redoubt.Status{redoubt.StatusOpen}
	counts := view.Vulnerabilities(f)
	names := make([]string, 0, len(counts))
	for name := range counts {
		names = append(names, strings.ToUpper(name))
	}
	now := present{version: view.Version(), advisories: advisories, here: map[int64]advisory.Presence{}}
	err = v.view(func(ctx context.Context, tx *store.Tx) error {
		groups, err := tx.AdvisoryGroupsNamed(ctx, names)
		for name, group := range groups {
			c, before := counts[strings.ToLower(name)], now.here[group]
			now.here[group] = advisory.Presence{Findings: before.Findings + c.Findings, Projects: before.Projects + c.Projects}
		}
		return err
	})
	if err != nil {
		return nil, err
	}
	v.known.mu.Lock()
	defer v.known.mu.Unlock()
	if v.known.present == nil {
		v.known.present = map[int64]present{}
	}
	v.known.present[id] = now
	return now.here, nil
}
