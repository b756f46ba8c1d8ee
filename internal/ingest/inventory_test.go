package ingest

import (
	"maps"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/redoubt/redoubt/internal/model"
)

func inventories(paths ...string) []model.Inventory {
	out := []model.Inventory{}
	for _, p := range paths {
		out = append(out, model.Inventory{Lockfile: p, Dependencies: []model.Dependency{{Ecosystem: "npm", Name: "p of " + p, Version: "1"}}})
	}
	return out
}

// stating returns a full scan with supply-chain rules that searched the lockfiles it states.
func stating(paths ...string) Upload {
	u := full()
	u.DeclaredFull = false
	u.Report.Products = u.Report.Products.With(model.SCA)
	u.Report.Inventories, u.Report.Searched = inventories(paths...), paths
	return u
}

func TestDroppedLockfiles(t *testing.T) {
	for name, test := range map[string]struct {
		change func(*Upload) // applied to a scan that states a.lock only, after one of a.lock and b.lock
		drops  bool
	}{
		"a full scan":                {func(*Upload) {}, true},
		"a full scan of nothing":     {func(u *Upload) { u.Report.Inventories, u.Report.Searched = []model.Inventory{}, []string{"a.lock"} }, true},
		"searched, and not readable": {func(u *Upload) { u.Report.Searched = []string{"a.lock", "b.lock"} }, false},
		"skipped":                    {func(u *Upload) { u.Report.Skipped = []string{"b.lock"} }, false},
		"a diff scan":                {func(u *Upload) { u.Full = false }, false},
		"a failed scan":              {func(u *Upload) { u.Report.Failed = true }, false},
		"no supply-chain rules":      {func(u *Upload) { u.Report.Products, u.Report.Inventories = model.Products(0).With(model.SAST), nil }, false},
		"no inventory looked for":    {func(u *Upload) { u.Report.Inventories = nil }, false},
		"paths not told":             {func(u *Upload) { u.Report.Searched = nil }, false},
		"declared full":              {func(u *Upload) { u.Report.Searched, u.DeclaredFull = nil, true }, true},
		"another source":             {func(u *Upload) { u.Report.Tool = "syft" }, false},
		"another ref":                {func(u *Upload) { u.Ref = "dev" }, false},
	} {
		t.Run(name, func(t *testing.T) {
			m := newMemory()
			if sum := apply(t, m, stating("a.lock", "b.lock")); sum.Lockfiles != 2 || sum.DependenciesAdded != 2 {
				t.Fatalf("first: %+v", sum)
			}
			sum := apply(t, m, upload(stating("a.lock"), test.change))
			_, exists := m.inventories["refs/heads/main b.lock"]
			if exists == test.drops || test.drops != (len(sum.LockfilesDropped) == 1) {
				t.Errorf("b.lock is there: %v; dropped %v", exists, sum.LockfilesDropped)
			}
		})
	}
}

// TestOlderFullScanPreservesNewerInventory applies a diff scan before a full scan that started earlier.
func TestOlderFullScanPreservesNewerInventory(t *testing.T) {
	m := newMemory()
	started := m.clock.Add(-time.Hour)
	at := func(u Upload, minutes int) Upload {
		u.At = started.Add(time.Duration(minutes) * time.Minute)
		return u
	}
	diff := at(stating("new.lock"), 20)
	diff.Full = false
	apply(t, m, diff)
	if sum := apply(t, m, at(stating("a.lock"), 10)); sum.Outcome != model.ScanApplied || len(sum.LockfilesDropped) > 0 {
		t.Errorf("the older: %+v", sum)
	}
	if sum := apply(t, m, at(stating("a.lock"), 30)); len(sum.LockfilesDropped) != 1 {
		t.Errorf("a newer one: %+v", sum)
	}
}

func TestInventoryStatement(t *testing.T) {
	u := stating("a.lock")
	u.Commit = "c1"
	u.Report.Inventories = append(u.Report.Inventories, model.Inventory{Lockfile: "a.lock", Dependencies: []model.Dependency{
		{Ecosystem: "npm", Name: "b", Version: "1", Transitivity: model.Transitive, Line: 3},
		{Ecosystem: "npm", Name: "b", Version: "1", Transitivity: model.Direct, Line: 9},
		{Ecosystem: "npm", Name: "b", Version: "2"},
		{Ecosystem: "npm", Name: "p of a.lock", Version: "1"},
	}})
	m := newMemory()
	sum := apply(t, m, u)
	want := model.InventoryStatement{
		ProjectID: 1, Ref: "refs/heads/main", Source: "semgrep", ScanID: sum.ScanID, Commit: "c1", At: m.clock,
		Inventory: model.Inventory{Lockfile: "a.lock", Dependencies: []model.Dependency{
			{Ecosystem: "npm", Name: "b", Version: "1", Transitivity: model.Direct, Line: 9},
			{Ecosystem: "npm", Name: "b", Version: "2", Transitivity: model.TransitivityUnknown},
			{Ecosystem: "npm", Name: "p of a.lock", Version: "1", Transitivity: model.TransitivityUnknown},
		}},
	}
	got := m.inventories["refs/heads/main a.lock"]
	want.Digest = got.Digest
	if diff := cmp.Diff([]model.InventoryStatement{want}, slices.Collect(maps.Values(m.inventories))); diff != "" {
		t.Errorf("statements (-want +got):\n%s", diff)
	}
	if n := len(u.Report.Inventories[1].Dependencies); n != 4 || u.Report.Inventories[1].Dependencies[0].Transitivity != model.Transitive {
		t.Error("the report was written to")
	}
}
