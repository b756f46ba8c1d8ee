package store_test

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/redoubt/redoubt/internal/model"
	"github.com/redoubt/redoubt/internal/store"
	"github.com/redoubt/redoubt/internal/testutil/storetest"
)

// replica contains the rows received from a feed, by id.
type replica struct {
	Projects    map[int64]model.Project
	Rules       map[int64]model.Rule
	Policies    map[int64]model.Policy
	PolicyRules map[int64]model.PolicyRule
	Lineages    map[int64]model.Lineage
	Findings    map[int64]model.IndexedFinding
}

func newReplica() replica {
	return replica{
		map[int64]model.Project{},
		map[int64]model.Rule{},
		map[int64]model.Policy{},
		map[int64]model.PolicyRule{},
		map[int64]model.Lineage{},
		map[int64]model.IndexedFinding{},
	}
}

func (r replica) findingIDs() []int64 { return slices.Sorted(maps.Keys(r.Findings)) }
func (r replica) lineageIDs() []int64 { return slices.Sorted(maps.Keys(r.Lineages)) }

// apply applies a batch. Rows that a finding refers to must already exist.
func (r replica) apply(b *model.Batch) error {
	put(r.Projects, b.Projects, func(p model.Project) int64 { return p.ID })
	put(r.Rules, b.Rules, func(x model.Rule) int64 { return x.ID })
	put(r.Policies, b.Policies, func(p model.Policy) int64 { return p.ID })
	put(r.PolicyRules, b.PolicyRules, func(p model.PolicyRule) int64 { return p.ID })
	put(r.Lineages, b.Lineages, func(l model.Lineage) int64 { return l.ID })
	put(r.Findings, b.Findings, func(f model.IndexedFinding) int64 { return f.ID })
	drop(r.Policies, b.DeletedPolicies)
	for _, id := range b.DeletedPolicies {
		maps.DeleteFunc(r.PolicyRules, func(_ int64, p model.PolicyRule) bool { return p.PolicyID == id })
	}
	drop(r.Projects, b.DeletedProjects)
	drop(r.Lineages, b.DeletedLineages)
	drop(r.Findings, b.DeletedFindings)
	return nil
}

func put[T any](rows map[int64]T, list []T, id func(T) int64) {
	for _, row := range list {
		rows[id(row)] = row
	}
}

func drop[T any](rows map[int64]T, ids []int64) {
	for _, id := range ids {
		delete(rows, id)
	}
}

// oneByOne serializes the calls of a function.
func oneByOne(apply func(*model.Batch) error) func(*model.Batch) error {
	var one sync.Mutex
	return func(b *model.Batch) error {
		one.Lock()
		defer one.Unlock()
		return apply(b)
	}
}

// follow updates the replica from a version to the newest, which it returns.
func (r replica) follow(d tenant, since int64) int64 {
	d.t.Helper()
	version, stale, err := d.s.Feed(d.t.Context(), d.id, since, oneByOne(r.apply))
	d.check(err)
	if stale {
		d.t.Fatalf("the feed since %d is stale", since)
	}
	return version
}

// feedOf returns a replica of the changes since a version; 0 for everything.
func feedOf(d tenant, since int64) replica {
	d.t.Helper()
	r := newReplica()
	r.follow(d, since)
	return r
}

// TestIncrementalFeedEqualsFullFeed checks that a replica that follows random writes in any steps
// equals one of a whole feed.
func TestIncrementalFeedEqualsFullFeed(t *testing.T) {
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		storetest.Checks(t, 25)
		n := 0
		rapid.Check(t, func(rt *rapid.T) {
			n++
			deployment, err := s.CreateDeployment(t.Context(), fmt.Sprint("feed-", n), "Feed", storetest.Actor)
			if err != nil {
				rt.Fatal(err)
			}
			h := history{tenant{rt, s, deployment.ID}, rt}
			followed, at := newReplica(), int64(0)
			for range rapid.IntRange(1, 12).Draw(rt, "commits") {
				h.commit()
				if rapid.Bool().Draw(rt, "follow") {
					at = followed.follow(h.tenant, at)
				}
			}
			if at = followed.follow(h.tenant, at); at != h.version() {
				rt.Fatalf("the feed came to version %d, the deployment is at %d", at, h.version())
			}
			if diff := gocmp.Diff(feedOf(h.tenant, 0), followed); diff != "" {
				rt.Fatalf("replica (-whole feed +followed):\n%s", diff)
			}
			if rest := feedOf(h.tenant, at); len(rest.Findings)+len(rest.Lineages)+len(rest.Projects) > 0 {
				rt.Fatalf("a feed since now holds %+v", rest)
			}
		})
	})
}

