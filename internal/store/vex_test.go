package store_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/redoubt/redoubt/internal/exceptions"
	"github.com/redoubt/redoubt/internal/model"
	"github.com/redoubt/redoubt/internal/store"
	"github.com/redoubt/redoubt/internal/testutil/storetest"
)

// vexOf returns a document with one statement about CVE-2021-44228 in the npm package p.
func vexOf(name string, status model.VEXStatus, version string) model.VEXDocument {
	return model.VEXDocument{Name: name, Format: "OpenVEX", Author: "acme", Statements: []model.VEXStatement{{
		Names: []string{"CVE-2021-44228"}, Packages: []model.VEXPackage{{Key: "npm/p", Version: version}}, Status: status, Detail: "looked at",
	}}}
}

func (d tenant) putVEX(doc model.VEXDocument) (r model.VEXReceipt) {
	d.t.Helper()
	d.update(func(ctx context.Context, tx *store.Tx) (err error) {
		r, err = exceptions.PutVEX(ctx, tx, doc)
		return err
	})
	return r
}

// vulnerable creates n findings in versions 1, 2, … of the npm package p.
func (d tenant) vulnerable(p model.Project, n int) []model.FindingWrite {
	return d.findings(p, n, func(i int, w *model.FindingWrite) {
		w.IssueType, w.Subject = model.SCA, &model.Subject{
			Lockfile: "package-lock.json", Ecosystem: "npm", Package: "p", Version: fmt.Sprint(i + 1), Vulnerability: "cve-2021-44228",
		}
	})
}

func (d tenant) states(w []model.FindingWrite) (list []string) {
	for i := range w {
		list = append(list, d.triageOf(w[i].LineageID).State.String())
	}
	return list
}

func TestVEXDocumentsSetTriageAndAreSuperseded(t *testing.T) {
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		d := newTenant(t, s)
		w := d.vulnerable(d.project("acme/payments"), 2)
		before := d.version()
		first := vexOf("urn:a", model.VEXNotAffected, "1")
		first.Version, first.IssuedAt = 2, storetest.Epoch.Add(-time.Hour)
		receipt := d.putVEX(first)
		same(t, "outcome", []any{receipt.Outcome, receipt.Statements, receipt.Changed}, []any{model.VEXActive, 1, 1})
		by := model.Actor{Kind: "vex", ID: fmt.Sprint(receipt.Document.ID)}
		same(t, "the version it names, and no other", d.states(w), []string{"ignored", "untriaged"})
		same(t, "triage", d.triageOf(w[0].LineageID), model.Triage{
			State: model.TriageIgnored, Reason: model.NoTriageReason, Comment: "not_affected: looked at",
			At: receipt.Document.ReceivedAt, By: by, Automatic: true,
		})
		same(t, "fed", feedOf(d, before).lineageIDs(), []int64{w[0].LineageID})
		d.silently("the same again", func(ctx context.Context, tx *store.Tx) error {
			r, err := exceptions.PutVEX(ctx, tx, first)
			same(t, "outcome", r.Outcome, model.VEXSame)
			return err
		})

		older := vexOf("urn:a", model.VEXAffected, "")
		older.Version = 1
		same(t, "an older one", d.putVEX(older).Outcome, model.VEXOlder)
		same(t, "changed nothing", d.states(w), []string{"ignored", "untriaged"})
		newer := vexOf("urn:a", model.VEXUnderInvestigation, "")
		newer.Version = 3
		same(t, "a newer one", d.putVEX(newer).Changed, 2)
		same(t, "says another thing, of every version", d.states(w), []string{"reviewing", "reviewing"})

		d.view(func(ctx context.Context, tx *store.Tx) error {
			list, _, err := tx.ExceptionPage(ctx, store.ExceptionQuery{State: model.ExceptionActive, Kind: model.ExceptionOfDocument, Limit: 10})
			same(t, "held", len(list), 1)
			same(t, "it", []any{list[0].ID, list[0].Document.Version, list[0].Statements}, []any{receipt.Document.ID, int64(3), 1})
			decides, err3 := tx.CountByException(ctx, list...)
			d.check(err3)
			same(t, "what it decides", decides, map[int64]int{receipt.Document.ID: 2})
			trail, err2 := tx.TriageTrail(ctx, w[0].LineageID)
			d.check(err2)
			same(t, "the trail names the document", []any{trail[0].By, trail[0].Note},
				[]any{by, "OpenVEX urn:a by acme of " + first.IssuedAt.Format(time.DateOnly) + ": not_affected. looked at"})
			return err
		})
		newer.Statements, newer.Version = nil, 4
		gone := d.putVEX(newer)
		same(t, "one that says nothing", []any{gone.Outcome, gone.Changed}, []any{model.VEXWithdrawn, 2})
		same(t, "what it decided", d.states(w), []string{"reopened", "reopened"})
	})
}

