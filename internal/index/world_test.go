package index

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/redoubt/redoubt/internal/model"
)

const tenant = 7

// world is a Source that stores its content in maps and provides a feed of changes.
type world struct {
	mu      sync.Mutex
	version int64
	pruned  int64         // the feed lacks changes up to this version
	batch   int           // number of findings per batch
	deleted int           // number of deleted projects, whose IDs are not reused
	skipped time.Duration // offset of the clock

	projects    map[int64]model.Project
	rules       map[int64]model.Rule
	policies    map[int64]model.Policy
	policyRules map[int64]model.PolicyRule
	lineages    map[int64]model.Lineage
	findings    map[int64]model.IndexedFinding
	log         []changed

	ignored      map[int64][][2]time.Time // by lineage: intervals in which it was ignored
	ignoredSince map[int64]time.Time      // start of the current interval

	feeds, bodyReads int

	checkpoints map[string]int64 // version by ID
}

type changed struct {
	version int64
	kind    string
	id      int64
}

func newWorld() *world {
	return &world{
		ignored: map[int64][][2]time.Time{}, ignoredSince: map[int64]time.Time{},
		batch: 3, projects: map[int64]model.Project{}, rules: map[int64]model.Rule{}, policies: map[int64]model.Policy{},
		policyRules: map[int64]model.PolicyRule{}, lineages: map[int64]model.Lineage{}, findings: map[int64]model.IndexedFinding{},
		checkpoints: map[string]int64{},
	}
}

// now returns the time of the commit in progress.
func (w *world) now() time.Time {
	return time.UnixMicro(1_700_000_000_000_000 + w.version*1_000_003).UTC().Add(w.skipped)
}

func (w *world) commit() { w.version++ }

func (w *world) note(kind string, id int64) {
	w.log = append(w.log, changed{w.version + 1, kind, id})
}

func (w *world) putProject(p model.Project) {
	w.projects[p.ID] = p
	w.note("project", p.ID)
}

func (w *world) putRule(r model.Rule) {
	w.rules[r.ID] = r
	w.note("rule", r.ID)
}

func (w *world) putPolicy(p model.Policy) {
	w.policies[p.ID] = p
	w.note("policy", p.ID)
}

func (w *world) deletePolicy(id int64) {
	delete(w.policies, id)
	w.note("policy", id)
	maps.DeleteFunc(w.policyRules, func(_ int64, p model.PolicyRule) bool { return p.PolicyID == id })
}

func (w *world) putPolicyRule(p model.PolicyRule) {
	w.policyRules[p.ID] = p
	w.note("policyRule", p.ID)
}

func (w *world) putLineage(l model.Lineage) {
	w.lineages[l.ID] = l
	w.note("lineage", l.ID)
}

func (w *world) putFinding(f model.IndexedFinding) {
	w.findings[f.ID] = f
	w.note("finding", f.ID)
}

func (w *world) deleteFinding(id int64) {
	delete(w.findings, id)
	w.note("finding", id)
}

func (w *world) deleteLineage(id int64) {
	delete(w.lineages, id)
	delete(w.ignored, id)
	delete(w.ignoredSince, id)
	w.note("lineage", id)
}

func (w *world) deleteProject(id int64) {
	delete(w.projects, id)
	w.note("project", id)
	w.deleted++
	maps.DeleteFunc(w.findings, func(_ int64, f model.IndexedFinding) bool { return f.ProjectID == id })
	for lineage, l := range w.lineages {
		if l.ProjectID == id {
			w.deleteLineage(lineage)
		}
	}
}

func (w *world) Version(_ context.Context, deployment int64) (int64, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if deployment != tenant {
		return 0, fmt.Errorf("deployment %d: %w", deployment, model.ErrNotFound)
	}
	return w.version, nil
}

func (w *world) Versions(ctx context.Context, ids []int64) (map[int64]int64, error) {
	out := map[int64]int64{}
	for _, id := range ids {
		if v, err := w.Version(ctx, id); err == nil {
			out[id] = v
		}
	}
	return out, nil
}

func (w *world) Feed(_ context.Context, _, since int64, handle func(*model.Batch) error) (int64, bool, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.feeds++
	if since > 0 && since < w.pruned {
		return 0, true, nil
	}
	for _, b := range w.batches(since) {
		if err := handle(b); err != nil {
			return 0, false, err
		}
	}
	return w.version, false, nil
}

// batches returns the dictionaries first, then findings in batches.
func (w *world) batches(since int64) []*model.Batch {
	first := &model.Batch{
		Projects: rows(w.since("project", since), w.projects, func(id int64) {}),
		Rules:    rows(w.since("rule", since), w.rules, func(id int64) {}),
	}
	last := &model.Batch{}
	first.Policies = rows(w.since("policy", since), w.policies, func(id int64) { last.DeletedPolicies = append(last.DeletedPolicies, id) })
	first.PolicyRules = rows(w.since("policyRule", since), w.policyRules, func(id int64) {})
	first.Lineages = rows(w.since("lineage", since), w.lineages, func(id int64) { last.DeletedLineages = append(last.DeletedLineages, id) })
	rows(w.since("project", since), w.projects, func(id int64) { last.DeletedProjects = append(last.DeletedProjects, id) })
	findings := rows(w.since("finding", since), w.findings, func(id int64) { last.DeletedFindings = append(last.DeletedFindings, id) })
	out := []*model.Batch{first}
	for piece := range slices.Chunk(findings, w.batch) {
		out = append(out, &model.Batch{Findings: piece})
	}
	return append(out, last)
}

func (w *world) since(kind string, version int64) []int64 {
	ids := map[int64]bool{}
	for _, c := range w.log {
		if c.kind == kind && c.version > version {
			ids[c.id] = true
		}
	}
	return slices.Sorted(maps.Keys(ids))
}

func rows[T any](ids []int64, all map[int64]T, gone func(int64)) []T {
	var out []T
	for _, id := range ids {
		if row, ok := all[id]; ok {
			out = append(out, row)
		} else {
			gone(id)
		}
	}
	return out
}

func (w *world) Bodies(_ context.Context, _ int64, ids []int64) (map[int64][]byte, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.bodyReads += len(ids)
	out := map[int64][]byte{}
	for _, id := range ids {
		if f, ok := w.findings[id]; ok {
			out[id] = f.Body
		}
	}
	return out, nil
}

func (w *world) RecordCheckpoint(_ context.Context, _ int64, id string, version int64, forget []string) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if version > w.version {
		return fmt.Errorf("version %d: %w", version, model.ErrConflict)
	}
	w.checkpoints[id] = version
	for _, id := range forget {
		delete(w.checkpoints, id)
	}
	return nil
}

func (w *world) HasCheckpoint(_ context.Context, _ int64, id string) (bool, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	_, ok := w.checkpoints[id]
	return ok, nil
}

// copied returns a world with the same content and history.
func (w *world) copied() *world {
	return &world{
		version: w.version, pruned: w.pruned, batch: w.batch, deleted: w.deleted, log: slices.Clone(w.log),
		projects: maps.Clone(w.projects), rules: maps.Clone(w.rules), policies: maps.Clone(w.policies), policyRules: maps.Clone(w.policyRules),
		lineages: maps.Clone(w.lineages), findings: maps.Clone(w.findings), checkpoints: maps.Clone(w.checkpoints),
	}
}
