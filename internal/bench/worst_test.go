package bench

import (
	"crypto/sha256"
	"fmt"
	"strings"
	"testing"

	"github.com/redoubt/redoubt/internal/advisory"
	"github.com/redoubt/redoubt/internal/model"
	"github.com/redoubt/redoubt/internal/purl"
	"github.com/redoubt/redoubt/internal/version"
)

// worst describes the hundred packages with the highest product of records and fixes in two public
// databases. They are those of Python of October 2024 (2,661 records) and of Go of August 2026
// (4,291).
//
// The columns are records that are not withdrawn, their fixes, distinct fixes, and listed versions.
// The first packages are tensorflow-cpu, tensorflow-gpu, tensorflow, mattermost-server, Go's stdlib
// and django. The totals are 4,289 records, 7,065 fixes, 2,340 distinct fixes, and 83,638 versions.
var worst = [100]struct{ records, fixes, distinct, listed int }{
	{297, 902, 34, 4339},
	{297, 902, 34, 12131},
	{242, 795, 30, 16210},
	{275, 653, 155, 0},
	{167, 333, 151, 0},
	{116, 287, 174, 4331},
	{179, 114, 84, 0},
	{84, 162, 28, 6175},
	{53, 246, 50, 6561},
	{64, 122, 73, 5675},
	{44, 122, 103, 0},
	{45, 116, 72, 0},
	{55, 88, 67, 0},
	{66, 68, 41, 5784},
	{68, 66, 31, 0},
	{53, 79, 43, 0},
	{61, 56, 11, 0},
	{35, 87, 60, 0},
	{51, 52, 24, 3217},
	{57, 46, 31, 0},
	{26, 94, 28, 0},
	{34, 62, 48, 0},
	{32, 61, 41, 0},
	{184, 10, 8, 0},
	{42, 42, 1, 0},
	{70, 25, 12, 0},
	{32, 54, 36, 0},
	{44, 38, 20, 0},
	{59, 27, 14, 0},
	{35, 35, 15, 2572},
	{34, 34, 9, 0},
	{32, 34, 23, 0},
	{24, 40, 15, 0},
	{30, 30, 24, 0},
	{27, 33, 12, 0},
	{29, 29, 22, 5395},
	{29, 28, 15, 0},
	{187, 4, 4, 0},
	{41, 18, 16, 0},
	{22, 32, 28, 0},
	{41, 17, 15, 0},
	{26, 26, 22, 0},
	{25, 26, 17, 0},
	{18, 34, 27, 0},
	{23, 26, 13, 177},
	{26, 20, 18, 0},
	{17, 26, 18, 0},
	{20, 20, 6, 0},
	{18, 22, 14, 0},
	{13, 29, 28, 0},
	{19, 19, 15, 0},
	{17, 20, 15, 0},
	{18, 18, 3, 0},
	{46, 7, 6, 0},
	{11, 29, 13, 0},
	{15, 21, 13, 0},
	{18, 17, 8, 651},
	{21, 14, 7, 0},
	{8, 35, 10, 0},
	{16, 16, 11, 1973},
	{16, 16, 16, 0},
	{16, 16, 5, 0},
	{42, 6, 5, 0},
	{19, 13, 13, 0},
	{30, 8, 2, 0},
	{18, 13, 8, 0},
	{19, 12, 9, 0},
	{15, 15, 3, 0},
	{15, 15, 5, 0},
	{15, 15, 11, 0},
	{10, 22, 20, 1095},
	{8, 27, 22, 767},
	{9, 23, 11, 0},
	{14, 14, 6, 31},
	{14, 14, 10, 3451},
	{14, 14, 5, 0},
	{14, 14, 2, 0},
	{14, 14, 8, 0},
	{14, 14, 8, 0},
	{15, 13, 11, 0},
	{10, 19, 7, 0},
	{7, 27, 15, 0},
	{8, 23, 16, 362},
	{18, 10, 8, 0},
	{11, 16, 14, 0},
	{8, 22, 5, 0},
	{11, 16, 7, 0},
	{13, 13, 12, 133},
	{13, 13, 9, 0},
	{10, 16, 13, 0},
	{14, 11, 9, 0},
	{12, 12, 7, 697},
	{12, 12, 11, 506},
	{11, 13, 12, 500},
	{9, 15, 11, 190},
	{13, 10, 4, 0},
	{7, 18, 15, 0},
	{11, 11, 10, 715},
	{11, 11, 2, 0},
	{11, 11, 7, 0},
}

