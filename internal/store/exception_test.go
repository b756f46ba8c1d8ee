package store_test

import (
	"context"
	"fmt"
	"runtime"
	"testing"
	"time"

	"github.com/redoubt/redoubt/internal/exceptions"
	"github.com/redoubt/redoubt/internal/model"
	"github.com/redoubt/redoubt/internal/store"
	"github.com/redoubt/redoubt/internal/testutil/storetest"
)

func accepted(target string) model.Exception {
	return model.Exception{Target: target, Reason: "tested", TriageReason: model.AcceptableRisk}
}

// except adds an exception and returns the number of changed findings.
func (d tenant) except(e model.Exception) (made model.Exception, changed int) {
	d.t.Helper()
	d.update(func(ctx context.Context, tx *store.Tx) (err error) {
		var effect exceptions.Effect
		made, effect, err = exceptions.Add(ctx, tx, e)
		changed = len(effect)
		return err
	})
	return made, changed
}

func (d tenant) triageOf(lineage int64) (t model.Triage) {
	d.t.Helper()
	d.view(func(ctx context.Context, tx *store.Tx) error {
		found, err := tx.Lineages(ctx, []int64{lineage})
		t = found[lineage].Triage
		return err
	})
	return t
}

func TestExceptionsAreStoredAndAudited(t *testing.T) {
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		d := newTenant(t, s)
		w := d.findings(d.project("acme/payments"), 2, nil)
		want := accepted("rule-1")
		want.Paths, want.Projects = model.PathGlobs{"src/0.go"}, model.ProjectGlobs{"Acme/*"}
		want.Until = storetest.Epoch.Add(48 * time.Hour)
		before := d.version()
		made, changed := d.except(want)
		want.ID, want.State, want.CreatedAt, want.CreatedBy = made.ID, model.ExceptionActive, made.CreatedAt, storetest.Actor
		want.DecidedAt, want.DecidedBy = made.CreatedAt, storetest.Actor
		same(t, "changed", changed, 1)
		d.view(func(ctx context.Context, tx *store.Tx) error {
			list, err := tx.Exceptions(ctx)
			same(t, "the list", list, []model.Exception{want})
			counts, err2 := tx.CountByException(ctx, made)
			same(t, "what it ignores", counts, map[int64]int{made.ID: 1})
			d.check(err2)
			return err
		})
		got := d.triageOf(w[0].LineageID)
		same(t, "the covered one", got, model.Triage{
			State: model.TriageIgnored, Reason: model.AcceptableRisk, Comment: "tested", At: made.CreatedAt, By: made.Actor(), Automatic: true,
		})
		same(t, "the other one", d.triageOf(w[1].LineageID).State, model.TriageUntriaged)
		same(t, "fed", feedOf(d, before).lineageIDs(), []int64{w[0].LineageID})

		d.update(func(ctx context.Context, tx *store.Tx) error {
			_, changed, err := exceptions.Remove(ctx, tx, made.ID)
			same(t, "reopened", len(changed), 1)
			return err
		})
		d.view(func(ctx context.Context, tx *store.Tx) error {
			trail, err := tx.TriageTrail(ctx, w[0].LineageID)
			same(t, "lines in the trail", len(trail), 2)
			same(t, "the last one", []any{trail[1].After.State, trail[1].By, trail[1].Before}, []any{model.TriageReopened, made.Actor(), got})
			return err
		})
		list := events(t, s, model.Deployment{ID: d.id})
		same(t, "the audit trail", []string{list[len(list)-2].Action, list[len(list)-1].Action}, []string{"exception.create", "exception.delete"})
		same(t, "what it tells", decodeMap(t, list[len(list)-2].After), map[string]any{
			"state": "active", "target": "rule-1", "paths": []any{"src/0.go"}, "projects": []any{"Acme/*"}, "reason": "tested", "triage_reason": "acceptable_risk",
			"until": want.Until.Format(time.RFC3339),
		})
	})
}

// TestExceptionMatchesVulnerabilityAliases checks names from advisories and from scanners.
func TestExceptionMatchesVulnerabilityAliases(t *testing.T) {
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		d := newTenant(t, s)
		putAdvisories(t, s, record("GHSA-AAAA", []string{"npm/p"}, "CVE-2026-1"))
		group := d.groupsOf("npm/p")[0].ID
		w := d.findings(d.project("acme/payments"), 4, func(i int, w *model.FindingWrite) {
			w.IssueType, w.RuleName = model.SCA, "sca-rule"
			subject := model.Subject{Lockfile: "web/package-lock.json", Ecosystem: "npm", Package: "p", Version: "1"}
			switch i {
			case 0:
				subject.Vulnerability = "cve-2026-1"
			case 1:
				subject.Vulnerability, subject.Group = "CVE-2026-1", group
			case 2:
				subject.Vulnerability, subject.Lockfile = "CVE-2026-1", "other/package-lock.json"
			case 3:
				subject.Vulnerability = "CVE-2026-2"
			}
			w.Subject = &subject
		})
		e := accepted("ghsa-aaaa")
		e.Paths = model.PathGlobs{"web/"}
		_, changed := d.except(e)
		same(t, "changed", changed, 2)
		for i, state := range []model.TriageState{model.TriageIgnored, model.TriageIgnored, model.TriageUntriaged, model.TriageUntriaged} {
			same(t, w[i].Subject.Vulnerability, d.triageOf(w[i].LineageID).State, state)
		}
	})
}

