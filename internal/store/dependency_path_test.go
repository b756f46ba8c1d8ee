package store_test

import (
	"context"
	"testing"
	"time"

	"github.com/redoubt/redoubt/internal/model"
	"github.com/redoubt/redoubt/internal/store"
	"github.com/redoubt/redoubt/internal/testutil/storetest"
)

// TestDependencyPaths checks that paths are stored, follow changes of a lockfile, and never lead
// into another lockfile.
func TestDependencyPaths(t *testing.T) {
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		d := newTenant(t, s)
		p := d.project("acme/shop")
		at := func(name, version string) model.LockedPackage {
			return model.LockedPackage{Ecosystem: "npm", Name: name, Version: version}
		}
		through := func(name, version string, via model.LockedPackage, requirers int) model.Dependency {
			out := dep("npm", name, version)
			out.Transitivity, out.Via, out.Requirers = model.Transitive, via, requirers
			return out
		}
		root := dep("npm", "express", "4.0.0")
		d.state(statement(p, "a/package-lock.json", root, through("qs", "6.0.0", at("express", "4.0.0"), 3), through("deep", "1.0.0", at("qs", "6.0.0"), 1)))
		loop := statement(p, "b/package-lock.json", through("x", "1.0.0", at("y", "1.0.0"), 1), through("y", "1.0.0", at("x", "1.0.0"), 1), through("qs", "6.0.0", at("gone", "1.0.0"), 2))
		d.state(loop)
		paths := func(lockfile string) map[string]model.DependencyPath {
			t.Helper()
			out := map[string]model.DependencyPath{}
			list := d.dependencies(model.DependencyFilter{Lockfile: lockfile})
			d.view(func(ctx context.Context, tx *store.Tx) error {
				ids := []int64{99_999}
				for _, one := range list {
					ids = append(ids, one.ID)
				}
				found, err := tx.DependencyPaths(ctx, ids)
				for _, one := range list {
					out[one.Name] = found[one.ID]
				}
				if len(found) != len(list) {
					t.Errorf("%d paths of %d rows", len(found), len(list))
				}
				return err
			})
			return out
		}
		steps := func(list ...model.LockedPackage) []model.LockedPackage { return list }
		express, qs := at("express", "4.0.0"), at("qs", "6.0.0")
		same(t, "paths", paths("a/package-lock.json"), map[string]model.DependencyPath{
			"express": {Steps: steps(express), Direct: true}, "qs": {Steps: steps(express, qs), Direct: true, Others: 2},
			"deep": {Steps: steps(express, qs, at("deep", "1.0.0")), Direct: true},
		})
		other := paths("b/package-lock.json")
		same(t, "what names an unknown one", other["qs"], model.DependencyPath{Steps: steps(qs), Others: 2})
		if n := len(other["x"].Steps); n == 0 || n > 100 {
			t.Errorf("a circle has %d steps", n)
		}
		changed := statement(p, "a/package-lock.json", root, dep("npm", "deep", "1.0.0"), through("qs", "6.0.0", at("deep", "1.0.0"), 1))
		changed.At = storetest.Epoch.Add(time.Hour)
		d.state(changed)
		same(t, "after a change", paths("a/package-lock.json")["qs"], model.DependencyPath{Steps: steps(at("deep", "1.0.0"), qs), Direct: true})

		found := d.findings(p, 2, func(i int, w *model.FindingWrite) {
			w.IssueType = model.SCA
			w.Subject = &model.Subject{Lockfile: []string{"a/package-lock.json", "c"}[i], Ecosystem: "npm", Package: "qs", Version: "6.0.0", Vulnerability: "CVE-1"}
		})
		d.view(func(ctx context.Context, tx *store.Tx) error {
			id, err := tx.FindingDependency(ctx, found[0].ID)
			if want := byVersion(d.dependencies(model.DependencyFilter{Lockfile: "a/package-lock.json"}))["qs@6.0.0"]; id != want {
				t.Errorf("the finding is about row %d, want %d", id, want)
			}
			_, missing := tx.FindingDependency(ctx, found[1].ID)
			fails(t, "a lockfile that is not in force", missing, model.ErrNotFound)
			return err
		})
	})
}
