package bench

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/redoubt/redoubt/internal/testutil/storetest"
)

// What new records meet: a project with many dependencies and many with few, of
// packages that most of them share, in sets of which each turn has records of another.
const (
	newRecords     = 400
	commonPackages = 4_400 // 11 sets
)

// opened is what new records must open at least, in each turn.
const opened = 20_000

// BenchmarkSweepNew has findings of 400 new records open over 350,000 dependencies, on
// 301 refs; each turn has other records. "findings" is how many a turn opens. The
// limit on SQLite is to insert these findings and their bodies bare, in one
// transaction; another one is that, and their lineages, identities and subjects.
// PostgreSQL is beside one map lookup for each dependency. "longest-s" is how long
// other writers had to wait at most.
func BenchmarkSweepNew(b *testing.B) {
	for _, engine := range storetest.Engines {
		b.Run(engine, func(b *testing.B) {
			f := newFollowed(b, engine)
			refs := append(slices.Repeat([]int{1_000}, 300), 50_000)
			if testing.Short() {
				refs = []int{1_000, 5_000}
			}
			known, names := f.fill(refs, commonPackages)
			f.follow()
			n := 0
			open := func() time.Duration {
				f.publish(f.newRecords())
				return timed(func() { n = f.follow().Changed })()
			}
			open()
			if !testing.Short() && n < opened {
				b.Fatalf("%d findings opened", n)
			}
			f.longest = 0
			limits := []limit{{unit: perLookup, run: timed(func() { lookUp(known, names) })}}
			if engine == "sqlite" {
				limits = f.bare(n)
			}
			took := compare(b, open, limits...)
			b.ReportMetric(rate(n, took), perSecond)
			b.ReportMetric(float64(n), "findings")
			b.ReportMetric(f.longest.Seconds(), "longest-s")
		})
	}
}

// newRecords makes records of a set of packages that were not there before.
func (f *followed) newRecords() [][]byte {
	f.turn++
	list := make([][]byte, newRecords)
	for i := range list {
		id := 1_000_000 + f.turn*newRecords + i
		list[i] = fmt.Appendf(nil, `{"id":"GHSA-%d","modified":"2024-05-01T00:00:00Z","aliases":["CVE-2025-%d"],"summary":"Prototype pollution","details":"%0400d",
			"severity":[{"type":"CVSS_V3","score":"CVSS:3.1/AV:N/AC:L/PR:N/UI:N/S:U/C:H/I:H/A:H"}],"references":[{"type":"WEB","url":"https://example.org/%d"}],
			"affected":[{"package":{"ecosystem":"npm","name":%q},"ranges":[{"type":"SEMVER","events":[{"introduced":"0"},{"fixed":"1.25.0"}]}]}],
			"database_specific":{"cwe_ids":["CWE-1321"]}}`, id, id, id, id, packageOf((f.turn*newRecords+i)%commonPackages))
	}
	return list
}

// bare are the limits: inserting what the newest findings have.
func (f *followed) bare(n int) []limit {
	r, others := newRaw(f.b, f.config), int64(1000)
	read := func(name, key string) table {
		return table{name, r.rows(fmt.Sprintf(`SELECT * FROM %s WHERE deployment_id = ? ORDER BY %s DESC LIMIT ?`, name, key), f.deployment.ID, n)}
	}
	findings := []table{read("finding", "id"), read("finding_body", "finding_id")}
	all := append(slices.Clone(findings), read("lineage", "id"), read("lineage_identity", "lineage_id"), read("finding_subject", "finding_id"))
	insert := func(rows []table) func() time.Duration {
		return func() time.Duration {
			others++
			return r.insert(others, rows)
		}
	}
	return []limit{{unit: perLimit, run: insert(findings)}, {unit: perWritten, run: insert(all)}}
}