// worstRecord returns the i-th record of the n-th package. The fixes are distributed over its
// records; each closes a separate branch from X.0 to X.fix.
func worstRecord(n, i int) (ecosystem string, data []byte) {
	w := worst[n]
	if ecosystem = "Go"; w.listed > 0 {
		ecosystem = "PyPI"
	}
	share := func(total int) (from, to int) { return i * total / w.records, (i + 1) * total / w.records }
	branches := (w.fixes + w.records - 1) / w.records
	var events, listed []string
	for at, end := share(w.fixes); at < end; at++ {
		fix := at % w.distinct
		events = append(events, fmt.Sprintf(`{"introduced":"%d.0.0"},{"fixed":"%[1]d.%d.0"}`, fix%branches, fix/branches+1))
	}
	for at, end := share(w.listed); at < end; at++ {
		listed = append(listed, fmt.Sprintf(`"%d.%d.0"`, at%branches, at%97))
	}
	if len(events) == 0 {
		events = append(events, `{"introduced":"0"}`) // many Go records have no fix
	}
	return ecosystem, fmt.Appendf(nil, `{"id":"WORST-%d-%d","modified":"2024-05-01T00:00:00Z","summary":"one","details":"%0400d",
		"affected":[{"package":{"ecosystem":%q,"name":"example.org/worst-%d"},"ranges":[{"type":"ECOSYSTEM","events":[%s]}],"versions":[%s]}]}`,
		n, i, i, ecosystem, n, strings.Join(events, ","), strings.Join(listed, ","))
}

// worstShelf returns a store with the worst packages, each in a lockfile in the first version of
// two branches, and the stored records.
func worstShelf(b *testing.B) (*shelf, []model.Advisory) {
	s := &shelf{groups: map[string][]model.AdvisoryGroup{}}
	h := model.Holding{Lockfile: "requirements.txt"}
	var all []model.Advisory
	for n, w := range worst {
		name, ecosystem := fmt.Sprint("example.org/worst-", n), ""
		var groups []model.AdvisoryGroup
		for i := range w.records {
			var data []byte
			ecosystem, data = worstRecord(n, i)
			r, err := advisory.Read(data)
			if err != nil {
				b.Fatal(err)
			}
			stored, err := advisory.Stored(r, data)
			if err != nil {
				b.Fatal(err)
			}
			all = append(all, stored)
			groups = append(groups, model.AdvisoryGroup{ID: int64(len(all)), Records: []model.Advisory{stored}})
		}
		s.groups[purl.Key(ecosystem, name)] = groups
		for _, v := range []string{"0.0.0", "1.0.0"} {
			h.Dependencies = append(h.Dependencies, model.MatchDependency{Ecosystem: ecosystem, Name: name, Version: v})
		}
	}
	s.holdings = []model.Holding{h}
	return s, all
}

// BenchmarkWorstPackages matches the hundred worst packages. "first" decodes the stored records and
// sorts their versions, relative to hashing them. "again" uses a library with the decoded records,
// relative to one map lookup for each record.
func BenchmarkWorstPackages(b *testing.B) {
	s, all := worstShelf(b)
	fresh := func() *advisory.Library {
		return advisory.NewLibrary(func(e string) advisory.Order { return version.OrderOf(e) })
	}
	match := func(l *advisory.Library) {
		advised, err := l.Match(b.Context(), s, 1, "refs/heads/main", nil)
		if err != nil || len(advised.Matches) < len(all)/2 {
			b.Fatalf("%d matches of %d records: %v", len(advised.Matches), len(all), err)
		}
	}
	hash := func() {
		for i := range all {
			sha256.Sum256(all[i].Facts)
			sha256.Sum256(all[i].Text)
		}
	}
	names := map[string]bool{}
	for i := range all {
		names[all[i].Name] = true
	}
	lookup := func() {
		for i := range all {
			if !names[all[i].Name] {
				b.Fatal("a record is lost")
			}
		}
	}
	b.Run("first", func(b *testing.B) {
		compare(b, timed(func() { match(fresh()) }), limit{unit: perRead, run: timed(hash)})
	})
	b.Run("again", func(b *testing.B) {
		library := fresh()
		compare(b, timed(func() { match(library) }), limit{unit: perLookup, run: timed(lookup)})
	})
}
