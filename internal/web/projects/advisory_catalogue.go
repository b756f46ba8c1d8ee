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

// known caches advisory data between requests until the advisories or the findings change.
type known struct {
	mu        sync.Mutex
	versions  [2]int64 // of the advisories and of the scores
	catalogue *advisory.Catalogue
	present   map[int64]present // by deployment
}

// present contains the vulnerabilities that a deployment has, at one version of its findings and of
// the advisories.
type present struct {
	version, advisories int64
	byGroup             map[int64]advisory.Presence
}

// advisories returns the current catalog of all vulnerabilities. Concurrent callers wait for a
// single read.
func (k *known) advisories(req *ui.Request) (*advisory.Catalogue, error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	// inside the lock, so that a caller that waited uses the new catalog
	version, scores, err := req.Store.AdvisoryVersions(req.HTTP.Context())
	if err != nil {
		return nil, err
	}
	if now := [2]int64{version, scores}; k.catalogue == nil || k.versions != now {
		// The catalog serves all waiting callers, so it must not be canceled with one request.
		c, err := advisory.NewCatalogue(context.WithoutCancel(req.HTTP.Context()), req.Store)
		if err != nil {
			return nil, err
		}
		k.versions, k.catalogue = now, c
	}
	return k.catalogue, nil
}

// presentAdvisories counts the open findings of each vulnerability, by its group.
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
	if last.byGroup != nil && last.version == view.Version() && last.advisories == advisories {
		return last.byGroup, nil
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
	now := present{version: view.Version(), advisories: advisories, byGroup: map[int64]advisory.Presence{}}
	err = req.View(func(ctx context.Context, tx *store.Tx) error {
		groups, err := tx.AdvisoryGroupsNamed(ctx, names)
		for name, group := range groups {
			name = strings.ToLower(name)
			c, before := counts[name], now.byGroup[group]
			now.byGroup[group] = advisory.Presence{
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
	return now.byGroup, nil
}
