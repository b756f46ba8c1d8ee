package bench

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/redoubt/redoubt/internal/testutil/storetest"
)

// Sizes of the data for new records. Packages are divided into sets, and each turn has records
// about another set.
const (
	newRecords     = 400
	commonPackages = 4_400 // 11 sets
)

// opened is the minimum number of findings that new records open in each turn.
const opened = 20_000

// BenchmarkSweepNew measures opening findings for 400 new records in 350,000 dependencies on 301
// refs. "findings" is the number of opened findings, and "longest-s" the longest wait of other
// writers.
//
// On SQLite, one baseline is inserting the findings and bodies in one transaction. Another one also
// inserts lineages, identities and subjects. On PostgreSQL, the baseline is one map lookup for each
// dependency.
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
			limits := []limit{{unit: perLookup, run: timed(func() { countKnown(known, names) })}}
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

// newRecords generates new records about the next set of packages.
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

// bare returns the baselines: inserting the rows of the newest findings.
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
