package conformance

import (
	"fmt"
	"iter"
	"strconv"
	"sync"
	"testing"

	"github.com/redoubt/redoubt/api"
)

func itoa(n int64) string { return strconv.FormatInt(n, 10) }

// TestPaginationWhileRowsAreAdded reads each list to its end during concurrent imports and triage. Page
// numbers may repeat a row, cursors may not, and neither may miss a row that existed at the start.
func TestPaginationWhileRowsAreAdded(t *testing.T) {
	each(t, func(t *testing.T, s *site) {
		g := newGrowing(t, s)
		lists := g.lists(t)
		before := map[string][]string{}
		for what, l := range lists {
			if before[what] = all(t, l.rows()); len(before[what]) <= l.page {
				t.Fatalf("%s: %d rows prove nothing", what, len(before[what]))
			}
		}
		var writers, walkers sync.WaitGroup
		for range writersAtOnce {
			writers.Go(func() { g.write(t) })
		}
		writers.Go(func() { g.triageAll(t) })
		seen := map[string][]map[string]int{} // by walk
		var mu sync.Mutex
		for what, l := range lists {
			walkers.Go(func() {
				rows := g.walks(t, what, l, before[what])
				mu.Lock()
				defer mu.Unlock()
				seen[what] = rows
			})
		}
		walkers.Wait()
		g.stop()
		writers.Wait()
		if t.Failed() {
			return
		}
		for what, l := range lists { // at the end no row that was seen is missing
			last := map[string]int{}
			for _, row := range all(t, l.rows()) {
				last[row]++
			}
			for _, walk := range seen[what] {
				for row := range walk {
					if last[row] != 1 {
						t.Errorf("%s: %s was returned and exists %d times at the end", what, row, last[row])
					}
				}
				if l.byID {
					checkNoGap(t, what, walk, last)
				}
			}
			if len(last) <= len(before[what]) {
				t.Errorf("%s: %d rows, and %d in the end: nothing was added", what, len(before[what]), len(last))
			}
		}
	})
}

// walked is a list to read: its rows by name, and its page size.
type walked struct {
	mayRepeat bool
	byID      bool // rows are named by their id, in ascending order
	page      int
	rows      func() iter.Seq2[string, error]
}

// growing is a site to which rows of every kind are added on demand. A walker requests one batch
// between two pages and continues after it was written, while others are being written.
type growing struct {
	*world
	api     *api.Client
	code    []int64
	mu      sync.Mutex
	moved   *sync.Cond
	started int // started batches
	done    int // written batches
	want    int // requested batches
	over    bool
}

const (
	writersAtOnce  = 3
	walksEach      = 2
	batchesPerWalk = 5
)

func newGrowing(t *testing.T, s *site) *growing {
	g := &growing{world: &world{site: s, rules: map[string]scanRule{}}, api: s.api()}
	g.moved = sync.NewCond(&g.mu)
	g.upload(t, "acme/payments", "main", "full", semgrepReport(g.matches(1, 0, 840)...))
	for _, f := range s.allCode(t) {
		g.code = append(g.code, f.ID)
	}
	for range 8 {
		g.add(t, g.batch())
	}
	return g
}

func (g *growing) lists(t *testing.T) map[string]walked {
	id := itoa(get[api.ProjectResponse](t, g.site, payments).Project.ID)
	policy := g.policyID(t, "PRODUCT_TYPE_SAST")
	ctx, slug, c := t.Context(), g.deployment.Slug, g.api
	return map[string]walked{
		"findings": {true, false, 100, func() iter.Seq2[string, error] {
			return named(c.Findings(ctx, slug, api.FindingsQuery{PageSize: 100}), func(f codeRow) string { return itoa(f.ID) })
		}},
		"supply-chain findings": {true, false, 100, func() iter.Seq2[string, error] {
			return named(c.SupplyChainFindings(ctx, slug, api.FindingsQuery{PageSize: 100}), func(f supplyRow) string { return itoa(f.ID) })
		}},
		"projects": {true, false, 2, func() iter.Seq2[string, error] {
			return named(c.Projects(ctx, slug, api.ProjectsQuery{PageSize: 2}), func(p api.Project) string { return p.Name })
		}},
		"dependencies": {false, true, 5, func() iter.Seq2[string, error] {
			return named(c.Dependencies(ctx, slug, api.ListDependenciesRequest{PageSize: 5}), func(d api.Dependency) string { return d.ID })
		}},
		"lockfiles": {false, false, 2, func() iter.Seq2[string, error] {
			return named(c.Lockfiles(ctx, slug, id, api.ListLockfilesRequest{PageSize: 2}), func(l api.LockfileSummary) string { return l.LockfilePath })
		}},
		"scans": {false, false, 3, func() iter.Seq2[string, error] {
			return named(c.Scans(ctx, slug, api.SearchScansRequest{Limit: 3}), func(s api.Scan) string { return s.ID })
		}},
		"policy rules": {false, false, 9, func() iter.Seq2[string, error] {
			return named(c.PolicyRules(ctx, slug, policy, api.PolicyRulesQuery{Limit: 9}), func(r api.PolicyRule) string { return r.Path })
		}},
		"secrets": {false, true, 25, func() iter.Seq2[string, error] {
			return named(c.Secrets(ctx, slug, api.SecretsQuery{Limit: 25}), func(s api.Secret) string { return s.ID })
		}},
	}
}