// history draws writes of every kind in the feed.
type history struct {
	tenant
	rt *rapid.T
}

func (h history) commit() {
	all := feedOf(h.tenant, 0)
	before := h.version()
	h.update(func(ctx context.Context, tx *store.Tx) error {
		for range rapid.IntRange(1, 3).Draw(h.rt, "writes") {
			write := rapid.SampledFrom([]func(context.Context, *store.Tx, replica) error{
				h.add, h.add, h.change, h.triage, h.annotate, h.rules, h.mode, h.policy, h.merge, h.tag,
			}).Draw(h.rt, "write")
			if err := write(ctx, tx, all); err != nil {
				return err
			}
		}
		return nil
	})
	if grown := model.Commits(h.version()) - model.Commits(before); grown != 0 && grown != 1 {
		h.rt.Fatalf("one commit moved the version by %d", grown)
	}
	if len(all.Projects) > 1 && rapid.IntRange(0, 5).Draw(h.rt, "delete") == 0 {
		h.update(func(ctx context.Context, tx *store.Tx) error {
			return tx.DeleteProject(ctx, h.anyID("project", all.Projects))
		})
	}
}

func (h history) add(ctx context.Context, tx *store.Tx, _ replica) error {
	name := rapid.SampledFrom([]string{"acme/a", "acme/b", "acme/c"}).Draw(h.rt, "project")
	p, err := tx.ProjectForScan(ctx, nil, model.Project{Name: name, Tags: []string{}})
	if err != nil {
		return err
	}
	_, err = newFindings(ctx, tx, p, rapid.IntRange(0, 4).Draw(h.rt, "findings"), nil)
	return err
}

func (h history) change(ctx context.Context, tx *store.Tx, all replica) error {
	var changed []model.FindingWrite
	for _, id := range all.findingIDs() {
		if rapid.Bool().Draw(h.rt, "touched") {
			o, err := tx.Finding(ctx, id) // the feed omits fields that only scans compare
			if err != nil {
				return err
			}
			w := model.FindingWrite{Finding: o.Finding}
			w.State = model.State(rapid.IntRange(1, 4).Draw(h.rt, "state"))
			if rapid.Bool().Draw(h.rt, "body") {
				w.Body = []byte(rapid.StringMatching(`"b":[0-9]`).Draw(h.rt, "text"))
			}
			changed = append(changed, w)
		}
	}
	return tx.UpdateFindings(ctx, changed)
}

func (h history) triage(ctx context.Context, tx *store.Tx, all replica) error {
	var events []model.TriageEvent
	known, err := tx.Lineages(ctx, all.lineageIDs())
	for _, id := range slices.Sorted(maps.Keys(known)) {
		if rapid.Bool().Draw(h.rt, "triaged") {
			after := model.Triage{State: model.TriageState(rapid.IntRange(1, 5).Draw(h.rt, "to")), At: tx.Now(), By: tx.Actor()}
			events = append(events, model.TriageEvent{LineageID: id, At: tx.Now(), By: tx.Actor(), Before: known[id].Triage, After: after})
		}
	}
	return cmp.Or(err, tx.UpdateTriage(ctx, events))
}

func (h history) annotate(ctx context.Context, tx *store.Tx, all replica) error {
	known, err := tx.Lineages(ctx, all.lineageIDs())
	if err != nil || len(known) == 0 {
		return err
	}
	return tx.Annotate(ctx, h.anyID("lineage", known), func(a *model.Annotations) {
		a.EPSS = &model.EPSS{Score: float64(rapid.IntRange(0, 3).Draw(h.rt, "score")) / 4}
	})
}

func (h history) rules(ctx context.Context, tx *store.Tx, _ replica) error {
	var rules []*model.Rule
	for range rapid.IntRange(0, 4).Draw(h.rt, "rules") {
		rules = append(rules, &model.Rule{
			Name: rapid.SampledFrom([]string{"rule-1", "rule-2"}).Draw(h.rt, "name"), IssueType: model.SAST,
			Message: rapid.SampledFrom([]string{"x", "y", "z"}).Draw(h.rt, "message"),
		})
	}
	_, err := tx.PutRules(ctx, rules)
	return err
}

func (h history) mode(ctx context.Context, tx *store.Tx, all replica) error {
	for _, id := range slices.Sorted(maps.Keys(all.PolicyRules)) {
		r := all.PolicyRules[id]
		mode := model.PolicyMode(rapid.IntRange(1, 3).Draw(h.rt, "mode"))
		if _, err := tx.SetRuleMode(ctx, r.PolicyID, r.Rule.Name, mode); err != nil && !errors.Is(err, model.ErrNotFound) {
			return err
		}
	}
	return nil
}

