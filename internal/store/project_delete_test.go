package store_test

import (
	"context"
	"testing"

	"github.com/redoubt/redoubt/internal/model"
	"github.com/redoubt/redoubt/internal/store"
	"github.com/redoubt/redoubt/internal/testutil/storetest"
)

// furnished creates a project with rows in many tables.
func furnished(d tenant, name string) (model.Project, []model.FindingWrite) {
	d.t.Helper()
	p := d.project(name)
	findings := d.findings(p, 3, nil)
	d.update(func(ctx context.Context, tx *store.Tx) error {
		if _, err := tx.RenameProject(ctx, p.ID, name+"-renamed"); err != nil {
			return err
		}
		if _, err := tx.UpdateProject(ctx, p.ID, store.ProjectPatch{Tags: &[]string{"a"}}); err != nil {
			return err
		}
		scan := model.Scan{ProjectID: p.ID, Ref: main, Source: "semgrep", StartedAt: tx.Now(), Outcome: model.ScanApplied}
		if _, err := tx.AddScan(ctx, scan); err != nil {
			return err
		}
		if err := tx.AddEvents(ctx, []model.FindingEvent{{FindingID: findings[0].ID, Kind: model.EventFixed}}); err != nil {
			return err
		}
		lineage := findings[0].LineageID
		event := model.TriageEvent{LineageID: lineage, At: tx.Now(), By: tx.Actor(), After: model.Triage{State: model.TriageIgnored}}
		if err := tx.UpdateTriage(ctx, []model.TriageEvent{event}); err != nil {
			return err
		}
		return putLockfile(ctx, tx, p, main, "go.sum", "left-pad")
	})
	return p, findings
}

// putLockfile states a lockfile with one package.
func putLockfile(ctx context.Context, tx *store.Tx, p model.Project, ref, path, name string) error {
	_, _, err := tx.PutInventory(ctx, model.InventoryStatement{
		ProjectID: p.ID, Ref: ref, Source: "semgrep", At: tx.Now(), Digest: model.Digest{byte(len(name))},
		Inventory: model.Inventory{Lockfile: path, Dependencies: []model.Dependency{{Lockfile: path, Ecosystem: "npm", Name: name, Version: "1.0.0"}}},
	})
	return err
}

func TestDeletedProjectLeavesNothingButItsTrail(t *testing.T) {
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		d := newTenant(t, s)
		acme := deployment(t, s, "acme")
		furnished(d, "acme/stays")
		before := counts(t, s, acme)
		trail := len(events(t, s, acme))
		p, findings := furnished(d, "acme/goes")
		version := d.version()
		holding := func() (h store.ProjectHolding) {
			d.view(func(ctx context.Context, tx *store.Tx) (err error) {
				h, err = tx.ProjectHolding(ctx, p.ID)
				return err
			})
			return h
		}
		same(t, "what goes with it", holding(), store.ProjectHolding{Findings: len(findings), Decisions: 1, Scans: 1, Lockfiles: 1, Names: 1})
		d.update(func(ctx context.Context, tx *store.Tx) error { return tx.DeleteProject(ctx, p.ID) })
		same(t, "remaining", holding(), store.ProjectHolding{})

		after := counts(t, s, acme)
		// audit trail, feed and dictionaries
		for _, table := range []string{"audit_event", "change", "rule", "policy_rule", "package", "package_version"} {
			delete(before, table)
			delete(after, table)
		}
		same(t, "rows of the deployment", after, before)
		all := events(t, s, acme)
		if len(all) <= trail+1 || all[len(all)-1].Action != "project.delete" || all[len(all)-1].After != "" {
			t.Errorf("the trail ends with %+v", all[len(all)-1])
		}
		var gone model.Batch
		_, stale, err := s.Feed(t.Context(), d.id, version, func(b *model.Batch) error {
			gone.DeletedProjects = append(gone.DeletedProjects, b.DeletedProjects...)
			gone.DeletedFindings = append(gone.DeletedFindings, b.DeletedFindings...)
			gone.DeletedLineages = append(gone.DeletedLineages, b.DeletedLineages...)
			return nil
		})
		if err != nil || stale {
			t.Fatal(err, stale)
		}
		same(t, "the projects that the feed tells are gone", gone.DeletedProjects, []int64{p.ID})
		same(t, "how many findings and lineages", []int{len(gone.DeletedFindings), len(gone.DeletedLineages)}, []int{len(findings), len(findings)})
		d.view(func(ctx context.Context, tx *store.Tx) error {
			for _, name := range []string{"acme/goes", "acme/goes-renamed"} {
				_, err := tx.ProjectByName(ctx, name)
				fails(t, name, err, model.ErrNotFound)
			}
			return nil
		})
		err = s.Update(t.Context(), d.id, storetest.Actor, func(ctx context.Context, tx *store.Tx) error { return tx.DeleteProject(ctx, p.ID) })
		fails(t, "deleting it again", err, model.ErrNotFound)
	})
}

func TestDeleteRefMarksFindingsRemoved(t *testing.T) {
	const branch = "refs/heads/branch"
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		d := newTenant(t, s)
		p, onMain := furnished(d, "acme/a")
		onBranch := d.findings(p, 2, func(_ int, w *model.FindingWrite) { w.Ref = branch })
		d.update(func(ctx context.Context, tx *store.Tx) error {
			if _, err := tx.AddScan(ctx, model.Scan{ProjectID: p.ID, Ref: branch, StartedAt: tx.Now()}); err != nil {
				return err
			}
			return putLockfile(ctx, tx, p, branch, "go.sum", "other")
		})
		before := counts(t, s, deployment(t, s, "acme"))
		var now model.Finding
		d.update(func(ctx context.Context, tx *store.Tx) error {
			if err := tx.DeleteRef(ctx, p.ID, branch); err != nil {
				return err
			}
			for _, w := range onBranch {
				got, err := tx.Finding(ctx, w.ID)
				if err != nil {
					return err
				}
				now = got.Finding
				if now.State != model.StateRemoved || now.StateUpdatedAt != tx.Now() || now.RelevantSince != w.RelevantSince {
					t.Errorf("on the deleted ref is %+v", now)
				}
				history, err := tx.History(ctx, w.ID)
				if err != nil || len(history) != 1 || history[0].Kind != model.EventRemoved {
					t.Errorf("its history is %v, %v", history, err)
				}
			}
			for _, w := range onMain {
				if got, err := tx.Finding(ctx, w.ID); err != nil || got.State != model.Unresolved {
					t.Errorf("on the other ref is %+v, %v", got, err)
				}
			}
			return nil
		})
		after := counts(t, s, deployment(t, s, "acme"))
		same(t, "lockfiles and dependencies that went", []int{before["inventory"] - after["inventory"], before["dependency"] - after["dependency"]}, []int{1, 1})
		same(t, "lineages that went", before["lineage"]-after["lineage"], 0)
		d.silently("deleting it again", func(ctx context.Context, tx *store.Tx) error { return tx.DeleteRef(ctx, p.ID, branch) })
		d.update(func(ctx context.Context, tx *store.Tx) error {
			invalid(t, "the primary branch", tx.DeleteRef(ctx, p.ID, main), "ref")
			fails(t, "an unknown ref", tx.DeleteRef(ctx, p.ID, "refs/heads/none"), model.ErrNotFound)
			fails(t, "an unknown project", tx.DeleteRef(ctx, p.ID+1000, branch), model.ErrNotFound)
			return nil
		})
	})
}
