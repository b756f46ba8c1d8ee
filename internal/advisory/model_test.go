package advisory

import (
	"cmp"
	"slices"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/redoubt/redoubt/internal/purl"
	"github.com/redoubt/redoubt/internal/version"
)

// naive evaluates versions literally as the OSV specification describes. It compares each version
// with each event of each record and parses them every time.
type naive struct{ order version.Order }

func (m naive) affects(a *Affected, v string) bool {
	if slices.Contains(a.Versions, v) {
		return true
	}
	if !m.order.IsVersion(v) {
		return false
	}
	if slices.ContainsFunc(a.Ranges, func(r Range) bool { return m.contains(r, v) }) {
		return true
	}
	return len(a.Ranges) == 0 && slices.ContainsFunc(a.Versions, func(l string) bool { return m.order.IsVersion(l) && m.order.Compare(l, v) == 0 })
}

func (m naive) contains(r Range, v string) bool {
	events, limits, ok := m.sorted(r)
	if !ok || len(limits) > 0 && !slices.ContainsFunc(limits, func(l string) bool { return l == "*" || m.order.Compare(v, l) < 0 }) {
		return false
	}
	inside := false
	for _, e := range events {
		switch {
		case e.Introduced == "0", e.Introduced != "" && m.order.Compare(v, e.Introduced) >= 0:
			inside = true
		case e.Fixed != "" && m.order.Compare(v, e.Fixed) >= 0:
			inside = false
		case e.LastAffected != "" && m.order.Compare(v, e.LastAffected) > 0:
			inside = false
		}
	}
	return inside
}

func (m naive) sorted(r Range) (events []Event, limits []string, ok bool) {
	for _, e := range r.Events {
		v := e.version()
		if e.Limit != "" {
			limits = append(limits, e.Limit)
		} else {
			events = append(events, e)
		}
		if v != "0" && v != "*" && !m.order.IsVersion(v) {
			return nil, nil, false
		}
	}
	type ranked struct {
		Event
		rank int
	}
	list := make([]ranked, len(events))
	for i, e := range events {
		pair := i > 0 && events[i-1].Introduced != "" && m.tied(events[i-1].version(), e.version())
		list[i] = ranked{e, rank(e.Introduced != "", pair)}
	}
	slices.SortStableFunc(list, func(a, b ranked) int {
		x, y := a.version(), b.version()
		switch {
		case x == "0" && y != "0":
			return -1
		case y == "0" && x != "0":
			return 1
		case x != "0":
			if sign := m.order.Compare(x, y); sign != 0 {
				return sign
			}
		}
		return cmp.Compare(a.rank, b.rank)
	})
	for i, e := range list {
		events[i] = e.Event
	}
	return events, limits, true
}

func (m naive) tied(a, b string) bool {
	if a == b || a == "0" || b == "0" {
		return a == b
	}
	return m.order.IsVersion(a) && m.order.IsVersion(b) && m.order.Compare(a, b) == 0
}

// lowestFix returns the lowest fix of all groups, or otherwise of the first.
func (m naive) lowestFix(v string, first, all []*Affected) string {
	if !m.order.IsVersion(v) {
		return ""
	}
	for _, records := range [][]*Affected{all, first} {
		var candidates []string
		for _, a := range records {
			for _, f := range a.Fixes() {
				if m.order.IsVersion(f) && m.order.Compare(f, v) > 0 {
					candidates = append(candidates, f)
				}
			}
		}
		slices.SortStableFunc(candidates, m.order.Compare)
		for _, c := range candidates {
			if !slices.ContainsFunc(records, func(a *Affected) bool { return m.affects(a, c) }) {
				return c
			}
		}
	}
	return ""
}

func (m naive) verdict(groups [][]*Affected, v string) (out versionVerdict) {
	var all []*Affected
	for i, affected := range groups {
		if slices.ContainsFunc(affected, func(a *Affected) bool { return m.affects(a, v) }) {
			out.groups, all = append(out.groups, i), append(all, affected...)
		}
	}
	for _, i := range out.groups {
		out.fixes = append(out.fixes, m.lowestFix(v, groups[i], all))
	}
	return out
}

// entryOf returns an entry of a package with the given groups.
func entryOf(ecosystem string, groups ...[]*Affected) *packageEntry {
	key := purl.Key(ecosystem, "a")
	var vulnerabilities []*Vulnerability
	for _, affected := range groups {
		v := &Vulnerability{}
		for _, a := range affected {
			about := *a
			about.Package = key
			v.Records = append(v.Records, Record{Facts: Facts{Affected: []Affected{about}}})
		}
		vulnerabilities = append(vulnerabilities, v)
	}
	return newPackageEntry(key, version.OrderOf(ecosystem), vulnerabilities)
}

// modelVersions contains versions as in records and lockfiles: equal spellings, prereleases and
// invalid ones.
var modelVersions = []string{
	"0", "*", "0.0.0-a", "0.9", "1", "1.0", "1.0.0", "v1.0.0", "1.0.0-rc.1", "1.0rc1", "1.0.0+build", "1.1", "1.1.0", "1.2.0", "1.10",
	"2.0.0-beta", "2.0", "2.0.0", "2.0.1", "3.0-SNAPSHOT", "10.0.0", "main", "soon",
}

func someAffected(t *rapid.T) *Affected {
	v := rapid.SampledFrom(modelVersions)
	a := &Affected{Versions: rapid.SliceOfN(v, 0, 3).Draw(t, "listed")}
	for range rapid.IntRange(0, 2).Draw(t, "ranges") {
		var r Range
		for range rapid.IntRange(1, 5).Draw(t, "events") {
			at := v.Draw(t, "at")
			r.Events = append(r.Events, rapid.SampledFrom([]Event{from(at), from(at), fixedAt(at), fixedAt(at), last(at), limit(at)}).Draw(t, "event"))
		}
		a.Ranges = append(a.Ranges, r)
	}
	return a
}

// TestVerdictsMatchModel compares verdicts, requested repeatedly and in any order, with
// those of naive.
func TestVerdictsMatchModel(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		ecosystem := rapid.SampledFrom([]string{"npm", "PyPI", "Maven", "Go", "Packagist", "RubyGems", "CRAN", "unknown"}).Draw(t, "ecosystem")
		groups := make([][]*Affected, rapid.IntRange(1, 5).Draw(t, "groups"))
		for i := range groups {
			for range rapid.IntRange(1, 3).Draw(t, "records") {
				groups[i] = append(groups[i], someAffected(t))
			}
		}
		entry, m := entryOf(ecosystem, groups...), naive{version.OrderOf(ecosystem)}
		queried := rapid.Permutation(slices.Concat(modelVersions, modelVersions, []string{"0.5", "1.0.1", "1.5.0-x", "99", "", "git+ssh://x"})).Draw(t, "asked")
		for _, v := range queried {
			normal := v
			if ecosystem == "Go" {
				normal = modelGoVersion(v)
			}
			want, got := m.verdict(groups, normal), *entry.verdictOn(v)
			if diff := gocmp.Diff(want, got, gocmp.AllowUnexported(versionVerdict{}), emptyIsNil); diff != "" {
				t.Fatalf("%s %q: -naive +verdict\n%s", ecosystem, v, diff)
			}
		}
	})
}

// modelGoVersion removes the v prefix of Go versions, which records omit.
func modelGoVersion(v string) string {
	if len(v) > 1 && v[0] == 'v' {
		return v[1:]
	}
	return v
}

var emptyIsNil = gocmp.Transformer("empty", func(list []string) []string {
	if len(list) == 0 {
		return nil
	}
	return list
})