// policy creates, changes or deletes an additional policy with a rule.
func (h history) policy(ctx context.Context, tx *store.Tx, _ replica) error {
	policies, err := tx.Policies(ctx)
	if err != nil {
		return err
	}
	for _, p := range policies {
		if p.Slug != "further" {
			continue
		}
		if rapid.Bool().Draw(h.rt, "delete it") {
			return tx.DeletePolicy(ctx, p.ID)
		}
		p.BlockAll, p.Excludes = !p.BlockAll, model.PathGlobs{"vendor"}
		_, err := tx.UpdatePolicy(ctx, p)
		return err
	}
	p, err := tx.CreatePolicy(ctx, model.Policy{Name: "Further", Product: model.SAST, Scope: model.PolicyScope{Tags: []string{"x"}}})
	if err != nil {
		return err
	}
	rule := model.Rule{Name: "rule-1", IssueType: model.SAST, Message: "served"}
	_, err = tx.ServeRule(ctx, store.Serving{Rule: rule, Text: []byte(`{}`), PolicyID: p.ID})
	return err
}

func (h history) merge(ctx context.Context, tx *store.Tx, all replica) error {
	known, err := tx.Lineages(ctx, all.lineageIDs())
	if err != nil || len(known) == 0 {
		return err
	}
	into := h.anyID("into", known)
	maps.DeleteFunc(known, func(_ int64, l model.Lineage) bool { return l.ProjectID != known[into].ProjectID && l.ID != into })
	from := h.anyID("from", known)
	return tx.MergeLineages(ctx, []model.LineageMerge{{Into: known[into], From: []int64{from}}})
}

func (h history) tag(ctx context.Context, tx *store.Tx, all replica) error {
	if len(all.Projects) == 0 {
		return nil
	}
	p := all.Projects[h.anyID("tagged", all.Projects)]
	_, err := tx.UpdateProjectByScan(ctx, nil, p.ID, model.Project{Name: p.Name, Tags: []string{rapid.SampledFrom([]string{"x", "y"}).Draw(h.rt, "tag")}})
	return err
}

// anyID draws the id of a row. It takes any map because methods have no type parameters.
func (h history) anyID(label string, rows any) int64 {
	var ids []int64
	switch rows := rows.(type) {
	case map[int64]model.Project:
		ids = slices.Sorted(maps.Keys(rows))
	case map[int64]model.Lineage:
		ids = slices.Sorted(maps.Keys(rows))
	}
	return rapid.SampledFrom(ids).Draw(h.rt, label)
}

func TestFeedBatchesShareOneSnapshot(t *testing.T) {
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		d := newTenant(t, s)
		p := d.project("acme/payments")
		first := d.findings(p, 2500, nil)
		want := feedOf(d, 0)
		got, batches := newReplica(), 0
		_, _, err := s.Feed(t.Context(), d.id, 0, oneByOne(func(b *model.Batch) error {
			if len(b.Findings) > 0 {
				if batches++; batches == 1 { // a concurrent commit must not be visible
					first[2400].State, first[2400].Body = model.Fixed, nil
					d.update(func(ctx context.Context, tx *store.Tx) error { return tx.UpdateFindings(ctx, first[2400:2401]) })
				}
				for _, f := range b.Findings {
					if _, known := got.Lineages[f.LineageID]; !known {
						t.Fatalf("finding %d came before its lineage", f.ID)
					}
				}
			}
			if len(b.Findings) > 2000 || len(b.Lineages) > 2000 {
				t.Errorf("a batch of %d findings and %d lineages", len(b.Findings), len(b.Lineages))
			}
			return got.apply(b)
		}))
		d.check(err)
		if batches < 2 {
			t.Errorf("%d findings came in %d batches", len(got.Findings), batches)
		}
		same(t, "feed", got, want)
	})
}

func TestFeedReturnsCallbackError(t *testing.T) {
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		d := newTenant(t, s)
		refused := errors.New("full")
		_, _, err := s.Feed(t.Context(), d.id, 0, func(*model.Batch) error { return refused })
		if !errors.Is(err, refused) {
			t.Errorf("Feed: %v, want the taker's error", err)
		}
		_, _, err = s.Feed(t.Context(), 1<<40, 0, func(*model.Batch) error { return nil })
		fails(t, "feed of an unknown deployment", err, model.ErrNotFound)
		_, err = s.Version(t.Context(), 1<<40)
		fails(t, "version of an unknown deployment", err, model.ErrNotFound)
	})
}

