package store_test

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/redoubt/redoubt/internal/exceptions"
	"github.com/redoubt/redoubt/internal/model"
	"github.com/redoubt/redoubt/internal/store"
	"github.com/redoubt/redoubt/internal/testutil/storetest"
)

// judging is a transaction that records the evaluated lineages.
type judging struct {
	*store.Tx
	judged []int64
}

func (c *judging) ExceptionCases(ctx context.Context, ids []int64) ([]model.ExceptionCase, error) {
	c.judged = append(c.judged, ids...)
	return c.Tx.ExceptionCases(ctx, ids)
}

// judgedIn returns the lineages evaluated by a write, ascending.
func (d tenant) judgedIn(write func(ctx context.Context, tx *judging) error) []int64 {
	d.t.Helper()
	c := &judging{}
	d.update(func(ctx context.Context, tx *store.Tx) error {
		c.Tx = tx
		return write(ctx, c)
	})
	slices.Sort(c.judged)
	return slices.Compact(c.judged)
}

func lineagesOf(w []model.FindingWrite) (ids []int64) {
	for i := range w {
		ids = append(ids, w[i].LineageID)
	}
	slices.Sort(ids)
	return slices.Compact(ids)
}

// ofRule sets the rule of findings.
func ofRule(name string) func(int, *model.FindingWrite) {
	return func(_ int, w *model.FindingWrite) { w.RuleName = name }
}

func TestExceptionPreviewEvaluatesOnlyMatches(t *testing.T) {
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		d := newTenant(t, s)
		p := d.project("acme/payments")
		want := lineagesOf(d.findings(p, 2, ofRule("rule-3")))
		d.findings(p, 5, ofRule("rule-2"))
		d.vulnerable(p, 3)
		d.except(accepted("rule-2"))
		d.putVEX(vexOf("urn:a", model.VEXNotAffected, ""))
		same(t, "judged before it is added", d.judgedIn(func(ctx context.Context, tx *judging) error {
			n, err := exceptions.PreviewAdding(ctx, tx, accepted("rule-3"))
			same(t, "would be ignored", len(n), 2)
			return err
		}), want)
		made, _ := d.except(accepted("rule-3"))
		same(t, "judged before it is removed", d.judgedIn(func(ctx context.Context, tx *judging) error {
			n, err := exceptions.PreviewRemoving(ctx, tx, made)
			same(t, "would be reopened", len(n), 2)
			return err
		}), want)
		same(t, "judged when it is removed", d.judgedIn(func(ctx context.Context, tx *judging) error {
			_, n, err := exceptions.Remove(ctx, tx, made.ID)
			same(t, "reopened", len(n), 2)
			return err
		}), want)
	})
}

func TestVEXDocumentsEvaluateOnlyMatches(t *testing.T) {
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		d := newTenant(t, s)
		p, other := d.project("acme/payments"), d.project("acme/shop")
		want := lineagesOf(d.vulnerable(p, 3))
		d.vulnerable(other, 3)
		d.findings(p, 5, nil)
		for i, of := range []model.Project{p, other} {
			doc := vexOf(fmt.Sprint("urn:", i), model.VEXNotAffected, "")
			doc.ProjectID = of.ID
			same(t, "decided about", d.putVEX(doc).Changed, 3)
		}
		doc := vexOf("urn:0", model.VEXUnderInvestigation, "")
		doc.ProjectID, doc.Version = p.ID, 2
		same(t, "judged by a newer one", d.judgedIn(func(ctx context.Context, tx *judging) error {
			_, err := exceptions.PutVEX(ctx, tx, doc)
			return err
		}), want)
		same(t, "judged by the same again", d.judgedIn(func(ctx context.Context, tx *judging) error {
			_, err := exceptions.PutVEX(ctx, tx, doc)
			return err
		}), []int64(nil))
		doc.Statements, doc.Version = nil, 3
		same(t, "judged when it is withdrawn", d.judgedIn(func(ctx context.Context, tx *judging) error {
			_, err := exceptions.PutVEX(ctx, tx, doc)
			return err
		}), want)
	})
}

