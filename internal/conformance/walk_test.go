package conformance

import (
	"fmt"
	"iter"
	"strconv"
	"testing"

	"github.com/redoubt/redoubt/api"
)

func itoa(n int64) string { return strconv.FormatInt(n, 10) }

// TestWalksWhileRowsAreAdded walks each list to its end while rows are added
// between its pages: page numbers may repeat a row, cursors do not, and neither
// loses one that was there from the start.
func TestWalksWhileRowsAreAdded(t *testing.T) {
	each(t, func(t *testing.T, s *site) {
		g := &growing{world: &world{site: s, rules: map[string]scanRule{}}}
		g.upload(t, "acme/payments", "main", "full", semgrepReport(g.matches(1, 0, 840)...))
		for range 8 {
			g.add(t)
		}
		id := itoa(get[api.ProjectResponse](t, s, payments).Project.ID)
		policy := g.policyID(t, "PRODUCT_TYPE_SAST")
		ctx, slug, c := t.Context(), s.deployment.Slug, s.api()
		g.walk(t, "findings", true, 100, func() iter.Seq2[string, error] {
			return named(c.Findings(ctx, slug, api.FindingsQuery{PageSize: 100}), func(f codeRow) string { return itoa(f.ID) })
		})
		g.walk(t, "supply-chain findings", true, 100, func() iter.Seq2[string, error] {
			return named(c.SupplyChainFindings(ctx, slug, api.FindingsQuery{PageSize: 100}), func(f supplyRow) string { return itoa(f.ID) })
		})
		g.walk(t, "projects", true, 2, func() iter.Seq2[string, error] {
			return named(c.Projects(ctx, slug, api.ProjectsQuery{PageSize: 2}), func(p api.Project) string { return p.Name })
		})
		g.walk(t, "dependencies", false, 3, func() iter.Seq2[string, error] {
			return named(c.Dependencies(ctx, slug, api.ListDependenciesRequest{PageSize: 3}), func(d api.Dependency) string { return d.ID })
		})
		g.walk(t, "lockfiles", false, 2, func() iter.Seq2[string, error] {
			return named(c.Lockfiles(ctx, slug, id, api.ListLockfilesRequest{PageSize: 2}), func(l api.LockfileSummary) string { return l.LockfilePath })
		})
		g.walk(t, "scans", false, 5, func() iter.Seq2[string, error] {
			return named(c.Scans(ctx, slug, api.SearchScansRequest{Limit: 5}), func(s api.Scan) string { return s.ID })
		})
		g.walk(t, "policy rules", false, 9, func() iter.Seq2[string, error] {
			return named(c.PolicyRules(ctx, slug, policy, api.PolicyRulesQuery{Limit: 9}), func(r api.PolicyRule) string { return r.Path })
		})
		g.walk(t, "secrets", false, 25, func() iter.Seq2[string, error] {
			return named(c.Secrets(ctx, slug, api.SecretsQuery{Limit: 25}), func(s api.Secret) string { return s.ID })
		})
	})
}

// growing is a site to which rows of every kind are added.
type growing struct {
	*world
	added int
}

// add brings new findings, a new rule, a new project whose name stands before
// all others, new dependencies in a lockfile of their own, and scans.
func (g *growing) add(t *testing.T) {
	t.Helper()
	g.added++
	n := g.added
	matches := g.matches(10+n, 0, 4)
	matches[0].rule.name = fmt.Sprintf("new.rule-%03d", n)
	g.upload(t, fmt.Sprintf("aaa/%03d", 999-n), "main", "full", semgrepReport(matches...))
	lock := file{fmt.Sprintf("app%03d/package-lock.json", n), packageLock(npmPackages...)}
	g.clock.Advance(1e9)
	body, contentType := form(t, map[string]string{"project": "acme/payments", "ref": "main"}, lock)
	read[api.ImportResponse](t, g.send(t, request{method: "POST", path: "imports", body: body, header: map[string]string{"Content-Type": contentType}}))
}

// walk compares a walk during which rows are added, one batch a page, with what
// was there before.
func (g *growing) walk(t *testing.T, what string, mayRepeat bool, page int, list func() iter.Seq2[string, error]) {
	t.Helper()
	before := all(t, list())
	seen := map[string]int{}
	rows, batches := 0, 0
	for id, err := range list() {
		if err != nil {
			t.Fatalf("%s: %v", what, err)
		}
		seen[id]++
		if rows++; rows%page == 0 && batches < 10 {
			batches++
			g.add(t)
		}
	}
	if batches < 2 || len(before) <= page {
		t.Errorf("%s: %d rows and %d batches prove nothing", what, len(before), batches)
	}
	for _, id := range before {
		if seen[id] == 0 {
			t.Errorf("%s: %s was lost", what, id)
		}
	}
	for id, times := range seen {
		if times > 1 && !mayRepeat {
			t.Errorf("%s: %s came %d times", what, id, times)
		}
	}
}

// named turns a list into one of names.
func named[T any](seq iter.Seq2[T, error], name func(T) string) iter.Seq2[string, error] {
	return func(yield func(string, error) bool) {
		for v, err := range seq {
			if !yield(name(v), err) {
				return
			}
		}
	}
}
