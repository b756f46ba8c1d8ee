package projects

import (
	"context"
	"strings"
	"sync"

	"github.com/redoubt/redoubt/internal/advisory"
	"github.com/redoubt/redoubt/internal/model"
	"github.com/redoubt/redoubt/internal/store"
	"github.com/redoubt/redoubt/internal/web/ui"
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
func (k *known) advisories(req *ui.Request) (*advisory.Catalogue, error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	// behind the lock: who waited needs no older one
	version, scores, err := req.Store.AdvisoryVersions(req.HTTP.Context())
	if err != nil {
		return nil, err
	}
	if now := [2]int64{version, scores}; k.catalogue == nil || k.versions != now {
		// It serves all who wait, so it outlives the one who happened to start it.
		c, err := advisory.NewCatalogue(context.WithoutCancel(req.HTTP.Context()), req.Store)
		if err != nil {
			return nil, err
		}
		k.versions, k.catalogue = now, c
	}
	return k.catalogue, nil
}

// presentAdvisories counts what is open of each vulnerability, by its group.
func (k *known) presentAdvisories(req *ui.Request) (map[int64]advisory.Presence, error) {
	view, err := req.Findings()
	if err != nil {
		return nil, err
	}
	advisories, _, err := req.Store.AdvisoryVersions(req.HTTP.Context())
	if err != nil {
		return nil, err
	}
	id := req.Viewer.Deployment.ID
	k.mu.Lock()
	last := k.present[id]
	k.mu.Unlock()
	if last.here != nil && last.version == view.Version() && last.advisories == advisories {
		return last.here, nil
	}
	f := ui.AllFindings(ui.ProductOf(model.SCA))
	f.Statuses = []model.Status{model.StatusOpen}
	counts := view.Vulnerabilities(f)
	f.Dedup = false
	anywhere := view.Vulnerabilities(f)
	names := make([]string, 0, len(anywhere))
	for name := range anywhere {
		names = append(names, strings.ToUpper(name))
	}
	now := present{version: view.Version(), advisories: advisories, here: map[int64]advisory.Presence{}}
	err = req.View(func(ctx context.Context, tx *store.Tx) error {
		groups, err := tx.AdvisoryGroupsNamed(ctx, names)
		for name, group := range groups {
			name = strings.ToLower(name)
			c, before := counts[name], now.here[group]
			now.here[group] = advisory.Presence{
				Findings: before.Findings + c.Findings, Projects: before.Projects + c.Projects,
				Elsewhere: before.Elsewhere + max(anywhere[name].Findings-c.Findings, 0),
			}
		}
		return err
	})
	if err != nil {
		return nil, err
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.present == nil {
		k.present = map[int64]present{}
	}
	k.present[id] = now
	return now.here, nil
}