// findingsOnTwoRefs creates one finding at tests/a.go on main and src/a.go on dev.
func (d tenant) findingsOnTwoRefs(p model.Project) []model.FindingWrite {
	d.t.Helper()
	w := d.findings(p, 2, func(i int, w *model.FindingWrite) {
		w.Path, w.Ref = []string{"tests/a.go", "src/a.go"}[i], []string{"refs/heads/main", "refs/heads/dev"}[i]
	})
	d.update(func(ctx context.Context, tx *store.Tx) error {
		into := model.Lineage{ID: w[0].LineageID}
		if _, err := tx.AddScan(ctx, model.Scan{ProjectID: p.ID, Ref: "refs/heads/dev", Source: "semgrep", StartedAt: tx.Now()}); err != nil {
			return err
		}
		return tx.MergeLineages(ctx, []model.LineageMerge{{Into: into, From: []int64{w[1].LineageID}}})
	})
	return w[:1]
}

// until returns an exception for rule-1 at some paths, for an hour.
func until(tx *store.Tx, paths ...string) model.Exception {
	e := accepted("rule-1")
	e.Paths, e.Until = paths, tx.Now().Add(time.Hour)
	return e
}

// decides stores a decision about a lineage, as users and undo do.
func decides(ctx context.Context, tx *store.Tx, lineage int64, after model.Triage) error {
	found, err := tx.Lineages(ctx, []int64{lineage})
	if err != nil {
		return err
	}
	return tx.UpdateTriage(ctx, []model.TriageEvent{{LineageID: lineage, At: tx.Now(), By: storetest.Actor, Before: found[lineage].Triage, After: after}})
}

// followed is a change without an upload. prepare creates the affected findings; only these may be
// evaluated.
type followed struct {
	prepare func(d tenant) []model.FindingWrite
	change  func(ctx context.Context, tx *store.Tx, w []model.FindingWrite) error // runs an hour later
	before  string
	after   string
}

func addExceptions(ctx context.Context, tx *store.Tx, list ...model.Exception) error {
	for _, e := range list {
		if _, _, err := exceptions.Add(ctx, tx, e); err != nil {
			return err
		}
	}
	return nil
}

