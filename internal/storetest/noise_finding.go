package storetest

import (
	"context"
	"fmt"

	"github.com/redoubt/redoubt"
	"github.com/redoubt/redoubt/internal/store"
)

// noiseProject is a project of the noisy tenant, under a name that tests use.
func noiseProject(ctx context.Context, tx *store.Tx) (redoubt.Project, error) {
	return tx.ProjectForScan(ctx, nil, redoubt.Project{Name: "acme/payments", Tags: []string{}})
}

// noisyFindings fills the noisy tenant with findings of every product, under
// the identities, rules and refs that tests use, triaged and with a history.
func noisyFindings(ctx context.Context, tx *store.Tx) error {
	project, err := noiseProject(ctx, tx)
	if err != nil {
		return err
	}
	const n = 30
	findings, err := tx.NewFindingIDs(ctx, n)
	if err != nil {
		return err
	}
	lineages, err := tx.NewLineageIDs(ctx, n)
	if err != nil {
		return err
	}
	for i := range n {
		product := redoubt.IssueType(i%3 + 1)
		rules, err := tx.PutRules(ctx, []*redoubt.Rule{{Name: fmt.Sprintf("rule-%d", i%5), IssueType: product, Message: "noise"}})
		if err != nil {
			return err
		}
		f := redoubt.Finding{
			ID: findings[i], IssueType: product, ProjectID: project.ID, Ref: "refs/heads/main", Source: "semgrep",
			Identity:  redoubt.Identity{Kind: redoubt.IdentityMatchBased, Hash: redoubt.Digest{byte(i)}},
			LineageID: lineages[i], RuleID: rules[0], RuleName: fmt.Sprintf("rule-%d", i%5), Path: "noise.go", Line: i + 1,
			State: redoubt.Unresolved, Severity: redoubt.SeverityHigh, CreatedAt: tx.Now(), RelevantSince: tx.Now(),
		}
		if err := addNoise(ctx, tx, f); err != nil {
			return err
		}
	}
	return nil
}

func addNoise(ctx context.Context, tx *store.Tx, f redoubt.Finding) error {
	untriaged := redoubt.Triage{State: redoubt.TriageUntriaged}
	ignored := redoubt.Triage{State: redoubt.TriageIgnored, Reason: redoubt.NoTime, Comment: "noise", At: tx.Now(), By: tx.Actor()}
	if err := tx.AddLineages(ctx, []redoubt.Lineage{{ID: f.LineageID, ProjectID: f.ProjectID, Triage: untriaged}}); err != nil {
		return err
	}
	if err := tx.AddIdentities(ctx, f.ProjectID, []redoubt.IdentityLink{{Identity: f.Identity, LineageID: f.LineageID}}); err != nil {
		return err
	}
	if err := tx.AddFindings(ctx, []redoubt.FindingWrite{{Finding: f, Body: []byte(`"noise":true`), Subject: noisySubject()}}); err != nil {
		return err
	}
	if err := tx.AddEvents(ctx, []redoubt.FindingEvent{{FindingID: f.ID, Kind: redoubt.EventReturned}}); err != nil {
		return err
	}
	snippet := redoubt.Snippet{FindingID: f.ID, ScanID: 1, Path: f.Path, Line: f.Line, EndLine: f.Line, First: f.Line, Lines: []string{"noise"}}
	if err := tx.PutSnippets(ctx, []redoubt.Snippet{snippet}); err != nil {
		return err
	}
	return tx.UpdateTriage(ctx, []redoubt.TriageEvent{
		{LineageID: f.LineageID, At: tx.Now(), By: tx.Actor(), Before: untriaged, After: ignored, Note: "noise"},
	})
}

// noisySubject is what every noisy finding is about.
func noisySubject() *redoubt.Subject {
	return &redoubt.Subject{
		Lockfile: "package-lock.json", Ecosystem: "npm", Package: "lodash", Version: "1.0.0", Vulnerability: "CVE-2021-0001", Group: 1,
	}
}

// noisyDependencies states lockfiles of the noisy tenant, holding packages that
// tests look for.
func noisyDependencies(ctx context.Context, tx *store.Tx) error {
	project, err := noiseProject(ctx, tx)
	if err != nil {
		return err
	}
	for i, lockfile := range []string{"package-lock.json", "web/package-lock.json", "requirements.txt"} {
		var held []redoubt.Dependency
		for _, name := range []string{"lodash", "react", "left-pad", "requests"} {
			for _, version := range []string{"1.0.0", "1.2.3", "2.0.0"} {
				held = append(held, redoubt.Dependency{
					Ecosystem: "npm", Name: name, Version: version, Transitivity: redoubt.Direct, Licenses: []string{"MIT"},
				})
			}
		}
		_, _, err := tx.PutInventory(ctx, redoubt.InventoryStatement{
			ProjectID: project.ID, Ref: project.Primary(), Source: "semgrep", At: tx.Now(), Digest: redoubt.Digest{byte(i + 1)},
			Inventory: redoubt.Inventory{Lockfile: lockfile, Dependencies: held, Edges: [][2]int{{0, 1}, {1, 2}}},
		})
		if err != nil {
			return err
		}
	}
	return nil
}
