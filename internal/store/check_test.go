package store_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/redoubt/redoubt/internal/model"
	"github.com/redoubt/redoubt/internal/store"
	"github.com/redoubt/redoubt/internal/testutil/storetest"
)

// checked returns the faults and the number of the checks of the engine and of a deployment.
func checked(t *testing.T, s *store.Store, d tenant) (faults string, checks int) {
	t.Helper()
	report := func(check string, found []string) {
		checks++
		for _, f := range found {
			faults += check + ": " + f + "\n"
		}
	}
	if err := s.CheckEngine(t.Context(), report); err != nil {
		t.Fatal(err)
	}
	d.view(func(ctx context.Context, tx *store.Tx) error { return tx.CheckRows(ctx, report) })
	return faults, checks
}

// TestCheckReportsDamagedRows damages rows directly in the database and expects faults.
func TestCheckReportsDamagedRows(t *testing.T) {
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		d := newTenant(t, s)
		p := d.project("acme/a")
		d.findings(p, 3, nil)
		if faults, checks := checked(t, s, d); faults != "" || checks < 5 {
			t.Errorf("%d checks of a whole database find:\n%s", checks, faults)
		}
		for statement, want := range map[string]string{
			`DELETE FROM finding_body WHERE deployment_id = %d AND finding_id = 1`:                                                       "finding has rows with the id 1, missing in finding_body",
			`DELETE FROM lineage WHERE deployment_id = %d AND id = (SELECT MAX(id) FROM lineage)`:                                        ", missing in lineage",
			`DELETE FROM change WHERE deployment_id = %[1]d AND version = (SELECT MAX(version) FROM change WHERE deployment_id = %[1]d)`: "the feed has -1 versions compared",
			`UPDATE finding SET project_id = 4711 WHERE deployment_id = %d AND id = 2`:                                                   "project_id 4711, missing in project",
		} {
			if err := s.ExecRaw(t.Context(), fmt.Sprintf(statement, d.id)); err != nil {
				t.Fatal(err)
			}
			if faults, _ := checked(t, s, d); !strings.Contains(faults, want) {
				t.Errorf("%q is not in:\n%s", want, faults)
			}
		}
	})
}

// TestCheckReportsMissingUnreferencedRows deletes rows that must exist although no other row refers to
// them. The deployment has rows in all tables.
func TestCheckReportsMissingUnreferencedRows(t *testing.T) {
	for _, c := range []struct{ damage, want string }{
		{"DELETE FROM lineage_identity WHERE deployment_id = %d", "is live, but its identity has no lineage"},
		{"DELETE FROM triage_event WHERE deployment_id = %d", "has a decision, but no row in triage_event"},
		{"DELETE FROM scan_account WHERE deployment_id = %d", "was applied, but has no row in scan_account"},
		{"DELETE FROM exception_statement WHERE deployment_id = %d", "has a wrong number of statements"},
		{"DELETE FROM ticket_finding WHERE deployment_id = %d", ", but is linked to 0"},
	} {
		t.Run(strings.Fields(c.damage)[2], func(t *testing.T) {
			storetest.Each(t, func(t *testing.T, s *store.Store) {
				d := newTenant(t, s)
				p := d.project("acme/a")
				found := d.findings(p, 2, nil)
				d.scanned(p, "main", true)
				twins{tenant: d}.triage(found[0].LineageID, model.TriageIgnored, 1)
				d.update(func(ctx context.Context, tx *store.Tx) error {
					doc := model.VEXDocument{Name: "urn:a", ProjectID: p.ID, Format: "openvex", ReceivedAt: tx.Now(), Statements: []model.VEXStatement{{Names: []string{"CVE-2024-1"}, Status: model.VEXFixed}}}
					_, err := tx.SaveVEX(ctx, doc, model.VEXDocument{})
					return err
				})
				if faults, _ := checked(t, s, d); faults != "" {
					t.Fatalf("nothing is damaged, and there is:\n%s", faults)
				}
				d.check(s.ExecRaw(t.Context(), fmt.Sprintf(c.damage, d.id)))
				if faults, _ := checked(t, s, d); !strings.Contains(faults, c.want) {
					t.Errorf("%q is not in:\n%s", c.want, faults)
				}
			})
		})
	}
}

