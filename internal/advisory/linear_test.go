package advisory_test

import (
	"fmt"
	"testing"

	"github.com/redoubt/redoubt/internal/advisory"
	"github.com/redoubt/redoubt/internal/model"
	"github.com/redoubt/redoubt/internal/version"
)

// countedOrder counts the versions that an order parses.
type countedOrder struct {
	version.Order
	parsed *int
}

func (o countedOrder) Compare(a, b string) int {
	*o.parsed += 2
	return o.Order.Compare(a, b)
}

func (o countedOrder) Scale(versions []string) func(string) (int, bool) {
	*o.parsed += len(versions)
	on := map[string]bool{}
	for _, v := range versions {
		on[v] = true
	}
	scale := o.Order.Scale(versions)
	return func(v string) (int, bool) {
		if !on[v] {
			*o.parsed++
		}
		return scale(v)
	}
}

// manyRecords returns a package with n records. Each is fixed on three branches, like those of
// tensorflow. With shared they share ten releases of each branch; otherwise each has separate ones.
func manyRecords(t testing.TB, n int, shared bool) *shelf {
	s := &shelf{version: 1}
	for i := range n {
		fix := i + 1
		if shared {
			fix = i%10 + 1
		}
		s.groups = append(s.groups, model.AdvisoryGroup{ID: int64(i + 1), Records: []model.Advisory{stored(t, int64(i+1), fmt.Sprintf(
			`{"id":"PYSEC-2021-%d","affected":[{"package":{"ecosystem":"PyPI","name":"many"},"versions":["2.3.0","2.2.0","1.0"],
			"ranges":[{"type":"ECOSYSTEM","events":[{"introduced":"0"},{"fixed":"2.1.%[2]d"},{"introduced":"2.2.0"},{"fixed":"2.2.%[2]d"},{"introduced":"2.3.0"},{"fixed":"2.3.%[2]d"}]}]}]}`,
			i, fix))}})
	}
	s.holdings = []model.Holding{{Lockfile: "requirements.txt", Dependencies: []model.MatchDependency{dep("PyPI", "many", "2.3.0"), dep("PyPI", "many", "2.2.0")}}}
	return s
}

// TestParsesAreLinearInRecords counts the versions that a match parses. With four times the records
// it must not exceed about four times the number.
func TestParsesAreLinearInRecords(t *testing.T) {
	for _, shared := range []bool{true, false} {
		parses := func(records int) int {
			parsed := 0
			library := advisory.NewLibrary(func(e string) advisory.Order { return countedOrder{version.OrderOf(e), &parsed} })
			s := manyRecords(t, records, shared)
			advised := match(t, library, s, nil)
			if len(advised.Matches) != records {
				t.Fatalf("%d matches of %d records", len(advised.Matches), records)
			}
			return parsed
		}
		few, many := parses(25), parses(100)
		t.Logf("fixes shared: %v; 25 records: %d parses, 100: %d", shared, few, many)
		if many > 5*few {
			t.Errorf("fixes shared: %v; 25 records take %d parses, 100 take %d", shared, few, many)
		}
	}
}
