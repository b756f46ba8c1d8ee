package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/redoubt/redoubt"
	"github.com/redoubt/redoubt/internal/policy"
	"github.com/redoubt/redoubt/internal/store"
)

// conditionMatches is a finding that matches a condition of the policy.
type conditionMatches struct {
	ref string
	policy.Sighting
}

// conditions finds the stored findings that match the policy's conditions, on every branch
// of the project.
func (t *trial) conditions(ctx context.Context, tx *store.Tx, name string) (held []conditionMatches, err error) {
	if name == "" {
		return nil, errors.New("conditions are tried on what a project has: name it with --project")
	}
	p, err := tx.ProjectByName(ctx, name)
	if err != nil {
		return nil, fmt.Errorf("there is no project %q; redoubt project list shows what there is", name)
	}
	all := t.asTried()
	all.BlockAll = true // known ones too: they are told apart below
	given := policy.For(p, []redoubt.Policy{all}, nil)
	streams, err := t.streams(ctx, tx, p)
	if err != nil {
		return nil, err
	}
	listed := map[int64]bool{}
	for _, scan := range streams {
		found, err := tx.OpenFindings(ctx, p.ID, scan.Ref, scan.Source)
		if err != nil {
			return nil, err
		}
		var seen []policy.Sighting
		for _, f := range found {
			if f.IssueType == t.of.Product {
				seen = append(seen, policy.Sighting{Finding: f})
			}
		}
		judge, err := given.Judge(ctx, tx, p, scan, seen)
		if err != nil {
			return nil, err
		}
		verdict, err := judge.Verdict(ctx, redoubt.ScanApplied)
		if err != nil {
			return nil, err
		}
		for _, s := range slices.Concat(verdict.Blocking, verdict.Noted) {
			if !listed[s.Finding.ID] {
				listed[s.Finding.ID] = true
				held = append(held, conditionMatches{scan.Ref, s})
			}
		}
	}
	return held, nil
}

// streams returns a scan for each branch and source of the project, as the gate would
// judge it now. Branches with lockfiles are among them without a scan.
func (t *trial) streams(ctx context.Context, tx *store.Tx, p redoubt.Project) (out []redoubt.Scan, err error) {
	type stream struct{ ref, source string }
	known := map[stream]bool{}
	add := func(ref, source string) {
		if key := (stream{ref, source}); !known[key] {
			known[key] = true
			out = append(out, redoubt.Scan{ProjectID: p.ID, Ref: ref, Source: source, Products: redoubt.Products(0).With(t.of.Product)})
		}
	}
	if t.of.Product == redoubt.SCA {
		refs, err := tx.HoldingRefs(ctx, nil)
		if err != nil {
			return nil, err
		}
		for _, at := range refs {
			if at.ProjectID == p.ID {
				add(at.Ref, policy.Source)
			}
		}
	}
	scans, _, err := tx.StandingScans(ctx, time.Unix(0, 0), []int64{p.ID}, maxStreams)
	for _, scan := range scans {
		add(scan.Ref, scan.Source)
	}
	return out, err
}

// maxStreams bounds the branches and sources of a project that are compared.
const maxStreams = 10_000

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