var changesFollowed = map[string]followed{
	"an exception expires": {
		prepare: func(d tenant) []model.FindingWrite {
			w := d.findings(d.project("acme/payments"), 1, nil)
			d.update(func(ctx context.Context, tx *store.Tx) error { return addExceptions(ctx, tx, until(tx)) })
			return w
		},
		before: "ignored", after: "reopened",
	},
	"one of two exceptions that cover it together expires": {
		prepare: func(d tenant) []model.FindingWrite {
			w := d.findingsOnTwoRefs(d.project("acme/payments"))
			d.update(func(ctx context.Context, tx *store.Tx) error {
				e := accepted("rule-1")
				e.Paths = model.PathGlobs{"tests/"}
				return addExceptions(ctx, tx, e, until(tx, "src/"))
			})
			return w
		},
		before: "ignored", after: "reopened",
	},
	"two exceptions that both cover it expire at once": {
		prepare: func(d tenant) []model.FindingWrite {
			w := d.findings(d.project("acme/payments"), 1, nil)
			d.update(func(ctx context.Context, tx *store.Tx) error { return addExceptions(ctx, tx, until(tx), until(tx)) })
			return w
		},
		before: "ignored", after: "reopened",
	},
	"an exception expires, a document and another exception are left": {
		prepare: func(d tenant) []model.FindingWrite {
			w := d.vulnerable(d.project("acme/payments"), 1)
			d.putVEX(vexOf("urn:a", model.VEXUnderInvestigation, ""))
			d.update(func(ctx context.Context, tx *store.Tx) error {
				other := accepted("CVE-2021-44228")
				other.Projects = model.ProjectGlobs{"acme/*"}
				return addExceptions(ctx, tx, until(tx), other)
			})
			return w
		},
		before: "ignored", after: "ignored",
	},
	"an exception expires and a document is left": {
		prepare: func(d tenant) []model.FindingWrite {
			w := d.vulnerable(d.project("acme/payments"), 1)
			d.putVEX(vexOf("urn:a", model.VEXUnderInvestigation, ""))
			d.update(func(ctx context.Context, tx *store.Tx) error { return addExceptions(ctx, tx, until(tx)) })
			return w
		},
		before: "ignored", after: "reviewing",
	},
	"an exception expires of what a person decided about": {
		prepare: func(d tenant) []model.FindingWrite {
			w := d.findings(d.project("acme/payments"), 1, nil)
			d.update(func(ctx context.Context, tx *store.Tx) error {
				if err := addExceptions(ctx, tx, until(tx)); err != nil {
					return err
				}
				return decides(ctx, tx, w[0].LineageID, model.Triage{State: model.TriageFixing, At: tx.Now(), By: storetest.Actor})
			})
			return w
		},
		before: "fixing", after: "fixing",
	},
	"a project is renamed into an exception": {
		prepare: func(d tenant) []model.FindingWrite {
			w := d.findings(d.project("other/payments"), 1, nil)
			d.update(func(ctx context.Context, tx *store.Tx) error {
				e := accepted("rule-1")
				e.Projects = model.ProjectGlobs{"acme/*"}
				return addExceptions(ctx, tx, e)
			})
			return w
		},
		change: func(ctx context.Context, tx *store.Tx, w []model.FindingWrite) error {
			_, err := tx.RenameProject(ctx, w[0].ProjectID, "acme/payments")
			return err
		},
		before: "untriaged", after: "ignored",
	},
	"a project is renamed out of an exception": {
		prepare: func(d tenant) []model.FindingWrite {
			w := d.findings(d.project("acme/payments"), 1, nil)
			d.update(func(ctx context.Context, tx *store.Tx) error {
				e := accepted("rule-1")
				e.Projects = model.ProjectGlobs{"acme/*"}
				return addExceptions(ctx, tx, e)
			})
			return w
		},
		change: func(ctx context.Context, tx *store.Tx, w []model.FindingWrite) error {
			_, err := tx.RenameProject(ctx, w[0].ProjectID, "other/payments")
			return err
		},
		before: "ignored", after: "reopened",
	},
	"a project gets the address that a document names": {
		prepare: func(d tenant) []model.FindingWrite {
			w := d.vulnerable(d.project("acme/payments"), 1)
			doc := vexOf("urn:a", model.VEXNotAffected, "")
			doc.Statements[0].Product = []string{"https://git.example/pay"}
			d.putVEX(doc)
			return w
		},
		change: func(ctx context.Context, tx *store.Tx, w []model.FindingWrite) error {
			_, err := tx.UpdateProject(ctx, w[0].ProjectID, store.ProjectPatch{URL: new("https://git.example/pay")})
			return err
		},
		before: "untriaged", after: "ignored",
	},
	"a project is merged into one of an exception": {
		prepare: func(d tenant) []model.FindingWrite {
			w := d.findings(d.project("acme/from"), 1, nil)
			d.update(func(ctx context.Context, tx *store.Tx) error {
				e := accepted("rule-1")
				e.Projects = model.ProjectGlobs{"acme/into"}
				return addExceptions(ctx, tx, e)
			})
			d.project("acme/into")
			return w
		},
		change: func(ctx context.Context, tx *store.Tx, w []model.FindingWrite) error {
			into, err := tx.ProjectByName(ctx, "acme/into")
			if err != nil {
				return err
			}
			_, err = tx.MergeProjects(ctx, w[0].ProjectID, into.ID)
			return err
		},
		before: "untriaged", after: "ignored",
	},
	"the branch is deleted where it is not covered": {
		prepare: func(d tenant) []model.FindingWrite {
			w := d.findingsOnTwoRefs(d.project("acme/payments"))
			d.update(func(ctx context.Context, tx *store.Tx) error {
				e := accepted("rule-1")
				e.Paths = model.PathGlobs{"tests/"}
				return addExceptions(ctx, tx, e)
			})
			return w
		},
		change: func(ctx context.Context, tx *store.Tx, w []model.FindingWrite) error {
			return tx.DeleteRef(ctx, w[0].ProjectID, "refs/heads/dev")
		},
		before: "untriaged", after: "ignored",
	},
	"the branch is deleted that a document came with": {
		prepare: func(d tenant) []model.FindingWrite {
			p := d.project("acme/payments")
			d.findingsOnTwoRefs(p)
			w := d.findings(p, 1, func(_ int, w *model.FindingWrite) {
				w.Ref, w.IssueType = "refs/heads/dev", model.SCA
				w.Subject = &model.Subject{Ecosystem: "npm", Package: "p", Version: "1", Vulnerability: "CVE-2021-44228"}
			})
			doc := vexOf("urn:a", model.VEXNotAffected, "")
			doc.ProjectID, doc.Ref = p.ID, "refs/heads/dev"
			d.putVEX(doc)
			return w
		},
		change: func(ctx context.Context, tx *store.Tx, w []model.FindingWrite) error {
			return tx.DeleteRef(ctx, w[0].ProjectID, "refs/heads/dev")
		},
		before: "ignored", after: "reopened",
	},
	"a vulnerability gets an alias": {
		prepare: func(d tenant) []model.FindingWrite {
			w := d.vulnerable(d.project("acme/payments"), 1)
			putAdvisories(d.t, d.s, record("GHSA-JFH8-C2JP-5V3Q", []string{"npm/p"}))
			publish(d.t, d.s)
			doc := vexOf("urn:a", model.VEXNotAffected, "")
			doc.Statements[0].Names = []string{"GHSA-JFH8-C2JP-5V3Q"}
			d.putVEX(doc)
			return w
		},
		before: "untriaged", after: "ignored",
	},
	"a vulnerability loses an alias": {
		prepare: func(d tenant) []model.FindingWrite {
			w := d.vulnerable(d.project("acme/payments"), 1)
			putAdvisories(d.t, d.s, record("GHSA-AAAA", []string{"npm/other"}, "CVE-2021-44228"))
			publish(d.t, d.s)
			d.except(accepted("ghsa-aaaa"))
			return w
		},
		before: "ignored", after: "reopened",
	},
	"a person's decision ends": {
		prepare: func(d tenant) []model.FindingWrite {
			w := d.findings(d.project("acme/payments"), 1, nil)
			d.update(func(ctx context.Context, tx *store.Tx) error {
				after := model.Triage{State: model.TriageFixing, At: tx.Now(), By: storetest.Actor, Until: tx.Now().Add(time.Hour)}
				if err := decides(ctx, tx, w[0].LineageID, after); err != nil {
					return err
				}
				return addExceptions(ctx, tx, accepted("rule-1"))
			})
			return w
		},
		change: func(ctx context.Context, tx *store.Tx, _ []model.FindingWrite) error {
			_, err := tx.ExpireDecisions(ctx)
			return err
		},
		before: "fixing", after: "ignored",
	},
	"a person's decision is taken back": {
		prepare: func(d tenant) []model.FindingWrite {
			w := d.findings(d.project("acme/payments"), 1, nil)
			d.update(func(ctx context.Context, tx *store.Tx) error {
				if err := decides(ctx, tx, w[0].LineageID, model.Triage{State: model.TriageFixing, At: tx.Now(), By: storetest.Actor}); err != nil {
					return err
				}
				return addExceptions(ctx, tx, accepted("rule-1"))
			})
			return w
		},
		change: func(ctx context.Context, tx *store.Tx, w []model.FindingWrite) error {
			return decides(ctx, tx, w[0].LineageID, model.Triage{State: model.TriageUntriaged})
		},
		before: "fixing", after: "ignored",
	},
}

