package main

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/redoubt/redoubt"
	"github.com/redoubt/redoubt/internal/policy"
	"github.com/redoubt/redoubt/internal/store"
)

// conditionMatches is a dependency that a condition of the policy holds for.
type conditionMatches struct {
	ref string
	policy.Sighting
}

// conditions finds what the policy's conditions hold for now, on every branch of
// the project: what is stored, since conditions need no scan.
func (t *trial) conditions(ctx context.Context, tx *store.Tx, name string) (held []conditionMatches, err error) {
	if name == "" {
		return nil, errors.New("conditions are tried on what a project has: name it with --project")
	}
	p, err := tx.ProjectByName(ctx, name)
	if err != nil {
		return nil, fmt.Errorf("there is no project %q; redoubt project list shows what there is", name)
	}
	all := t.of
	all.BlockAll, all.Conditions = true, slices.Clone(t.of.Conditions) // known ones too: they are told apart below
	for i := range all.Conditions {
		if t.mode != 0 {
			all.Conditions[i].Mode = t.mode
		}
	}
	given := policy.For(p, []redoubt.Policy{all}, nil)
	refs, err := tx.HoldingRefs(ctx, nil)
	if err != nil {
		return nil, err
	}
	for _, at := range refs {
		if at.ProjectID != p.ID {
			continue
		}
		found, err := tx.Findings(ctx, p.ID, at.Ref, policy.Source)
		if err != nil {
			return nil, err
		}
		var seen []policy.Sighting
		for _, f := range found {
			if f.IssueType == redoubt.SCA && f.State == redoubt.Unresolved {
				seen = append(seen, policy.Sighting{Finding: f})
			}
		}
		scan := redoubt.Scan{ProjectID: p.ID, Ref: at.Ref, Source: policy.Source, Products: redoubt.Products(0).With(redoubt.SCA)}
		judge, err := given.Judge(ctx, tx, p, scan, seen)
		if err != nil {
			return nil, err
		}
		verdict, err := judge.Verdict(ctx, redoubt.ScanApplied)
		if err != nil {
			return nil, err
		}
		for _, s := range slices.Concat(verdict.Blocking, verdict.Noted) {
			held = append(held, conditionMatches{at.Ref, s})
		}
	}
	return held, nil
}

// printConditions tells what conditions hold for, and what that does to a build.
func (t *trial) printConditions(held []conditionMatches) error {
	rows, fails := make([][]string, len(held)), 0
	for i := range held {
		s := &held[i]
		state, build := "new", "-"
		if s.Known {
			state = "known"
		}
		if s.Mode == redoubt.ModeBlock && (!s.Known || t.of.BlockAll) {
			build = "fails"
			fails++
		}
		rows[i] = []string{s.ref, s.Mode.String(), state, build, s.Explained()}
	}
	if err := table(t.app.out, "REF MODE FINDING BUILD WHAT", rows); err != nil {
		return err
	}
	_, err := fmt.Fprintf(t.app.out, "\nConditions: %d. Matches: %d. Would fail a build: %d.\n", len(t.of.Conditions), len(held), fails)
	return err
}
