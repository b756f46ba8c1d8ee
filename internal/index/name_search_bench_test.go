package index

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/redoubt/redoubt/internal/model"
)

// BenchmarkSearchNames measures a name search, which each keystroke in the palette causes. There
// are a million findings with 400 projects, 40,000 packages and 20,000 vulnerabilities. The
// reference is the page of open findings with facets.
func BenchmarkSearchNames(b *testing.B) {
	const n = 1_000_000
	x := New(&supplied{bulk{n: n, version: 1}}, Options{BodyCache: 4 << 30})
	v, err := x.Deployment(context.Background(), tenant)
	if err != nil {
		b.Fatal(err)
	}
	list := ListQuery{Filter: model.FindingFilter{IssueType: model.SCA, Dedup: true, Statuses: []model.Status{model.StatusOpen}}, Size: 50, Values: 10, Now: bulkBegin}
	for _, f := range []Facet{FacetSeverity, FacetStatus, FacetProject, FacetRule, FacetPackage, FacetEPSS, FacetReachability, FacetAssignee} {
		list.Facets = append(list.Facets, FacetRequest{Facet: f})
	}
	for _, c := range []struct {
		name, text string
		visible    model.ProjectGlobs
	}{
		{name: "in every name", text: "-"},
		{name: "in none", text: "no-such-name"},
		{name: "one letter", text: "e"},
		{name: "one name", text: "cve-2024-17171"},
		{name: "300 letters", text: strings.Repeat("abc", 100)},
		{name: "signs", text: "%%__''"},
		{name: "right to left", text: "עברית"},
		{name: "bound to projects", text: "-", visible: model.ProjectGlobs{"acme/service-1*"}},
	} {
		b.Run(c.name, func(b *testing.B) {
			benchmarkAgainst(b, func() {}, func() {
				v.SearchNames(c.visible, 5, func(_ NameKind, name string) (int, bool) {
					return 0, strings.Contains(strings.ToLower(name), c.text)
				})
			}, func() {
				if l, err := v.List(b.Context(), list); err != nil || l.Total < 50 {
					b.Fatal("no list", err)
				}
			})
		})
	}
}

// supplied is a bulk of supply-chain findings.
type supplied struct{ bulk }

func (s *supplied) Feed(ctx context.Context, id, since int64, handle func(*model.Batch) error) (int64, bool, error) {
	return s.bulk.Feed(ctx, id, since, func(b *model.Batch) error {
		for i := range b.Findings {
			f := &b.Findings[i]
			f.IssueType, f.Package = model.SCA, fmt.Sprintf("@acme/library-%d", f.ID%40_000)
			f.Body = fmt.Appendf(nil, `"rule_message":null,"location":{"line":1},"vulnerability_identifier":"CVE-2024-%d"`, f.ID%20_000)
		}
		return handle(b)
	})
}