func TestPrunedFeedIsStale(t *testing.T) {
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		d := newTenant(t, s)
		p := d.project("acme/payments")
		writes := d.findings(p, 1, nil)
		had := []int64{d.version()}
		for _, state := range []model.State{model.Fixed, model.Unresolved, model.Muted} {
			writes[0].State = state
			d.update(func(ctx context.Context, tx *store.Tx) error { return tx.UpdateFindings(ctx, writes) })
			had = append(had, d.version())
		}
		now := d.version()
		d.check(s.PruneChanges(t.Context(), d.id, 1))
		same(t, "version", d.version(), now)
		for since, wantStale := range map[int64]bool{had[0]: true, had[1]: true, had[2]: false, now: false, now + 1: true, now - 1: true, 0: false} {
			batches := 0
			version, stale, err := s.Feed(t.Context(), d.id, since, func(*model.Batch) error { batches++; return nil })
			d.check(err)
			if stale != wantStale || stale && batches > 0 || version != now {
				t.Errorf("since %d: stale %v, %d batches, version %d; want stale %v, version %d", since, stale, batches, version, wantStale, now)
			}
		}
		// Repeated pruning to an earlier version, or beyond the newest, has no effect.
		d.check(s.PruneChanges(t.Context(), d.id, 3))
		d.check(s.PruneChanges(t.Context(), d.id, 1000))
		d.check(s.PruneChanges(t.Context(), d.id, 0))
		d.check(s.PruneChanges(t.Context(), d.id, 0))
		writes[0].State = model.Fixed
		d.update(func(ctx context.Context, tx *store.Tx) error { return tx.UpdateFindings(ctx, writes) })
		same(t, "fed", feedOf(d, now).findingIDs(), []int64{writes[0].ID})
	})
}

// TestFullFeedHasOneVersion checks that a whole feed is of one version, despite concurrent
// commits and several reading transactions.
func TestFullFeedHasOneVersion(t *testing.T) {
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		d := newTenant(t, s)
		writes := d.findings(d.project("acme/payments"), 3000, nil)
		ends := []model.FindingWrite{writes[0], writes[len(writes)-1]}
		for i := range ends {
			ends[i].Body = nil
		}
		versions := map[int64]model.State{d.version(): ends[0].State} // state of both findings by version
		s.OnCommit(func(_, version int64) { versions[version] = ends[0].State })
		stop, stopped := make(chan struct{}), make(chan error)
		go func() {
			for n := 0; ; n++ {
				ends[0].State = []model.State{model.Fixed, model.Unresolved, model.Muted}[n%3]
				ends[1].State = ends[0].State
				err := s.Update(context.Background(), d.id, storetest.Actor, func(ctx context.Context, tx *store.Tx) error { return tx.UpdateFindings(ctx, ends) })
				select {
				case <-stop:
					stopped <- err
					return
				default:
				}
				if err != nil {
					stopped <- err
					return
				}
			}
		}()
		feeds := map[int64]replica{}
		for range 10 {
			got := newReplica()
			version, _, err := s.Feed(t.Context(), d.id, 0, oneByOne(got.apply))
			d.check(err)
			feeds[version] = got
		}
		close(stop)
		d.check(<-stopped)
		for version, got := range feeds {
			first, last, want := got.Findings[ends[0].ID].State, got.Findings[ends[1].ID].State, versions[version]
			if first != want || last != want || len(got.Findings) != len(writes) {
				t.Errorf("version %d: %d findings of %d, the first is %v and the last %v, want %v", version, len(got.Findings), len(writes), first, last, want)
			}
		}
	})
}

// TestFullFeedReturnsCallbackError checks that an error of take ends a whole feed.
func TestFullFeedReturnsCallbackError(t *testing.T) {
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		d := newTenant(t, s)
		d.findings(d.project("acme/payments"), 5000, nil)
		refused, batches := errors.New("full"), 0
		_, _, err := s.Feed(t.Context(), d.id, 0, oneByOne(func(b *model.Batch) error {
			if len(b.Findings) > 0 {
				if batches++; batches == 2 {
					return refused
				}
			}
			return nil
		}))
		if !errors.Is(err, refused) {
			t.Errorf("Feed: %v, want the taker's error", err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		_, _, err = s.Feed(ctx, d.id, 0, oneByOne(func(b *model.Batch) error {
			if len(b.Findings) > 0 {
				cancel()
			}
			return nil
		}))
		if !errors.Is(err, context.Canceled) {
			t.Errorf("Feed: %v, want that its caller gave up", err)
		}
		feedOf(d, 0)
	})
}
