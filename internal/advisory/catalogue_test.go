package advisory_test

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/redoubt/redoubt/internal/advisory"
	"github.com/redoubt/redoubt/internal/model"
)

// stall is a CatalogueStore in memory.
type stall struct {
	cards     []model.AdvisorySummary
	exploited []string
}

func (s stall) EachAdvisorySummary(_ context.Context, yield func(model.AdvisorySummary)) error {
	for _, c := range s.cards {
		yield(c)
	}
	return nil
}

func (s stall) GroupsWithoutSummary(context.Context, int64, int) ([]model.AdvisoryGroup, error) {
	return nil, nil
}

func (s stall) ExploitedNames(context.Context) ([]string, error) { return s.exploited, nil }

func someCards(t *rapid.T) (s stall) {
	for i := range rapid.IntRange(0, 12).Draw(t, "cards") {
		c := model.AdvisorySummary{
			Group: int64(i + 1), Names: []string{fmt.Sprintf("CVE-2021-%04d", i)}, Severity: model.Severity(rapid.IntRange(0, 4).Draw(t, "severity")),
			Malicious: rapid.Bool().Draw(t, "malicious"), Summary: rapid.SampledFrom([]string{"", "Remote code", "ReDoS in a Parser"}).Draw(t, "summary"),
			Packages: rapid.SliceOfNDistinct(rapid.SampledFrom([]string{"npm/lodash", "npm/qs", "pypi/jinja2", "gomod/x/text"}), 0, 3, func(s string) string { return s }).Draw(t, "packages"),
		}
		if rapid.Bool().Draw(t, "dated") {
			c.Modified = time.UnixMicro(rapid.Int64Range(1, 5).Draw(t, "modified"))
		}
		if rapid.Bool().Draw(t, "exploited") {
			s.exploited = append(s.exploited, c.Names[0])
		}
		s.cards = append(s.cards, c)
	}
	return s
}

// matchesSearch reports whether a search selects a summary, in a simple implementation.
func (s stall) matchesSearch(q advisory.Search, c model.AdvisorySummary) bool {
	text := strings.ToLower(strings.Join(append(append(slices.Clone(c.Names), c.Packages...), c.Summary), "\n"))
	for word := range strings.FieldsSeq(strings.ToLower(q.Text)) {
		if !strings.Contains(text, word) {
			return false
		}
	}
	ecosystem := slices.ContainsFunc(c.Packages, func(p string) bool { return strings.HasPrefix(p, q.Ecosystem+"/") })
	return (q.Ecosystem == "" || ecosystem) && (q.Severity == 0 || q.Severity == c.Severity) && (!q.Unrated || c.Severity == 0) && (!q.Malicious || c.Malicious) &&
		(!q.Exploited || slices.Contains(s.exploited, c.Names[0])) && (!q.Affecting || q.Present[c.Group].Findings > 0)
}

func (s stall) matching(q advisory.Search) (out []model.AdvisorySummary) {
	for _, c := range s.cards {
		if s.matchesSearch(q, c) {
			out = append(out, c)
		}
	}
	return out
}

// order returns the order of lists: vulnerabilities here by risk, then the others, newest first.
func (s stall) order(q advisory.Search) func(a, b model.AdvisorySummary) int {
	flag := func(b bool) int {
		if b {
			return 1
		}
		return 0
	}
	micros := func(c model.AdvisorySummary) int64 {
		if c.Modified.IsZero() {
			return 0
		}
		return c.Modified.UnixMicro()
	}
	return func(a, b model.AdvisorySummary) int {
		x, y := q.Present[a.Group], q.Present[b.Group]
		by := cmp.Compare(flag(y.Findings > 0), flag(x.Findings > 0))
		if by == 0 && x.Findings > 0 {
			known := func(c model.AdvisorySummary) int { return flag(slices.Contains(s.exploited, c.Names[0])) }
			severity := func(c model.AdvisorySummary) model.Severity { return cmp.Or(c.Severity, model.SeverityMedium) }
			by = cmp.Or(cmp.Compare(severity(b), severity(a)), cmp.Compare(known(b), known(a)), cmp.Compare(y.Projects, x.Projects), cmp.Compare(y.Findings, x.Findings))
		}
		return cmp.Or(by, cmp.Compare(micros(b), micros(a)), cmp.Compare(b.Group, a.Group))
	}
}

// TestCatalogMatchesModel compares results, counts and order with a simple
// implementation. Each count of a filter is the number of results with that filter.
func TestCatalogMatchesModel(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := someCards(t)
		c, err := advisory.NewCatalogue(t.Context(), s)
		if err != nil {
			t.Fatal(err)
		}
		q := advisory.Search{
			Text:      rapid.SampledFrom([]string{"", "cve-2021-0001", "LODASH", "redos parser", "npm/", "code cve", "none"}).Draw(t, "text"),
			Ecosystem: rapid.SampledFrom([]string{"", "", "npm", "pypi", "cargo"}).Draw(t, "ecosystem"),
			Severity:  model.Severity(rapid.SampledFrom([]int{0, 0, 2, 4}).Draw(t, "by severity")),
			Unrated:   rapid.Bool().Draw(t, "by unrated"),
			Exploited: rapid.Bool().Draw(t, "by exploited"), Malicious: rapid.Bool().Draw(t, "by malicious"), Affecting: rapid.Bool().Draw(t, "affecting"),
			Present: map[int64]advisory.Presence{}, Skip: rapid.IntRange(0, 4).Draw(t, "skip"), Size: rapid.IntRange(1, 5).Draw(t, "size"),
		}
		for _, summary := range s.cards {
			if n := rapid.IntRange(0, 3).Draw(t, "here"); n > 0 {
				q.Present[summary.Group] = advisory.Presence{Findings: n, Projects: 1 + n/2}
			}
		}
		want := s.matching(q)
		slices.SortFunc(want, s.order(q))
		found := advisory.SearchResult{Total: len(want), Severities: map[model.Severity]int{}, Ecosystems: map[string]int{}}
		for _, summary := range want[min(q.Skip, len(want)):min(q.Skip+q.Size, len(want))] {
			found.Groups = append(found.Groups, summary.Group)
		}
		s.counts(q, &found)
		if diff := gocmp.Diff(found, c.Search(q)); diff != "" {
			t.Errorf("search %+v (-want +got):\n%s", q, diff)
		}
	})
}

func (s stall) counts(q advisory.Search, out *advisory.SearchResult) {
	for severity := model.Severity(0); severity <= model.SeverityCritical; severity++ {
		q := q
		q.Severity, q.Unrated = severity, severity == 0
		if n := len(s.matching(q)); n > 0 {
			out.Severities[severity] = n
		}
	}
	for _, ecosystem := range []string{"npm", "pypi", "gomod"} {
		q := q
		q.Ecosystem = ecosystem
		if n := len(s.matching(q)); n > 0 {
			out.Ecosystems[ecosystem] = n
		}
	}
	each := func(set func(*advisory.Search)) int {
		q := q
		set(&q)
		return len(s.matching(q))
	}
	out.Exploited = each(func(q *advisory.Search) { q.Exploited = true })
	out.Malicious = each(func(q *advisory.Search) { q.Malicious = true })
	out.Affecting = each(func(q *advisory.Search) { q.Affecting = true })
}
