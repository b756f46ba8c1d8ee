package ingest

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/redoubt/redoubt/internal/model"
	"github.com/redoubt/redoubt/internal/sbom"
	"github.com/redoubt/redoubt/internal/store"
	"github.com/redoubt/redoubt/internal/testutil/storetest"
)

// manyFound returns a report with a finding in each of n packages of several ecosystems.
func manyFound(n int) string {
	var matches []string
	for i := range n {
		kind, name, purl := "npm", fmt.Sprintf("@acme/pkg%d", i), fmt.Sprintf("pkg:npm/%%40acme/pkg%d@1.%d.0", i, i)
		switch i % 4 {
		case 1:
			kind, name, purl = "python", fmt.Sprintf("Zope.pkg%d", i), fmt.Sprintf("pkg:pypi/zope-pkg%d@1.%d.0", i, i)
		case 2:
			kind, name, purl = "go-module", fmt.Sprintf("example.com/Acme/pkg%d", i), fmt.Sprintf("pkg:golang/example.com/Acme/pkg%d@v1.%d.0", i, i)
		case 3:
			kind, name, purl = "java-archive", fmt.Sprintf("pkg%d", i), fmt.Sprintf("pkg:maven/org.acme/pkg%d@1.%d.0", i, i)
		}
		matches = append(matches, fmt.Sprintf(`{"vulnerability": {"id": "CVE-2026-%d", "severity": "High", "description": "One."}, "matchDetails": [],
			"artifact": {"name": %q, "version": "1.%d.0", "type": %q, "purl": %q, "locations": [{"path": "/src/x"}]}}`, i, name, i, kind, purl))
	}
	return `{"matches": [` + strings.Join(matches, ",") + `]}`
}

// decisions are all kinds of decisions, each for a different finding.
var decisions = []model.Triage{
	{State: model.TriageUntriaged},
	{State: model.TriageReviewing},
	{State: model.TriageReviewing, Comment: "Asked upstream."},
	{State: model.TriageFixing},
	{State: model.TriageFixing, Comment: "In the next release."},
	{State: model.TriageIgnored, Reason: model.FalsePositive},
	{State: model.TriageIgnored, Reason: model.FalsePositive, Comment: "Not ours.\nSee SEC-1: there."},
	{State: model.TriageIgnored, Reason: model.FalsePositive, Comment: "component_not_present: removed when packed"},
	{State: model.TriageIgnored, Reason: model.FalsePositive, Comment: "code_not_reachable"},
	{State: model.TriageIgnored, Reason: model.AcceptableRisk, Comment: "protected_by_compiler: built with checks"},
	{State: model.TriageIgnored, Reason: model.AcceptableRisk, Comment: "Build tools only."},
	{State: model.TriageIgnored, Reason: model.AcceptableRisk},
	{State: model.TriageIgnored, Reason: model.NoTime, Comment: "fixed: backported"},
	{State: model.TriageIgnored, Reason: model.NoTime},
	{State: model.TriageIgnored, Reason: model.NoTriageReason, Comment: "not_affected: says the vendor"},
	{State: model.TriageIgnored, Reason: model.NoTriageReason},
	{State: model.TriageReopened, Comment: "affected: update to 3"},
}

// decide applies the decisions to the findings.
func (w *vexWorld) decide() {
	w.t.Helper()
	err := w.s.Update(w.t.Context(), w.id, storetest.Actor, func(ctx context.Context, tx *store.Tx) error {
		var events []model.TriageEvent
		err := tx.SupplyChainFindings(ctx, w.project(ctx, tx).ID, "refs/heads/main", func(f model.IndexedFinding, _ model.Rule, l model.Lineage) error {
			var i int
			if _, err := fmt.Sscanf(f.RuleName, "CVE-2026-%d", &i); err != nil {
				return err
			}
			after := decisions[i]
			after.At, after.By = tx.Now(), storetest.Actor
			events = append(events, model.TriageEvent{LineageID: l.ID, At: tx.Now(), By: storetest.Actor, Before: l.Triage, After: after})
			return nil
		})
		if err != nil {
			return err
		}
		return tx.UpdateTriage(ctx, events)
	})
	if err != nil {
		w.t.Fatal(err)
	}
}

func (w *vexWorld) project(ctx context.Context, tx *store.Tx) model.Project {
	w.t.Helper()
	p, err := tx.ProjectByName(ctx, "acme/pay")
	if err != nil {
		w.t.Fatal(err)
	}
	return p
}

// export writes the project's document in a format.
func (w *vexWorld) export(format model.SBOMFormat, version string, allProjects bool) (doc string) {
	w.t.Helper()
	err := w.s.View(w.t.Context(), w.id, func(ctx context.Context, tx *store.Tx) error {
		r := model.SBOMRequest{Format: format, Version: version, ComponentType: "application"}
		if !allProjects {
			r.ProjectID = w.project(ctx, tx).ID
		}
		out, _, err := sbom.Export(ctx, tx, r, sbom.Options{Created: tx.Now()})
		doc = string(out)
		return err
	})
	if err != nil {
		w.t.Fatal(err)
	}
	return doc
}

// TestExportedVEXReproducesTriage checks that importing an exported document into another
// deployment with equal findings results in the same triage.
func TestExportedVEXReproducesTriage(t *testing.T) {
	eachVEXWorld(t, func(w *vexWorld) {
		w.imports("acme/pay", "main", manyFound(len(decisions)))
		w.decide()
		want := w.triage("acme/pay", "main")
		if len(want) != len(decisions) {
			w.t.Fatalf("%d findings: %v", len(want), want)
		}
		for _, f := range []struct {
			name        string
			format      model.SBOMFormat
			version     string
			allProjects bool
		}{
			{"OpenVEX", model.OpenVEX, "0.2.0", false},
			{"OpenVEX of all projects", model.OpenVEX, "0.2.0", true},
		} {
			w.clock.Advance(time.Hour)
			doc := w.export(f.format, f.version, f.allProjects)
			d, err := w.s.CreateDeployment(w.t.Context(), "other-"+strings.ToLower(strings.NewReplacer(" ", "-", ".", "-").Replace(f.name)), "", storetest.Actor)
			if err != nil {
				w.t.Fatal(err)
			}
			other := &vexWorld{t: w.t, s: w.s, clock: w.clock, id: d.ID}
			other.imports("acme/pay", "main", manyFound(len(decisions)))
			sums := other.imports("acme/pay", "main", doc)
			for _, s := range sums {
				if len(s.Refused) > 0 {
					w.t.Errorf("%s: refused %v", f.name, s.Refused)
				}
			}
			got := other.triage("acme/pay", "main")
			if diff := cmp.Diff(want, got); diff != "" {
				w.t.Errorf("%s (-decided +read):\n%s", f.name, diff)
			}
		}
	})
}
