package advisory_test

import (
	"bufio"
	"context"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/redoubt/redoubt/internal/advisory"
	"github.com/redoubt/redoubt/internal/model"
	"github.com/redoubt/redoubt/internal/version"
)

func orders(ecosystem string) advisory.Order { return version.OrderOf(ecosystem) }

// shelf is an advisory.Store of one lockfile, with one group for each record.
type shelf struct {
	groups   []model.AdvisoryGroup
	holdings []model.Holding
	subjects []model.Subject
	scores   map[string]model.EPSS
	version  int64
	reads    int
	scored   []string // CVEs of the last call of Scores
	packages []int64  // packages of the last call of Holdings
	wanted   []string // packages of the last call of AdvisoryGroups
}

func (s *shelf) AdvisoryVersion(context.Context) (int64, error) { return s.version, nil }

func (s *shelf) AdvisoryGroups(_ context.Context, packages []string) (map[string][]model.AdvisoryGroup, error) {
	s.reads, s.wanted = s.reads+1, packages
	out := map[string][]model.AdvisoryGroup{}
	for _, g := range s.groups {
		var about []string
		for _, r := range g.Records {
			about = append(about, r.Packages...)
		}
		slices.Sort(about)
		for _, p := range slices.Compact(about) {
			if slices.Contains(packages, p) {
				out[p] = append(out[p], g)
			}
		}
	}
	return out, nil
}

func (s *shelf) Scores(_ context.Context, cves []string) (map[string]model.EPSS, error) {
	s.scored = cves
	return s.scores, nil
}

func (s *shelf) Holdings(_ context.Context, refs []model.ProjectRef, packages []int64) ([][]model.Holding, error) {
	s.packages = packages
	return slices.Repeat([][]model.Holding{s.holdings}, len(refs)), nil
}

func (s *shelf) Subjects(_ context.Context, refs []model.ProjectRef) ([][]model.Subject, error) {
	return slices.Repeat([][]model.Subject{s.subjects}, len(refs)), nil
}

// stored returns a record in its stored form.
func stored(t testing.TB, id int64, text string) model.Advisory {
	t.Helper()
	r, err := advisory.Read([]byte(text))
	if err != nil {
		t.Fatalf("%.80s: %v", text, err)
	}
	out, err := advisory.Stored(r, []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	out.ID = id
	return out
}

func lines(t testing.TB, file string) (out []string) {
	t.Helper()
	f, err := os.Open("testdata/" + file)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	s := bufio.NewScanner(f)
	s.Buffer(nil, 1<<20)
	for s.Scan() {
		if line := s.Text(); line != "" && line[0] != '#' {
			out = append(out, line)
		}
	}
	return out
}

func known(t testing.TB) *shelf {
	s := &shelf{version: 1}
	for i, line := range append(lines(t, "records.jsonl"), lines(t, "own.jsonl")...) {
		s.groups = append(s.groups, model.AdvisoryGroup{ID: int64(i + 1), Records: []model.Advisory{stored(t, int64(i+1), line)}})
	}
	return s
}

// TestKnownPackages compares matches of real packages with a table from another source (see
// testdata/README.md).
func TestKnownPackages(t *testing.T) {
	s := known(t)
	library := advisory.NewLibrary(orders)
	packages := map[string]bool{}
	for _, line := range lines(t, "known.tsv") {
		field := strings.Split(line, "\t")
		packages[field[1]] = true
		s.holdings = []model.Holding{{Lockfile: "l", Dependencies: []model.MatchDependency{{Ecosystem: field[0], Name: field[1], Version: field[2]}}}}
		advised, err := library.Match(t.Context(), s, 1, "refs/heads/main", nil)
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, m := range advised.Matches {
			got = append(got, s.groups[m.Group-1].Records[0].Name)
		}
		for id := range strings.FieldsSeq(strings.Trim(field[3], "-")) {
			if !slices.Contains(got, id) {
				t.Errorf("%s %s %s does not match %s", field[0], field[1], field[2], id)
			}
		}
		for id := range strings.FieldsSeq(strings.Trim(field[4], "-")) {
			if slices.Contains(got, id) {
				t.Errorf("%s %s %s matches %s", field[0], field[1], field[2], id)
			}
		}
	}
	if len(packages) < 50 {
		t.Errorf("the table has %d packages, fewer than 50", len(packages))
	}
}
