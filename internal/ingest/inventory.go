package ingest

import (
	"context"
	"slices"

	"github.com/redoubt/redoubt/internal/model"
)

// statements merges the inventories of a report into one inventory for each lockfile, with unique
// package versions. It refuses inventories that cannot be stored.
func statements(report *model.Report) ([]model.InventoryStatement, model.Refusals) {
	var out []model.InventoryStatement
	var refused model.Refusals
	index := map[string]int{}
	for _, inventory := range report.Inventories {
		if inventory.Lockfile == "" || !model.IsStorable(inventory.Lockfile) {
			refused.Refuse(model.Refusal{Item: "an inventory", Reason: "its lockfile has no name that can be stored"})
			continue
		}
		i, known := index[inventory.Lockfile]
		if !known {
			i = len(out)
			index[inventory.Lockfile] = i
			out = append(out, model.InventoryStatement{Inventory: model.Inventory{Lockfile: inventory.Lockfile}})
		}
		refused.RefuseAll(out[i].Inventory.Add(inventory))
	}
	for i := range out {
		out[i].Inventory.MakeDistinct()
		out[i].Digest = inventoryDigest(out[i].Inventory)
	}
	return out, refused
}

func inventoryDigest(inventory model.Inventory) model.Digest {
	var d digester
	d.start("inventory 1").str(inventory.Lockfile)
	for _, dep := range inventory.Dependencies {
		d.str(dep.Ecosystem, dep.Name, dep.Version, dep.PURL).num(int64(dep.Transitivity), int64(dep.Line))
		d.num(int64(len(dep.Licenses))).str(dep.Licenses...).num(int64(len(dep.Hashes)))
		for _, h := range dep.Hashes {
			d.str(h.Algorithm, h.Hex)
		}
		if dep.Requirers > 0 {
			d.str("via", dep.Via.Ecosystem, dep.Via.Name, dep.Via.Version).num(int64(dep.Requirers))
		}
		if dep.Supplier != "" {
			d.str("supplier", dep.Supplier)
		}
	}
	if len(inventory.Edges) > 0 {
		d.str("edges")
		for _, e := range inventory.Edges {
			d.num(int64(e[0]), int64(e[1]))
		}
	}
	return d.sum()
}

// putInventories stores the lockfiles of the upload. A full scan also drops the source's lockfiles
// that it no longer finds (docs/reference/lockfiles.md).
//
// A searched, skipped or unresolved lockfile that is not in the report could not be read, and its
// inventory is unchanged. Reports with nil inventories drop nothing. Neither do reports without
// searched paths, unless they are declared full. With Upload.Whole, lockfiles of other sources are
// dropped too.
func (a *application) putInventories(ctx context.Context, scope Scope, list []model.InventoryStatement) error {
	scan := a.scan
	retained := make([]string, 0, len(list))
	for _, statement := range list {
		statement.ProjectID, statement.Ref, statement.Source = scan.ProjectID, scan.Ref, scan.Source
		statement.ScanID, statement.Commit, statement.At = scan.ID, scan.Commit, scan.StartedAt
		added, removed, err := a.s.PutInventory(ctx, statement)
		if err != nil {
			return err
		}
		a.sum.Lockfiles++
		a.sum.DependenciesAdded += added
		a.sum.DependenciesRemoved += removed
		retained = append(retained, statement.Inventory.Lockfile)
	}
	if !scope.Full || scope.Failed || scope.searched == nil || !scan.Products.Has(model.SCA) ||
		a.upload.Report.Inventories == nil {
		return nil
	}
	for _, paths := range []map[string]bool{scope.searched, scope.skipped, scope.unresolved} {
		for path := range paths {
			retained = append(retained, path)
		}
	}
	source := scan.Source
	if a.upload.Whole {
		source, retained = "", append(retained, a.upload.named...)
	}
	slices.Sort(retained)
	dropped, dependencies, err := a.s.DropInventories(ctx, scan.ProjectID, scan.Ref, source, scan.StartedAt,
		slices.Compact(retained))
	a.sum.LockfilesDropped = dropped
	a.sum.DependenciesRemoved += dependencies
	return err
}
