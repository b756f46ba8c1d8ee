package bench

import (
	"archive/zip"
	"bytes"
	"context"
	"crypto/sha256"
	"fmt"
	"io"
	"testing"

	"github.com/redoubt/redoubt/internal/advisory"
	"github.com/redoubt/redoubt/internal/model"
	"github.com/redoubt/redoubt/internal/purl"
	"github.com/redoubt/redoubt/internal/testutil/storetest"
	"github.com/redoubt/redoubt/internal/version"
)

// Units of advisory benchmarks.
const (
	perRead   = "x-read"    // time relative to reading and hashing the same records
	perLookup = "x-lookup"  // time relative to one map lookup for each dependency
	records   = "records/s" // stored
	matched   = "dependencies/s"
)

// Sizes of the data.
const (
	benchRecords  = 100_000
	benchDeps     = 1_000_000
	benchPackages = 200_000 // packages of the dependencies
	advised       = 20_000  // packages with a record
)

func osv(i int, summary string) []byte {
	return fmt.Appendf(nil, `{"id":"GHSA-%d","modified":"2024-05-01T00:00:00Z","aliases":["CVE-2024-%d"],"summary":%q,"details":"%0400d",
		"severity":[{"type":"CVSS_V3","score":"CVSS:3.1/AV:N/AC:L/PR:N/UI:N/S:U/C:H/I:H/A:H"}],"references":[{"type":"WEB","url":"https://example.org/%d"}],
		"affected":[{"package":{"ecosystem":"npm","name":"package-%d"},"ranges":[{"type":"SEMVER","events":[{"introduced":"0"},{"fixed":"1.%d.0"}]}]}],
		"database_specific":{"cwe_ids":["CWE-79"]}}`, i, 10_000+i, summary, i, i, i%advised, i%20)
}

// archiveOf packs records like OSV does.
func archiveOf(b *testing.B, n int, summary string) *zip.Reader {
	b.Helper()
	list := make([][]byte, n)
	for i := range list {
		list[i] = osv(i, summary)
	}
	return zipped(b, list)
}

func zipped(b *testing.B, list [][]byte) *zip.Reader {
	b.Helper()
	var packed bytes.Buffer
	z := zip.NewWriter(&packed)
	for i, record := range list {
		w, err := z.Create(fmt.Sprintf("%d.json", i))
		if err == nil {
			_, err = w.Write(record)
		}
		if err != nil {
			b.Fatal(err)
		}
	}
	if err := z.Close(); err != nil {
		b.Fatal(err)
	}
	r, err := zip.NewReader(bytes.NewReader(packed.Bytes()), int64(packed.Len()))
	if err != nil {
		b.Fatal(err)
	}
	return r
}

// BenchmarkAdvisories measures loading records, changed and unchanged, and the growth of the heap.
// The baseline is reading the same bytes. It also measures matching a million dependencies,
// relative to one map lookup for each.
func BenchmarkAdvisories(b *testing.B) {
	b.Run("load", func(b *testing.B) {
		s, turn := storetest.New(b, "sqlite"), 0
		load := func(z *zip.Reader) {
			if _, err := advisory.Load(b.Context(), s, advisory.Zip(z), nil); err != nil {
				b.Fatal(err)
			}
		}
		archives := []*zip.Reader{archiveOf(b, benchRecords, "one"), archiveOf(b, benchRecords, "two")}
		read := limit{unit: perRead, run: timed(func() { hashAll(b, archives[0]) })}
		took := compare(b, timed(func() { turn++; load(archives[turn%2]) }), read)
		b.ReportMetric(rate(benchRecords, took), records)
		b.ReportMetric(float64(peak(func() { turn++; load(archives[turn%2]) }))/(1<<20), "MiB-heap")
	})
	b.Run("load unchanged", func(b *testing.B) {
		s, z := storetest.New(b, "sqlite"), archiveOf(b, benchRecords, "one")
		load := func() {
			if _, err := advisory.Load(b.Context(), s, advisory.Zip(z), nil); err != nil {
				b.Fatal(err)
			}
		}
		took := compare(b, timed(load), limit{unit: perRead, run: timed(func() { hashAll(b, z) })})
		b.ReportMetric(rate(benchRecords, took), records)
	})
	b.Run("match", benchMatch)
}

func hashAll(b *testing.B, z *zip.Reader) {
	for _, f := range z.File {
		r, err := f.Open()
		if err != nil {
			b.Fatal(err)
		}
		h := sha256.New()
		if _, err := io.Copy(h, r); err != nil {
			b.Fatal(err)
		}
		r.Close()
	}
}

// shelf is a store with advisories and one ref with many lockfiles.
type shelf struct {
	groups   map[string][]model.AdvisoryGroup
	holdings []model.Holding
}

func (s *shelf) AdvisoryVersion(context.Context) (int64, error) { return 1, nil }

func (s *shelf) AdvisoryGroups(_ context.Context, packages []string) (map[string][]model.AdvisoryGroup, error) {
	out := map[string][]model.AdvisoryGroup{}
	for _, key := range packages {
		if g := s.groups[key]; g != nil {
			out[key] = g
		}
	}
	return out, nil
}

func (s *shelf) Scores(context.Context, []string) (map[string]model.EPSS, error) { return nil, nil }

func (s *shelf) Holdings(context.Context, []model.ProjectRef, []int64) ([][]model.Holding, error) {
	return [][]model.Holding{s.holdings}, nil
}

func (s *shelf) Subjects(context.Context, []model.ProjectRef) ([][]model.Subject, error) {
	return make([][]model.Subject, 1), nil
}

func benchMatch(b *testing.B) {
	g := newGenerator()
	s := &shelf{groups: map[string][]model.AdvisoryGroup{}}
	for i := range advised {
		data := osv(i, "one")
		r, err := advisory.Read(data)
		if err != nil {
			b.Fatal(err)
		}
		stored, err := advisory.Stored(r, data)
		if err != nil {
			b.Fatal(err)
		}
		key := purl.Key("npm", fmt.Sprint("package-", i))
		s.groups[key] = []model.AdvisoryGroup{{ID: int64(i + 1), Records: []model.Advisory{stored}}}
	}
	for i := range benchDeps / perLockfile {
		h := model.Holding{Lockfile: fmt.Sprint(i, "/package-lock.json")}
		for range perLockfile {
			h.Dependencies = append(h.Dependencies, model.MatchDependency{
				Ecosystem: "npm", Name: fmt.Sprint("package-", g.rnd.IntN(benchPackages)), Version: fmt.Sprintf("1.%d.0", g.rnd.IntN(40)),
			})
		}
		s.holdings = append(s.holdings, h)
	}
	library := advisory.NewLibrary(func(e string) advisory.Order { return version.OrderOf(e) })
	match := func() {
		for i := range s.holdings { // each lockfile as if it were on a separate ref
			if _, err := library.Match(b.Context(), &shelf{s.groups, s.holdings[i : i+1]}, 1, "refs/heads/main", nil); err != nil {
				b.Fatal(err)
			}
		}
	}
	known := map[string]bool{}
	for key := range s.groups {
		known[key] = true
	}
	found := 0
	lookup := func() {
		for _, h := range s.holdings {
			for i := range h.Dependencies {
				if known[h.Dependencies[i].Ecosystem+"/"+h.Dependencies[i].Name] {
					found++
				}
			}
		}
	}
	took := compare(b, timed(match), limit{unit: perLookup, run: timed(lookup)})
	b.ReportMetric(rate(benchDeps, took), matched)
}