func TestRemovedVEXDocumentReopensFindings(t *testing.T) {
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		d := newTenant(t, s)
		w := d.vulnerable(d.project("acme/payments"), 1)
		receipt := d.putVEX(vexOf("urn:a", model.VEXFixed, ""))
		d.update(func(ctx context.Context, tx *store.Tx) error {
			_, changed, err := exceptions.Remove(ctx, tx, receipt.Document.ID)
			same(t, "reopened", len(changed), 1)
			return err
		})
		got := d.triageOf(w[0].LineageID)
		same(t, "triage", []any{got.State, got.Comment, got.Automatic}, []any{model.TriageReopened, "", true})
		d.silently("nothing is left to do", func(ctx context.Context, tx *store.Tx) error {
			due, err := exceptions.FindDue(ctx, tx)
			same(t, "due", len(due.Lineages), 0)
			return err
		})
		list := events(t, s, model.Deployment{ID: d.id})
		same(t, "audit", []string{list[len(list)-2].Action, list[len(list)-1].Action}, []string{"vex.create", "vex.delete"})
		same(t, "what it tells", decodeMap(t, list[len(list)-1].Before), map[string]any{"name": "urn:a", "format": "OpenVEX", "author": "acme", "statements": 1.0})
	})
}

func TestVEXDocumentsApplyToProjectAndRef(t *testing.T) {
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		d := newTenant(t, s)
		p, other := d.project("acme/payments"), d.project("acme/shop")
		w, o := d.vulnerable(p, 1), d.vulnerable(other, 1)
		doc := vexOf("urn:a", model.VEXNotAffected, "")
		doc.ProjectID, doc.Ref = p.ID, "refs/heads/feature"
		same(t, "of another ref", d.putVEX(doc).Changed, 0)
		doc.Ref = ""
		d.putVEX(doc)
		same(t, "of the project", append(d.states(w), d.states(o)...), []string{"ignored", "untriaged"})

		wide := vexOf("urn:b", model.VEXUnderInvestigation, "")
		wide.Projects = model.ProjectGlobs{"ACME/*"}
		d.putVEX(wide)
		same(t, "the project's own counts first", append(d.states(w), d.states(o)...), []string{"ignored", "reviewing"})

		d.update(func(ctx context.Context, tx *store.Tx) error { return tx.DeleteProject(ctx, p.ID) })
		d.view(func(ctx context.Context, tx *store.Tx) error {
			list, _, err := tx.ExceptionPage(ctx, store.ExceptionQuery{State: model.ExceptionActive, Kind: model.ExceptionOfDocument, Limit: 10})
			same(t, "held without the project", len(list), 1)
			return err
		})
	})
}

func TestVEXMatchesVulnerabilityAliases(t *testing.T) {
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		d := newTenant(t, s)
		w := d.vulnerable(d.project("acme/payments"), 1)
		doc := vexOf("urn:a", model.VEXNotAffected, "")
		doc.Statements[0].Names = []string{"GHSA-JFH8-C2JP-5V3Q"}
		same(t, "by an unknown name", d.putVEX(doc).Changed, 0)
		putAdvisories(t, s, record("GHSA-JFH8-C2JP-5V3Q", []string{"npm/p"}, "CVE-2021-44228"))
		d.update(func(ctx context.Context, tx *store.Tx) error {
			n, err := follow(ctx, tx)
			same(t, "once the advisories know the name", n, 1)
			return err
		})
		same(t, "state", d.states(w), []string{"ignored"})
		later := d.vulnerable(d.project("acme/shop"), 1)
		d.update(func(ctx context.Context, tx *store.Tx) error {
			return exceptions.Reevaluate(ctx, tx, []int64{later[0].LineageID})
		})
		same(t, "what comes later", d.states(later), []string{"ignored"})
	})
}
