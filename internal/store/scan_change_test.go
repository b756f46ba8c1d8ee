package store_test

import (
	"context"
	"testing"
	"time"

	"github.com/redoubt/redoubt/internal/model"
	"github.com/redoubt/redoubt/internal/store"
	"github.com/redoubt/redoubt/internal/testutil/storetest"
)

func TestScanChanges(t *testing.T) {
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		d := newTenant(t, s)
		p := d.project("acme/payments")
		var first, second model.Scan
		d.update(func(ctx context.Context, tx *store.Tx) (err error) {
			for i, scan := range []*model.Scan{&first, &second} {
				*scan = model.Scan{
					ProjectID: p.ID, Ref: "refs/heads/main", Source: "semgrep", Full: true, Status: model.ScanCompleted,
					StartedAt: storetest.Epoch.Add(time.Duration(i) * time.Hour), CompletedAt: storetest.Epoch, Unread: [][]string{{"old.lock"}, {"pom.xml"}}[i],
				}
				if scan.ID, err = tx.AddScan(ctx, *scan); err != nil {
					return err
				}
			}
			return nil
		})
		writes := d.findings(p, 4, func(i int, w *model.FindingWrite) {
			w.Ref, w.FirstScanID, w.State = "refs/heads/main", first.ID, model.Unresolved
			if i == 3 {
				w.FirstScanID = second.ID
			}
		})
		d.update(func(ctx context.Context, tx *store.Tx) error {
			return tx.AddEvents(ctx, []model.FindingEvent{
				{FindingID: writes[0].ID, ScanID: second.ID, Kind: model.EventFixed},
				{FindingID: writes[1].ID, ScanID: second.ID, Kind: model.EventMoved, Detail: `{"from":"a"}`},
				// not a change
				{FindingID: writes[3].ID, ScanID: second.ID, Kind: model.EventPrecedent, Detail: `{"finding_id":1}`},
			})
		})
		d.view(func(ctx context.Context, tx *store.Tx) error {
			changes, counts, err := tx.ScanChanges(ctx, second, "", 0, 10)
			d.check(err)
			same(t, "counts", counts, map[model.FindingEventKind]int{model.EventFixed: 1, model.EventMoved: 1, store.EventNew: 1})
			same(t, "changes", []any{len(changes), changes[0].Kind, changes[0].FindingID, changes[1].Detail, changes[2].FindingID},
				[]any{3, model.EventFixed, writes[0].ID, `{"from":"a"}`, writes[3].ID})
			changes, _, err = tx.ScanChanges(ctx, second, "", 1, 1)
			d.check(err)
			same(t, "the second", []any{len(changes), changes[0].Kind}, []any{1, model.EventMoved})
			changes, counts, err = tx.ScanChanges(ctx, second, model.EventFixed, 0, 10)
			d.check(err)
			same(t, "those of one kind", []any{len(changes), changes[0].FindingID, len(counts)}, []any{1, writes[0].ID, 3})
			sources, err := tx.UnresolvedBySource(ctx, p.ID, "refs/heads/main")
			d.check(err)
			same(t, "unresolved", sources, []store.SourceCount{{Source: writes[0].Source, Count: 4}})
			unread, err := tx.ScansWithUnread(ctx, storetest.Epoch.Add(-time.Hour), 10)
			d.check(err)
			same(t, "scans with unread lockfiles", len(unread), 1)
			same(t, "unread", unread[0].Unread, []string{"pom.xml"})
			return nil
		})
	})
}

func TestJobsEcosystemsAndRuleCounts(t *testing.T) {
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		d := newTenant(t, s)
		w := d.findings(d.project("acme/payments"), 1, nil)[0]
		d.update(func(ctx context.Context, tx *store.Tx) error {
			for _, token := range []string{"a", "b", "c"} {
				if _, err := tx.AddJob(ctx, model.Job{Kind: map[string]string{"a": "other"}[token] + "sbom", Token: token, Input: []byte("{}")}); err != nil {
					return err
				}
			}
			return nil
		})
		d.view(func(ctx context.Context, tx *store.Tx) error {
			jobs, err := tx.Jobs(ctx, "sbom", 5)
			d.check(err)
			same(t, "jobs, newest first", []string{jobs[0].Token, jobs[1].Token}, []string{"c", "b"})
			ecosystems, err := tx.Ecosystems(ctx)
			d.check(err)
			same(t, "ecosystems of nothing", ecosystems, []string{})
			counts, err := tx.PolicyRuleCounts(ctx)
			d.check(err)
			same(t, "rules", []any{len(counts), counts[0].Rules, counts[0].Mode}, []any{1, 1, model.ModeMonitor})
			for text, want := range map[string]int{"": 1, w.RuleName[1:4]: 1, "%": 0, "no such": 0} {
				rules, more, err := tx.FindPolicyRules(ctx, counts[0].PolicyID, text, 0, 0, 10)
				d.check(err)
				same(t, "rules called "+text, []any{len(rules), more}, []any{want, false})
			}
			rules, _, err := tx.FindPolicyRules(ctx, counts[0].PolicyID, "", model.ModeBlock, 0, 10)
			same(t, "blocking rules", len(rules), 0)
			return err
		})
	})
}
