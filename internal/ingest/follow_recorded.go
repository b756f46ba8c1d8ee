package ingest

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/redoubt/redoubt/internal/model"
	"github.com/redoubt/redoubt/internal/purl"
)

// adviseRecorded evaluates the advisories for the lockfiles of an upload that is recorded only. The
// lockfiles in force on the ref belong to another commit. The summary contains the matches for the
// gate, and nothing is stored. A match is omitted if the upload reports it, or if a live finding of
// another source covers it.
func (a *application) adviseRecorded(
	ctx context.Context, sightings []Sighting, inventories []model.InventoryStatement,
) error {
	if a.upload.Advised == nil || len(inventories) == 0 {
		return nil
	}
	stated := make([]model.Holding, len(inventories))
	for i := range inventories {
		stated[i] = model.Holding{
			Lockfile: inventories[i].Inventory.Lockfile, ScanID: a.scan.ID, Commit: a.scan.Commit,
			Dependencies: inventories[i].Inventory.MatchDependencies(),
		}
	}
	advised, err := a.upload.Advised(ctx, a.project.ID, a.scan.Ref, stated)
	if err != nil {
		return fmt.Errorf("query the advisories for a recorded scan: %w", err)
	}
	reported := a.namesReported(sightings)
	o := observer{tool: model.SourceAdvisories}
	for i := range advised.Matches {
		m := &advised.Matches[i]
		at := affectedPackage{lockfile: m.Dependency.Lockfile, key: m.Package}
		if slices.ContainsFunc(m.IDs, func(name string) bool { return reported[at][name] }) {
			continue
		}
		if i < len(advised.Twins) && slices.ContainsFunc(
			advised.Twins[i], func(t model.Subject) bool { return live(t.State) && t.Source != a.scan.Source },
		) {
			continue
		}
		a.sum.Advised = append(a.sum.Advised, o.match(m))
	}
	return nil
}

// affectedPackage is a package in a lockfile. Its key is equal for all spellings of the package.
type affectedPackage struct{ lockfile, key string }

// namesReported returns the names of reported vulnerabilities, in upper case, by package.
func (a *application) namesReported(sightings []Sighting) map[affectedPackage]map[string]bool {
	out := map[affectedPackage]map[string]bool{}
	for i := range sightings {
		subject := sightings[i].Result.Subject()
		if subject == nil {
			continue
		}
		at := affectedPackage{lockfile: subject.Lockfile, key: purl.Key(subject.Ecosystem, subject.Package)}
		if out[at] == nil {
			out[at] = map[string]bool{}
		}
		out[at][strings.ToUpper(cmp.Or(subject.Vulnerability, sightings[i].Finding.RuleName))] = true
	}
	return out
}