// TestExceptionMustCoverAllPaths checks that an exception for paths does not apply if the
// finding is at another path on one branch.
func TestExceptionMustCoverAllPaths(t *testing.T) {
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		d := newTenant(t, s)
		w := d.findings(d.project("acme/payments"), 2, func(i int, w *model.FindingWrite) {
			w.Path = []string{"tests/a.go", "src/a.go"}[i]
			w.Ref = []string{"refs/heads/main", "refs/heads/dev"}[i]
		})
		d.update(func(ctx context.Context, tx *store.Tx) error {
			into := model.Lineage{ID: w[0].LineageID}
			return tx.MergeLineages(ctx, []model.LineageMerge{{Into: into, From: []int64{w[1].LineageID}}})
		})
		e := accepted("rule-1")
		e.Paths = model.PathGlobs{"tests/"}
		_, changed := d.except(e)
		same(t, "while it lives elsewhere", changed, 0)
		d.update(func(ctx context.Context, tx *store.Tx) error {
			w[1].LineageID, w[1].State = w[0].LineageID, model.Fixed
			if err := tx.UpdateFindings(ctx, w[1:]); err != nil {
				return err
			}
			return exceptions.Reevaluate(ctx, tx, []int64{w[0].LineageID})
		})
		same(t, "once it is fixed there", d.triageOf(w[0].LineageID).State, model.TriageIgnored)
		e.Paths = model.PathGlobs{"src/"}
		d.except(e)
		d.update(func(ctx context.Context, tx *store.Tx) error {
			w[1].State = model.Unresolved
			if err := tx.UpdateFindings(ctx, w[1:]); err != nil {
				return err
			}
			return exceptions.Reevaluate(ctx, tx, []int64{w[0].LineageID})
		})
		same(t, "two exceptions cover it together", d.triageOf(w[0].LineageID).State, model.TriageIgnored)
	})
}

func TestInvalidExceptionsAreRejected(t *testing.T) {
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		d := newTenant(t, s)
		for member, edit := range map[string]func(*model.Exception){
			"target":        func(e *model.Exception) { e.Target = "" },
			"reason":        func(e *model.Exception) { e.Reason = " " },
			"triage_reason": func(e *model.Exception) { e.TriageReason = 0 },
			"until":         func(e *model.Exception) { e.Until = storetest.Epoch.Add(-time.Hour) },
			"projects":      func(e *model.Exception) { e.Projects = model.ProjectGlobs{""} },
			"paths":         func(e *model.Exception) { e.Paths = model.PathGlobs{"!x"} },
		} {
			e := accepted("rule-1")
			edit(&e)
			err := s.Update(t.Context(), d.id, storetest.Actor, func(ctx context.Context, tx *store.Tx) error {
				_, _, err := exceptions.Add(ctx, tx, e)
				return err
			})
			invalid(t, member, err, member)
		}
	})
}

// follow evaluates changes without an upload.
func follow(ctx context.Context, tx *store.Tx) (int, error) {
	due, err := exceptions.FindDue(ctx, tx)
	if err != nil {
		return 0, err
	}
	return exceptions.ApplyDue(ctx, tx, due)
}

// TestPageCostIsIndependentOfTotal checks that round trips and memory for a page do not depend on the total number
// of rows. It reads exceptions and VEX documents with restricted and unrestricted tokens.
func TestPageCostIsIndependentOfTotal(t *testing.T) {
	for _, engine := range storetest.Engines {
		t.Run(engine, func(t *testing.T) {
			c, trips := storetest.Database(t, engine, storetest.NewClock()), func() int { return 0 }
			if engine == "postgres" {
				var proxy *storetest.Proxy
				proxy, c = storetest.Through(t, c)
				trips = proxy.RoundTrips
			}
			d := newTenant(t, storetest.Open(t, c))
			d.lists(20, 20)
			roundTrips, bytes := d.leastOfFirstPages(trips)
			d.lists(1000, 200)
			roundTripsAfter, bytesThen := d.leastOfFirstPages(trips)
			same(t, "round trips", roundTripsAfter, roundTrips)
			if bytesThen > 2*bytes {
				t.Errorf("pages among many take %d bytes, among few %d", bytesThen, bytes)
			}
		})
	}
}