// TestCheckAllowsOldScansWithoutAccounts checks that scans may lack accounts in a database created
// before the baseline.
func TestCheckAllowsOldScansWithoutAccounts(t *testing.T) {
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		d := newTenant(t, s)
		d.scanned(d.project("acme/a"), "main", true)
		d.check(s.ExecRaw(t.Context(), fmt.Sprintf("DELETE FROM scan_account WHERE deployment_id = %d", d.id)))
		d.check(s.ExecRaw(t.Context(), "INSERT INTO goose_db_version (version_id, is_applied) VALUES (1, TRUE)"))
		if faults, _ := checked(t, s, d); faults != "" {
			t.Error(faults)
		}
	})
}

// TestCountFindings checks the counts by project, type and status.
func TestCountFindings(t *testing.T) {
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		d := newTenant(t, s)
		p := d.project("acme/a")
		d.findings(p, 3, func(i int, w *model.FindingWrite) {
			if i == 0 {
				w.State = model.Fixed
			}
		})
		d.view(func(ctx context.Context, tx *store.Tx) error {
			got, err := tx.CountFindings(ctx)
			same(t, "counts", got, map[store.FindingCount]int{
				{ProjectID: p.ID, IssueType: model.SAST, Status: model.StatusOpen}:  2,
				{ProjectID: p.ID, IssueType: model.SAST, Status: model.StatusFixed}: 1,
			})
			return err
		})
	})
}

// TestCheckReportsBrokenReferences damages one reference after the other and expects a fault for each.
// The deployment has rows in all tables.
func TestCheckReportsBrokenReferences(t *testing.T) {
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		d := newTenant(t, s).noise()
		rows := func() (faults string) {
			d.view(func(ctx context.Context, tx *store.Tx) error {
				return tx.CheckRows(ctx, func(_ string, found []string) { faults += strings.Join(found, "\n") + "\n" })
			})
			return faults
		}
		const far = 1000000 // greater than any id
		for _, r := range store.Relations {
			damage := fmt.Sprintf("UPDATE %s SET %s = %[2]s + %d WHERE deployment_id = %d AND %[2]s = (SELECT MIN(%[2]s) FROM %[1]s WHERE deployment_id = %[4]d AND %[2]s <> 0)",
				r.Table, r.Column, far, d.id)
			want := fmt.Sprintf("%s has rows with the %s %d", r.Table, r.Column, far/1000)
			if faults := rows(); strings.Contains(faults, want) {
				t.Fatalf("nothing is damaged, and %q is in:\n%s", want, faults)
			}
			d.check(s.ExecRaw(t.Context(), damage))
			if faults := rows(); !strings.Contains(faults, want) || !strings.Contains(faults, ", missing in "+r.Other) {
				t.Errorf("%s.%s is damaged, and %q is not in:\n%s", r.Table, r.Column, want, faults)
			}
			d.check(s.ExecRaw(t.Context(), fmt.Sprintf("UPDATE %s SET %s = %[2]s - %d WHERE deployment_id = %d AND %[2]s > %[3]d", r.Table, r.Column, far, d.id)))
		}
	})
}

// TestCheckReportsDamagedFeed damages the feed in each way that the check distinguishes.
func TestCheckReportsDamagedFeed(t *testing.T) {
	for name, c := range map[string]struct{ statement, want string }{
		"a version is missing":    {"DELETE FROM change WHERE deployment_id = %[1]d AND version = (SELECT MIN(version) FROM change WHERE deployment_id = %[1]d)", "the feed has -1 versions compared with the deployment"},
		"the deployment is older": {"UPDATE deployment SET version = version - 16777216 WHERE id = %[1]d", "the feed has version"},
		"one is pruned too much":  {"UPDATE deployment SET pruned_version = pruned_version - 16777216 WHERE id = %[1]d", "the feed has -1 versions compared with the deployment"},
	} {
		t.Run(name, func(t *testing.T) {
			storetest.Each(t, func(t *testing.T, s *store.Store) {
				d := newTenant(t, s)
				d.findings(d.project("acme/a"), 2, nil)
				if faults, _ := checked(t, s, d); faults != "" {
					t.Fatal(faults)
				}
				d.check(s.ExecRaw(t.Context(), fmt.Sprintf(c.statement, d.id)))
				if faults, _ := checked(t, s, d); !strings.Contains(faults, "change feed: "+c.want) {
					t.Errorf("%q is not in:\n%s", c.want, faults)
				}
			})
		})
	}
}

