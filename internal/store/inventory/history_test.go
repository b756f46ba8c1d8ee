package inventory

import (
	"testing"

	"github.com/redoubt/redoubt/internal/model"
	"github.com/redoubt/redoubt/internal/store/sqldb"
)

// TestHistories checks how the history of a deployment is derived from the versions of
// transactions.
func TestHistories(t *testing.T) {
	at := func(commits, chance int64) int64 { return model.FirstVersion(commits) | chance }
	first, lost := at(3, 7), at(4, 7)
	var h sqldb.Histories
	is := func(when string, got, want int64) {
		t.Helper()
		if got != want {
			t.Errorf("%s: history %d, want %d", when, got, want)
		}
	}
	known := func(version int64, want bool) {
		t.Helper()
		if _, _, is := h.At(1, version); is != want {
			t.Errorf("version %d of %d commits is known: %v", version, model.Commits(version), is)
		}
	}
	known(first, false)
	is("the first", h.Begin(1, 0, first), 1)
	is("another deployment", h.Begin(2, 0, first), 2)
	known(first, true)
	is("one that began it too late", h.Begin(1, 0, first), 0)
	is("a later version", h.Add(1, 1, first, lost), 1)
	known(first, true)
	known(lost, true)
	is("two that both follow the first, of which one is noted", h.Add(1, 1, first, at(5, 9)), 0)
	is("one twice", h.Add(1, 1, first, lost), 1)

	older := at(2, 1)
	for range sqldb.MaxStrays - 1 {
		is("one that may have begun before", h.Begin(1, 1, older), 0)
	}
	known(lost, true) // shows that the history is not lost
	for range sqldb.MaxStrays - 1 {
		is("others", h.Begin(1, 1, older), 0)
	}
	is("too many of them", h.Begin(1, 1, older), 3)
	known(lost, false)
	is("after an older request", h.Add(1, 1, lost, at(9, 1)), 0)
	is("the same", h.Begin(1, 1, at(9, 1)), 0)
	is("a version beside it", h.Begin(1, 3, at(2, 2)), 4)
	last := at(2, 2)
	for i := range int64(sqldb.MaxKnownVersions) {
		is("the next", h.Add(1, 4, last, at(3+i, 0)), 4)
		last = at(3+i, 0)
	}
	known(at(2, 2), false)
	known(at(3, 0), true)
	known(last, true)
}

// TestNameCacheByHistory checks the cache of names for several histories and its limit.
func TestNameCacheByHistory(t *testing.T) {
	var c packageVersionCache
	named := func(from, to int64, name string) map[int64]PackageVersion {
		out := map[int64]PackageVersion{}
		for id := from; id < to; id++ {
			out[id] = PackageVersion{Name: name}
		}
		return out
	}
	has := func(when string, deployment, history, id int64, want string) {
		t.Helper()
		found, others := c.get(deployment, history, []int64{id})
		if found[id].Name != want || len(found)+len(others) != 1 {
			t.Errorf("%s: %v and %v, want %q", when, found, others, want)
		}
	}
	c.put(1, 0, named(1, 2, "of unknown time"))
	has("without a history", 1, 0, 1, "")
	c.put(1, 1, named(1, 3, "a"))
	c.put(2, 2, named(5, 6, "b"))
	has("its own", 1, 1, 1, "a")
	has("another history", 1, 3, 1, "")
	has("another deployment", 2, 2, 1, "")
	c.put(1, 3, named(2, 3, "c"))
	c.put(1, 1, named(4, 5, "a"))
	has("replaced", 1, 3, 2, "c")
	has("of the history before", 1, 3, 1, "")
	has("what came late", 1, 1, 4, "")
	has("untouched", 2, 2, 5, "b")
	c.put(1, 3, named(2, 4, "c"))
	if c.size != 3 {
		t.Errorf("%d names, want 3", c.size)
	}
	c.put(2, 2, named(10, 10+maxCachedVersions, "many"))
	has("pushed out", 1, 3, 2, "")
	has("the many", 2, 2, 10, "many")
}