// lists adds exceptions and VEX documents, half of each for one project.
func (d tenant) lists(n, documents int) {
	d.t.Helper()
	p := d.project("acme/payments")
	d.update(func(ctx context.Context, tx *store.Tx) error {
		for i := range n {
			e := accepted(fmt.Sprint("rule-", i))
			if e.State = model.ExceptionActive; i%2 == 0 {
				e.Projects = model.ProjectGlobs{"acme/payments"}
			}
			if _, err := tx.AddException(ctx, e); err != nil {
				return err
			}
		}
		for i := range documents {
			doc := vexOf(fmt.Sprint("urn:", tx.Now().UnixMicro(), ":", i), model.VEXFixed, "")
			if doc.ReceivedAt = tx.Now(); i%2 == 0 {
				doc.ProjectID = p.ID
			}
			if _, err := tx.SaveVEX(ctx, doc, model.VEXDocument{}); err != nil {
				return err
			}
		}
		return nil
	})
}

// leastOfFirstPages returns the minimum of several reads. The first one prepares statements, and
// connections that were idle for a second are checked before use.
func (d tenant) leastOfFirstPages(trips func() int) (roundTrips int, bytes uint64) {
	d.t.Helper()
	roundTrips, bytes = d.firstPages(trips)
	for range 4 {
		repeated, allocated := d.firstPages(trips)
		roundTrips, bytes = min(roundTrips, repeated), min(bytes, allocated)
	}
	return roundTrips, bytes
}

// firstPages reads the first page of both lists, for restricted and unrestricted tokens. It returns
// the round trips and allocated bytes.
func (d tenant) firstPages(trips func() int) (roundTrips int, bytes uint64) {
	d.t.Helper()
	var before, after runtime.MemStats
	roundTrips = -trips()
	runtime.ReadMemStats(&before)
	for _, globs := range []model.ProjectGlobs{nil, {"acme/*"}} {
		d.view(func(ctx context.Context, tx *store.Tx) error {
			list, more, err := tx.ExceptionPage(ctx, store.ExceptionQuery{Kind: model.ExceptionOfTarget, Globs: globs, Limit: 10})
			d.check(err)
			documents, moreDocuments, err := tx.ExceptionPage(ctx, store.ExceptionQuery{Kind: model.ExceptionOfDocument, Globs: globs, Limit: 10})
			d.check(err)
			if len(list) != 10 || len(documents) != 10 || globs == nil && (!more || !moreDocuments) {
				return fmt.Errorf("%d exceptions, more: %t; %d documents, more: %t", len(list), more, len(documents), moreDocuments)
			}
			return nil
		})
	}
	runtime.ReadMemStats(&after)
	return roundTrips + trips(), after.TotalAlloc - before.TotalAlloc
}

// TestPagesContainEachRowOnce checks paging for restricted and unrestricted tokens.
func TestPagesContainEachRowOnce(t *testing.T) {
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		d := newTenant(t, s)
		p, other := d.project("acme/payments"), d.project("acme/shop")
		for i := range 9 {
			e, doc := accepted(fmt.Sprint("rule-", i)), vexOf(fmt.Sprint("urn:", i), model.VEXFixed, "")
			switch i % 3 {
			case 0:
				e.Projects, doc.ProjectID = model.ProjectGlobs{"acme/payments"}, p.ID
			case 1:
				e.Projects, doc.ProjectID = model.ProjectGlobs{"acme/shop"}, other.ID
			}
			d.except(e)
			d.putVEX(doc)
		}
		for _, c := range []struct {
			globs model.ProjectGlobs
			want  int
		}{{nil, 9}, {model.ProjectGlobs{"acme/payments"}, 3}, {model.ProjectGlobs{"none/*"}, 0}} {
			d.view(func(ctx context.Context, tx *store.Tx) error {
				listed, documents := map[int64]int{}, map[int64]int{}
				for before, more := int64(0), true; more; {
					list, m, err := tx.ExceptionPage(ctx, store.ExceptionQuery{Kind: model.ExceptionOfTarget, Globs: c.globs, Before: before, Limit: 2})
					d.check(err)
					for _, e := range list {
						listed[e.ID]++
						before = e.ID
					}
					more = m
				}
				for before, more := int64(0), true; more; {
					list, m, err := tx.ExceptionPage(ctx, store.ExceptionQuery{Kind: model.ExceptionOfDocument, Globs: c.globs, Before: before, Limit: 2})
					d.check(err)
					for _, h := range list {
						documents[h.ID]++
						before = h.ID
					}
					more = m
				}
				for _, found := range []map[int64]int{listed, documents} {
					same(t, fmt.Sprint("rows for ", c.globs), len(found), c.want)
					for id, n := range found {
						same(t, fmt.Sprint("times that ", id, " is listed"), n, 1)
					}
				}
				return nil
			})
		}
	})
}
