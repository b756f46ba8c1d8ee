package updater

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"testing"

	"github.com/redoubt/redoubt/internal/advisory"
	"github.com/redoubt/redoubt/internal/cli/command"
	"github.com/redoubt/redoubt/internal/exceptions"
	"github.com/redoubt/redoubt/internal/ingest"
	"github.com/redoubt/redoubt/internal/model"
	"github.com/redoubt/redoubt/internal/store"
	"github.com/redoubt/redoubt/internal/testutil/storetest"
)

// spreadRefs creates a deployment with a lockfile on each ref of each project.
func spreadRefs(t *testing.T, st *store.Store, slug string, projects, refs int) model.Deployment {
	t.Helper()
	d, err := st.CreateDeployment(t.Context(), slug, "", model.Actor{})
	if err != nil {
		t.Fatal(err)
	}
	for i := range projects * refs {
		inventory := model.Inventory{Lockfile: "package-lock.json"}
		for k, name := range []string{"a", "b", "c"} {
			version := fmt.Sprint("0.", 1+(i+k)%3, ".0")
			inventory.Dependencies = append(inventory.Dependencies, model.Dependency{Ecosystem: "npm", Name: name, Version: version})
		}
		upload := ingest.Upload{
			Project: model.Project{Name: fmt.Sprint("acme/p", i/refs)}, Ref: fmt.Sprint("b", i%refs), Full: true,
			Report: &model.Report{Tool: "lockfile", Products: model.Products(0).With(model.SCA), Inventories: []model.Inventory{inventory}},
		}
		err := st.Update(t.Context(), d.ID, model.Actor{}, func(ctx context.Context, tx *store.Tx) error {
			_, err := ingest.Apply(ctx, tx, exceptions.ForImport{Store: tx}, upload)
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	return d
}

// publishRecords stores records under their names.
func publishRecords(t *testing.T, st *store.Store, records map[string]string) {
	t.Helper()
	for name, text := range records {
		if _, err := advisory.Load(t.Context(), st, advisory.SingleFile(name+".json", []byte(text)), nil); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := st.PublishAdvisories(t.Context()); err != nil {
		t.Fatal(err)
	}
}

// findingIDs matches finding ids in the details of events.
var findingIDs = regexp.MustCompile(`(#|"merged_into":|"finding_id":)(\d+)`)

// describeFindings lists the supply-chain findings of a deployment and their histories, in which locations
// replace ids.
func describeFindings(t *testing.T, st *store.Store, d model.Deployment) (list []string) {
	t.Helper()
	err := st.View(t.Context(), d.ID, func(ctx context.Context, tx *store.Tx) error {
		refs, err := tx.HoldingRefs(ctx, nil)
		if err != nil {
			return err
		}
		subjects, err := tx.Subjects(ctx, refs)
		descriptions, oldest := map[string]string{}, map[int64]string{}
		for i, at := range refs {
			for _, s := range subjects[i] {
				id := fmt.Sprint(s.FindingID)
				descriptions[id] = fmt.Sprint(at.ProjectID-refs[0].ProjectID, " ", at.Ref, " ", s.Rule, " ", s.Package, " ", s.Version)
				if oldest[s.LineageID] == "" {
					oldest[s.LineageID] = descriptions[id]
				}
			}
		}
		for _, s := range slices.Concat(subjects...) {
			f, failed := tx.Finding(ctx, s.FindingID)
			history, failedToo := tx.History(ctx, s.FindingID)
			err = errors.Join(err, failed, failedToo)
			line := fmt.Sprintln(descriptions[fmt.Sprint(s.FindingID)], "of", oldest[s.LineageID], s.State, f.Severity, f.Lineage.Triage.State, encodedEPSS(f.Lineage))
			for _, h := range history {
				detail := findingIDs.ReplaceAllStringFunc(h.Detail, func(text string) string {
					part := findingIDs.FindStringSubmatch(text)
					return part[1] + descriptions[part[2]]
				})
				line += fmt.Sprintln("  ", h.Kind, detail)
			}
			list = append(list, line)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	slices.Sort(list)
	return list
}

func encodedEPSS(l model.Lineage) string {
	if l.Annotations.EPSS == nil {
		return "no score"
	}
	return fmt.Sprint(*l.Annotations.EPSS)
}

// TestRefsMatchedInBatch checks that matching several refs at once has the same result as
// matching them one by one.
func TestRefsMatchedInBatch(t *testing.T) {
	const shared = `,"aliases":["CVE-2024-0001"]`
	record := func(id, pkg, fixed, more string) string {
		return fmt.Sprintf(`{"id":%q,"modified":"2024-01-01T00:00:00Z"%s,"affected":[{"package":{"ecosystem":"npm","name":%q},
			"ranges":[{"type":"SEMVER","events":[{"introduced":"0"},{"fixed":%q}]}]}]}`, id, more, pkg, fixed)
	}
	steps := []map[string]string{
		{"A": record("A", "a", "0.3.0", ""), "B": record("B", "b", "0.2.5", "")},
		{"A2": record("A2", "a", "0.4.0", shared)},
		{"A": record("A", "a", "0.2.0", shared), "C": record("C", "c", "1.0.0", "")}, // alias of A2, fewer versions
		{"B": record("B", "b", "0.0.1", ""), "C": record("C", "c", "1.0.0", `,"withdrawn":"2024-02-01T00:00:00Z"`)},
		{"B": record("B", "b", "1.0.0", ""), "C": record("C", "c", "0.2.0", "")}, // both affect versions again
	}
	for _, engine := range storetest.Engines {
		t.Run(engine, func(t *testing.T) {
			st := storetest.Open(t, storetest.Database(t, engine, storetest.NewClock()))
			err := st.PutScores(t.Context(), func(put func(model.EPSSScore) error) error {
				return put(model.EPSSScore{CVE: "CVE-2024-0001", EPSS: model.EPSS{Score: 0.5, Percentile: 0.9}})
			})
			if err != nil {
				t.Fatal(err)
			}
			together, alone := spreadRefs(t, st, "together", 7, 3), spreadRefs(t, st, "alone", 7, 3)
			library := advisory.NewLibrary(command.AdvisoryOrders)
			sweep := advisory.Sweep[*store.Tx]{
				Store: st, Library: library, Follow: followRefs,
				Update: func(ctx context.Context, id int64, fn func(context.Context, *store.Tx) error) error {
					return st.Update(ctx, id, advisoriesActor, fn)
				},
			}
			single := sweep
			single.Follow = func(ctx context.Context, tx *store.Tx, advised []model.Advised, _ int) ([]model.Followed, error) {
				first, err := followRefs(ctx, tx, advised[:1], 1)
				return append(first, make([]model.Followed, len(advised)-1)...), err
			}
			for i, records := range steps {
				publishRecords(t, st, records)
				a, err := sweep.Deployment(t.Context(), together.ID)
				if err != nil {
					t.Fatal(err)
				}
				b, err := single.Deployment(t.Context(), alone.ID)
				if err != nil {
					t.Fatal(err)
				}
				if a != b {
					t.Errorf("step %d: together %+v, one by one %+v", i, a, b)
				}
				got, want := describeFindings(t, st, together), describeFindings(t, st, alone)
				if len(got) == 0 || !slices.Equal(got, want) {
					t.Errorf("step %d: together\n%s\none by one\n%s", i, got, want)
				}
			}
		})
	}
}