// aliasesChange contains later advisories by the name of the change.
var aliasesChange = map[string]model.Advisory{
	"a vulnerability gets an alias":  record("GHSA-JFH8-C2JP-5V3Q", []string{"npm/p"}, "CVE-2021-44228"),
	"a vulnerability loses an alias": record("GHSA-AAAA", []string{"npm/other"}),
}

// TestChangesWithoutUploadAreEvaluated checks that following a change evaluates exactly the
// affected findings. The result must be the expected triage and equal a complete evaluation.
// Another tenant with the same findings must be unaffected.
func TestChangesWithoutUploadAreEvaluated(t *testing.T) {
	for _, engine := range storetest.Engines {
		clock := storetest.NewClock()
		s := storetest.Open(t, storetest.Database(t, engine, clock))
		tenants := 0
		for what, f := range changesFollowed {
			tenants++
			t.Run(engine+"/"+what, func(t *testing.T) {
				made, err := s.CreateDeployment(t.Context(), fmt.Sprint("tenant-", tenants), "", storetest.Actor)
				if err != nil {
					t.Fatal(err)
				}
				d := tenant{t, s, made.ID}
				f.run(t, d, clock, what)
			})
		}
	}
}

func (f followed) run(t *testing.T, d tenant, clock *storetest.Clock, what string) {
	w := f.prepare(d)
	bystanders := d.project("acme/bystander")
	d.findings(bystanders, 4, ofRule("rule-quiet"))
	d.except(accepted("rule-quiet"))
	d.followAll()
	same(t, "before", d.states(w), []string{f.before})
	d.view(func(ctx context.Context, tx *store.Tx) error {
		due, err := exceptions.FindDue(ctx, tx)
		same(t, "looked at while nothing happens", due.Judged, 0)
		return err
	})

	clock.Advance(2 * time.Hour)
	if a, ok := aliasesChange[what]; ok {
		putAdvisories(t, d.s, a)
		publish(t, d.s)
	}
	if f.change != nil {
		d.update(func(ctx context.Context, tx *store.Tx) error { return f.change(ctx, tx, w) })
	}
	var due exceptions.Due
	d.view(func(ctx context.Context, tx *store.Tx) (err error) {
		due, err = exceptions.FindDue(ctx, tx)
		return err
	})
	if due.Judged > 2 {
		t.Errorf("%d findings were looked at", due.Judged)
	}
	judged := d.judgedIn(func(ctx context.Context, tx *judging) error {
		_, err := exceptions.ApplyDue(ctx, tx, due)
		return err
	})
	same(t, "judged again to be written", len(judged), len(due.Lineages))
	same(t, "after", d.states(w), []string{f.after})
	d.unmark()
	d.view(func(ctx context.Context, tx *store.Tx) error {
		due, err := exceptions.FindDue(ctx, tx)
		same(t, "left for who looks at everything", len(due.Lineages), 0)
		if due.Judged < 4 {
			t.Errorf("everything is %d findings", due.Judged)
		}
		return err
	})
}