// TestCheckComparesReportedFindings damages the reported findings of a scan whose project was
// renamed.
func TestCheckComparesReportedFindings(t *testing.T) {
	for name, c := range map[string]struct {
		reported []int64
		raw      string // statement to run instead
		want     string
	}{
		"all are there":        {[]int64{1, 2}, "", ""},
		"one is not there":     {[]int64{1, 2, 9}, "", "reported 3 findings; its project lacks 1"},
		"one is of another":    {[]int64{1, 3}, "", "reported 2 findings; its project lacks 1"},
		"runs cannot be read":  {[]int64{1}, "UPDATE scan_account SET reported = %s WHERE deployment_id = %d", "the reported findings of scan"},
		"the scan is not this": {[]int64{1}, "UPDATE scan_account SET scan_id = 4711 WHERE %s <> %s AND deployment_id = %d", "scan_account has rows with the scan_id 4711, missing in scan"},
	} {
		t.Run(name, func(t *testing.T) {
			for _, engine := range storetest.Engines {
				t.Run(engine, func(t *testing.T) {
					s := storetest.Open(t, storetest.Database(t, engine, storetest.NewClock()))
					d := newTenant(t, s)
					p := d.project("acme/before")
					d.findings(p, 2, nil)
					d.findings(d.project("acme/other"), 1, nil)
					scan := d.scanned(p, "refs/heads/main", true)
					d.update(func(ctx context.Context, tx *store.Tx) error {
						if _, err := tx.RenameProject(ctx, p.ID, "acme/after"); err != nil {
							return err
						}
						return tx.PutScanAccount(ctx, model.ScanAccount{ScanID: scan.ID, Reported: c.reported})
					})
					bytes := map[string]string{"sqlite": "X'FF'", "postgres": `'\xff'::bytea`}[engine]
					switch strings.Count(c.raw, "%") {
					case 2:
						d.check(s.ExecRaw(t.Context(), fmt.Sprintf(c.raw, bytes, d.id)))
					case 3:
						d.check(s.ExecRaw(t.Context(), fmt.Sprintf(c.raw, "1", "2", d.id)))
					}
					if faults, _ := checked(t, s, d); c.want == "" && faults != "" || !strings.Contains(faults, c.want) {
						t.Errorf("%q is not in:\n%s", c.want, faults)
					}
				})
			}
		})
	}
}

// TestCheckReportsAccountsWithDeletedFindings merges two projects with common findings. Accounts that refer to
// deleted findings, as an older merge left them, must be reported.
func TestCheckReportsAccountsWithDeletedFindings(t *testing.T) {
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		w := newTwins(t, s)
		scan := w.scanned(w.from, "refs/heads/main", true)
		ids := func(list []model.FindingWrite, which ...int) (out []int64) {
			for _, i := range which {
				out = append(out, list[i].ID)
			}
			return out
		}
		put := func(reported []int64) {
			w.update(func(ctx context.Context, tx *store.Tx) error {
				err := tx.PutScanAccount(ctx, model.ScanAccount{ScanID: scan.ID, Reported: reported})
				if err == nil {
					err = tx.PutScanGate(ctx, scan.ID, &model.ScanGate{Reason: "x", Blocking: []model.Blocked{{FindingID: w.fromFound[1].ID}, {FindingID: w.fromFound[2].ID}}})
				}
				return err
			})
		}
		put(ids(w.fromFound, 0, 1, 2))
		w.merge()
		checkAccount := func(when string, reported, blocking []int64) {
			w.view(func(ctx context.Context, tx *store.Tx) error {
				a, err := tx.ScanAccount(ctx, scan.ID)
				slices.Sort(reported)
				same(t, when+": reported", a.Reported, reported)
				same(t, when+": blocking", []int64{a.Gate.Blocking[0].FindingID, a.Gate.Blocking[1].FindingID}, blocking)
				return err
			})
			if faults, _ := checked(t, s, w.tenant); faults != "" {
				t.Errorf("%s:\n%s", when, faults)
			}
		}
		both := ids(w.intoFound, 0, 1)
		checkAccount("merged", append(both, w.fromFound[2].ID), []int64{w.intoFound[1].ID, w.fromFound[2].ID})

		put(ids(w.fromFound, 0, 1, 2)) // as an older merge left it
		if faults, _ := checked(t, s, w.tenant); !strings.Contains(faults, "lacks 2") {
			t.Errorf("an account of findings that went is whole:\n%s", faults)
		}
	})
}