// batch is the contents of one addition.
type batch struct {
	project  string
	findings []byte
	lockfile file
}

// batch returns new findings, a new rule, a new project that sorts before all others, and new
// dependencies in a new lockfile.
func (g *growing) batch() batch {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.started++
	matches := g.matches(10+g.started, 0, 4)
	matches[0].rule.name = fmt.Sprintf("new.rule-%03d", g.started)
	return batch{
		project: fmt.Sprintf("aaa/%03d", 999-g.started), findings: semgrepReport(matches...),
		lockfile: file{fmt.Sprintf("app%03d/package-lock.json", g.started), packageLock(npmPackages...)},
	}
}

func (g *growing) add(t *testing.T, b batch) {
	t.Helper()
	g.upload(t, b.project, "main", "full", b.findings)
	body, contentType := form(t, map[string]string{"project": "acme/payments", "ref": "main"}, b.lockfile)
	read[api.ImportResponse](t, g.send(t, request{method: "POST", path: "imports", body: body, header: map[string]string{"Content-Type": contentType}}))
}

// await waits until a condition is true, and reports whether the test continues.
func (g *growing) await(condition func() bool) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	for !condition() && !g.over {
		g.moved.Wait()
	}
	return !g.over
}

// stop ends all waits.
func (g *growing) stop() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.over = true
	g.moved.Broadcast()
}

// applyAndWake changes the state and wakes all waiters.
func (g *growing) applyAndWake(change func()) {
	g.mu.Lock()
	defer g.mu.Unlock()
	change()
	g.moved.Broadcast()
}

// write writes the requested batches.
func (g *growing) write(t *testing.T) {
	defer func() {
		if t.Failed() {
			g.stop() // so that nothing waits for it
		}
	}()
	for g.await(func() bool { return g.done < g.want }) {
		g.add(t, g.batch())
		g.applyAndWake(func() { g.done++ })
	}
}

// triageAll changes the states of all findings of the first import repeatedly while batches are
// written.
func (g *growing) triageAll(t *testing.T) {
	states := []string{"reviewing", "fixing", "ignored", "reopened"}
	for n := 0; g.await(func() bool { return g.done > n }); n++ {
		g.triaged(t, object{"issue_type": "sast", "issue_ids": g.code[:200], "new_triage_state": states[n%len(states)]})
	}
}

// requestBatches requests further batches and waits for one.
func (g *growing) requestBatches() {
	var had int
	g.applyAndWake(func() {
		had = g.done
		g.want = max(g.want, g.done+writersAtOnce)
	})
	g.await(func() bool { return g.done > had })
}

// walks reads a list several times and compares each result with the rows that existed at its
// start. These are the rows of the previous walk. It returns the rows of each walk.
func (g *growing) walks(t *testing.T, what string, l walked, before []string) (walks []map[string]int) {
	all := map[string]bool{}
	for _, row := range before {
		all[row] = true
	}
	for range walksEach {
		seen := map[string]int{}
		rows, requested := 0, 0
		for row, err := range l.rows() {
			if err != nil {
				t.Errorf("%s: %v", what, err)
				g.stop()
				return walks
			}
			seen[row]++
			if rows++; rows%l.page == 0 && requested < batchesPerWalk {
				requested++
				g.requestBatches()
			}
		}
		if requested < 2 {
			t.Errorf("%s: %d rows appeared without a write", what, rows)
		}
		for row := range all {
			if seen[row] == 0 {
				t.Errorf("%s: %s was lost", what, row)
			}
		}
		for row, times := range seen {
			all[row] = true
			if times > 1 && !l.mayRepeat {
				t.Errorf("%s: %s was returned %d times", what, row, times)
			}
		}
		walks = append(walks, seen)
	}
	return walks
}

// checkNoGap checks that a walk by ascending ids saw all rows up to its end: none was added behind its
// position.
func checkNoGap(t *testing.T, what string, walk, last map[string]int) {
	t.Helper()
	number := func(row string) int64 {
		n, err := strconv.ParseInt(row, 10, 64)
		if err != nil {
			t.Errorf("%s: %v", what, err)
		}
		return n
	}
	var end int64
	for row := range walk {
		end = max(end, number(row))
	}
	for row := range last {
		if number(row) <= end && walk[row] == 0 {
			t.Errorf("%s: %s was added behind a walk that ended at %d", what, row, end)
		}
	}
}

// named converts a list to one of names.
func named[T any](seq iter.Seq2[T, error], name func(T) string) iter.Seq2[string, error] {
	return func(yield func(string, error) bool) {
		for v, err := range seq {
			if !yield(name(v), err) {
				return
			}
		}
	}
}