// followAll follows changes until none is left.
func (d tenant) followAll() {
	d.t.Helper()
	for range 2 {
		d.update(func(ctx context.Context, tx *store.Tx) error { _, err := follow(ctx, tx); return err })
	}
}

// unmark resets the progress of the deployment.
func (d tenant) unmark() {
	d.t.Helper()
	d.update(func(ctx context.Context, tx *store.Tx) error {
		return tx.SaveExceptionMark(ctx, model.ExceptionMark{Version: -1, At: tx.Now()}) // earlier than any feed row
	})
}

// TestExceptionMarksAreIndependentPerTenant checks that marks and exceptions of tenants are
// independent.
func TestExceptionMarksAreIndependentPerTenant(t *testing.T) {
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		d := newTenant(t, s)
		made, err := s.CreateDeployment(t.Context(), "second", "", storetest.Actor)
		d.check(err)
		second := tenant{t, s, made.ID}
		var w [2][]model.FindingWrite
		var own model.Exception // of the second tenant
		for i, d := range []tenant{d, second} {
			w[i] = d.vulnerable(d.project("acme/payments"), 1)
			own, _ = d.except(accepted("GHSA-AAAA"))
			d.followAll()
		}
		putAdvisories(t, s, record("GHSA-AAAA", []string{"npm/p"}, "CVE-2021-44228"))
		publish(t, s)
		d.followAll()
		same(t, "the first is followed", append(d.states(w[0]), second.states(w[1])...), []string{"ignored", "untriaged"})
		putAdvisories(t, s, record("GHSA-BBBB", []string{"npm/q"}, "CVE-2021-0009"))
		publish(t, s)
		second.followAll()
		same(t, "and the second, later", second.states(w[1]), []string{"ignored"})
		d.except(accepted("rule-1"))
		same(t, "what one accepts", second.triageOf(w[1][0].LineageID).By, own.Actor())
	})
}
