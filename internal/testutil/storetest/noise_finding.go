package storetest

import (
	"context"
	"fmt"

	"github.com/redoubt/redoubt/internal/model"
	"github.com/redoubt/redoubt/internal/store"
)

// noiseProject returns a project of the noisy tenant with a common name.
func noiseProject(ctx context.Context, tx *store.Tx) (model.Project, error) {
	return tx.ProjectForScan(ctx, nil, model.Project{Name: "acme/payments", Tags: []string{}})
}

// noisyFindings creates triaged findings of every product with common identities, rules and refs,
// and with a history.
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
		product := model.IssueType(i%3 + 1)
		rules, err := tx.PutRules(ctx, []*model.Rule{
			{Name: fmt.Sprintf("rule-%d", i%5), IssueType: product, Message: "noise"},
		})
		if err != nil {
			return err
		}
		f := model.Finding{
			ID: findings[i], IssueType: product, ProjectID: project.ID, Ref: "refs/heads/main", Source: "semgrep",
			Identity:  model.Identity{Kind: model.IdentityMatchBased, Hash: model.Digest{byte(i)}},
			LineageID: lineages[i], RuleID: rules[0], RuleName: fmt.Sprintf("rule-%d", i%5), Path: "noise.go", Line: i + 1,
			State: model.Unresolved, Severity: model.SeverityHigh, CreatedAt: tx.Now(), RelevantSince: tx.Now(),
		}
		if err := addNoise(ctx, tx, f); err != nil {
			return err
		}
	}
	return nil
}

func addNoise(ctx context.Context, tx *store.Tx, f model.Finding) error {
	untriaged := model.Triage{State: model.TriageUntriaged}
	ignored := model.Triage{
		State:   model.TriageIgnored,
		Reason:  model.NoTime,
		Comment: "noise",
		At:      tx.Now(),
		By:      tx.Actor(),
	}
	if err := tx.AddLineages(ctx, []model.Lineage{
		{ID: f.LineageID, ProjectID: f.ProjectID, Triage: untriaged},
	}); err != nil {
		return err
	}
	if err := tx.AddIdentities(ctx, f.ProjectID, []model.IdentityLink{
		{Identity: f.Identity, LineageID: f.LineageID},
	}); err != nil {
		return err
	}
	if err := tx.AddFindings(ctx, []model.FindingWrite{
		{Finding: f, Body: []byte(`"noise":true`), Subject: noisySubject()},
	}); err != nil {
		return err
	}
	if err := tx.AddEvents(ctx, []model.FindingEvent{{FindingID: f.ID, Kind: model.EventReturned}}); err != nil {
		return err
	}
	snippet := model.Snippet{
		FindingID: f.ID,
		ScanID:    1,
		Path:      f.Path,
		Line:      f.Line,
		EndLine:   f.Line,
		First:     f.Line,
		Lines:     []string{"noise"},
	}
	if err := tx.PutSnippets(ctx, []model.Snippet{snippet}); err != nil {
		return err
	}
	return tx.UpdateTriage(ctx, []model.TriageEvent{
		{LineageID: f.LineageID, At: tx.Now(), By: tx.Actor(), Before: untriaged, After: ignored, Note: "noise"},
	})
}

// noisySubject returns the subject of every noisy finding.
func noisySubject() *model.Subject {
	return &model.Subject{
		Lockfile: "package-lock.json", Ecosystem: "npm", Package: "lodash",
		Version: "1.0.0", Vulnerability: "CVE-2021-0001", Group: 1,
	}
}

// noisyDependencies creates lockfiles with packages that tests search for.
func noisyDependencies(ctx context.Context, tx *store.Tx) error {
	project, err := noiseProject(ctx, tx)
	if err != nil {
		return err
	}
	for i, lockfile := range []string{"package-lock.json", "web/package-lock.json", "requirements.txt"} {
		var dependencies []model.Dependency
		for _, name := range []string{"lodash", "react", "left-pad", "requests"} {
			for _, version := range []string{"1.0.0", "1.2.3", "2.0.0"} {
				dependencies = append(dependencies, model.Dependency{
					Ecosystem: "npm", Name: name, Version: version, Transitivity: model.Direct, Licenses: []string{"MIT"},
				})
			}
		}
		_, _, err := tx.PutInventory(ctx, model.InventoryStatement{
			ProjectID: project.ID, Ref: project.Primary(), Source: "semgrep", At: tx.Now(), Digest: model.Digest{byte(i + 1)},
			Inventory: model.Inventory{Lockfile: lockfile, Dependencies: dependencies, Edges: [][2]int{{0, 1}, {1, 2}}},
		})
		if err != nil {
			return err
		}
	}
	return nil
}
