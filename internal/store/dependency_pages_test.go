package store_test

import (
	"fmt"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/redoubt/redoubt/internal/model"
	"github.com/redoubt/redoubt/internal/store"
	"github.com/redoubt/redoubt/internal/testutil/storetest"
)

// upgrade draws the next content of a lockfile. Packages stay, change, disappear and appear, so ids
// of several lockfiles interleave.
func upgrade(rt *rapid.T, versions map[string]int) {
	for _, name := range []string{"a", "b", "c", "d", "e", "f", "g"} {
		switch rapid.SampledFrom([]string{"stay", "stay", "upgrade", "remove", "add"}).Draw(rt, name) {
		case "upgrade", "add":
			versions[name]++
		case "remove":
			delete(versions, name)
		}
	}
}

// TestDependencyPagesContainEachRowOnce checks that pages contain each row once, for any page size and
// sequence of lockfile changes.
func TestDependencyPagesContainEachRowOnce(t *testing.T) {
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		storetest.Checks(t, 30)
		tenantID, history := newTenant(t, s).id, 0
		rapid.Check(t, func(rt *rapid.T) {
			history++
			d := tenant{rt, s, tenantID}
			projects := []model.Project{d.project(fmt.Sprintf("a/%d", history)), d.project(fmt.Sprintf("b/%d", history))}
			versions := map[string]map[string]int{}
			for step := range rapid.IntRange(2, 9).Draw(rt, "steps") {
				p := rapid.SampledFrom(projects).Draw(rt, "project")
				lockfile := rapid.SampledFrom([]string{"requirements.txt", "w/requirements.txt", "x/requirements.txt"}).Draw(rt, "lockfile")
				key := p.Name + " " + lockfile
				if versions[key] == nil {
					versions[key] = map[string]int{}
				}
				upgrade(rt, versions[key])
				inventory := statement(p, lockfile)
				inventory.At = inventory.At.Add(time.Duration(step) * time.Second)
				for name, v := range versions[key] {
					inventory.Inventory.Dependencies = append(inventory.Inventory.Dependencies, dep("pypi", name, fmt.Sprint(v)))
				}
				d.state(inventory)
			}
			// the projects of this round
			f := model.DependencyFilter{ProjectIDs: []int64{projects[0].ID, projects[1].ID}}
			want := 0
			for _, packages := range versions {
				want += len(packages)
			}
			for size := 1; size <= want+1; size++ {
				if got := len(d.walk(f, size)); got != want {
					rt.Errorf("pages of %d hold %d of %d rows", size, got, want)
				}
			}
		})
	})
}
