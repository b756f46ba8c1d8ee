package ingest

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/redoubt/redoubt/internal/model"
)

// memory is a Store of one deployment in maps. It enforces keys and references like a database.
type memory struct {
	clock    time.Time
	projects []model.Project
	scans    []model.Scan
	rules    map[string]int64
	rows     map[int64]*model.FindingWrite
	lineages map[int64]*model.Lineage
	links    map[model.Identity]int64
	events   []model.FindingEvent
	trail    []model.TriageEvent

	secretRules map[model.SecretRule]bool
	languages   map[string][]string                 // of rules, by name
	inventories map[string]model.InventoryStatement // by ref and lockfile
	nextID      int64
	writes      int     // number of write calls
	started     []int64 // lineages in order, including later merged ones
}

func newMemory() *memory {
	return &memory{
		clock: time.Date(2026, 3, 1, 8, 0, 0, 0, time.UTC), rules: map[string]int64{}, rows: map[int64]*model.FindingWrite{},
		lineages: map[int64]*model.Lineage{}, links: map[model.Identity]int64{}, inventories: map[string]model.InventoryStatement{},
		secretRules: map[model.SecretRule]bool{},
	}
}

// tick advances and returns the transaction's time.
func (m *memory) tick(d time.Duration) time.Time {
	m.clock = m.clock.Add(d)
	return m.clock
}

func (m *memory) id() int64 { m.nextID++; return m.nextID }

func (m *memory) Now() time.Time { return m.clock }

func (m *memory) ProjectForScan(_ context.Context, _ model.ProjectGlobs, p model.Project) (model.Project, error) {
	for i := range m.projects {
		if m.projects[i].Name == p.Name {
			return m.projects[i], nil
		}
	}
	p.ID = m.id()
	m.writes++
	m.projects = append(m.projects, p)
	return p, nil
}

func (m *memory) Project(_ context.Context, id int64) (model.Project, error) {
	for _, p := range m.projects {
		if p.ID == id {
			return p, nil
		}
	}
	return model.Project{}, model.ErrNotFound
}

func (m *memory) UpdateProjectByScan(_ context.Context, _ model.ProjectGlobs, projectID int64, scan model.Project) (model.Project, error) {
	for i := range m.projects {
		if p := &m.projects[i]; p.ID == projectID {
			if scan.URL != "" && scan.URL != p.URL {
				m.writes++
				p.URL = scan.URL
			}
			return *p, nil
		}
	}
	return scan, model.ErrNotFound
}

func (m *memory) Together(_ context.Context, fn func() error) error { return fn() }

func (m *memory) ScanApplied(_ context.Context, projectID int64, ref string, full bool, at time.Time) error {
	m.writes++
	for i := range m.projects {
		if p := &m.projects[i]; p.ID == projectID {
			p.LatestScanAt = at
			if full && p.DefaultBranch == "" {
				p.DefaultBranch = ref
			}
			return nil
		}
	}
	return model.ErrNotFound
}

func (m *memory) Stream(_ context.Context, projectID int64, ref, source, commit string) (model.ScanStream, error) {
	var s model.ScanStream
	had := false
	for _, scan := range m.scans {
		if scan.ProjectID != projectID || scan.Ref != ref || scan.Source != source || scan.Outcome != model.ScanApplied {
			continue
		}
		s.LastScanID, s.LastDigest = scan.ID, scan.Digest
		last := &s.LastDiffStart
		if scan.Full {
			last, s.Complete = &s.LastFullStart, s.Complete || scan.Status != model.ScanError
		}
		if scan.StartedAt.After(*last) {
			*last = scan.StartedAt
		}
		had = had || scan.Commit == commit
		s.Superseded = s.Superseded || commit != "" && had && scan.Commit != "" && scan.Commit != commit
	}
	return s, nil
}

func (m *memory) AddScan(_ context.Context, s model.Scan) (int64, error) {
	m.writes++
	s.ID = m.id()
	m.scans = append(m.scans, s)
	return s.ID, nil
}

func (m *memory) FinishScan(_ context.Context, s model.Scan) error {
	for i := range m.scans {
		if m.scans[i].ID == s.ID {
			m.scans[i] = s
			return nil
		}
	}
	return model.ErrNotFound
}

func (m *memory) SetScanCounts(_ context.Context, id int64, counts model.FindingCounts) error {
	for i := range m.scans {
		if m.scans[i].ID == id {
			m.scans[i].Counts = counts
		}
	}
	return nil
}

// PutScanAccount stores nothing, because findings do not depend on it.
func (m *memory) PutScanAccount(context.Context, model.ScanAccount) error { return nil }

func (m *memory) ScanAccount(context.Context, int64) (model.ScanAccount, error) {
	return model.ScanAccount{}, model.ErrNotFound
}

func (m *memory) Findings(_ context.Context, projectID int64, ref, source string) (out []model.Finding, _ error) {
	for _, f := range m.rows {
		if f.ProjectID == projectID && f.Ref == ref && f.Source == source {
			out = append(out, f.Finding)
		}
	}
	slices.SortFunc(out, func(a, b model.Finding) int { return int(a.ID - b.ID) })
	return out, nil
}

func (m *memory) FindingBodies(_ context.Context, ids []int64) (map[int64]model.FindingWrite, error) {
	out := map[int64]model.FindingWrite{}
	for _, id := range ids {
		out[id] = model.FindingWrite{Body: m.rows[id].Body, Evidence: m.rows[id].Evidence}
	}
	return out, nil
}

func (m *memory) LineagesOf(_ context.Context, _ int64, ids []model.Identity) (map[model.Identity]model.Lineage, error) {
	out := map[model.Identity]model.Lineage{}
	for _, id := range ids {
		if lineage, ok := m.links[id]; ok {
			out[id] = *m.lineages[lineage]
		}
	}
	return out, nil
}

func (m *memory) Lineages(_ context.Context, ids []int64) (map[int64]model.Lineage, error) {
	out := map[int64]model.Lineage{}
	for _, id := range ids {
		out[id] = *m.lineages[id]
	}
	return out, nil
}

func (m *memory) LiveOfLineages(_ context.Context, _ int64, ids []int64) (map[int64][]model.Finding, error) {
	out := map[int64][]model.Finding{}
	for _, id := range slices.Sorted(maps.Keys(m.rows)) {
		if f := m.rows[id]; live(f.State) && slices.Contains(ids, f.LineageID) {
			out[f.LineageID] = append(out[f.LineageID], f.Finding)
		}
	}
	return out, nil
}

func (m *memory) PutRules(_ context.Context, rules []*model.Rule) (ids []int64, _ error) {
	for _, r := range rules {
		content := fmt.Sprintf("%+v", *r)
		if m.rules[content] == 0 {
			m.writes++
			m.rules[content] = m.id()
		}
		ids = append(ids, m.rules[content])
	}
	return ids, nil
}

func (m *memory) RuleLanguages(context.Context, []string) (map[string][]string, error) {
	return m.languages, nil
}

func (m *memory) SecretRules(context.Context) (map[model.SecretRule]bool, error) {
	return m.secretRules, nil
}

func (m *memory) PutSecretRules(_ context.Context, rules []model.SecretRule) error {
	m.writes++
	for _, r := range rules {
		m.secretRules[r] = true
	}
	return nil
}

func (m *memory) CodeFindings(_ context.Context, rules []model.SecretRule) (out []model.FindingWrite, _ error) {
	for _, f := range m.rows {
		if f.IssueType == model.SAST && slices.Contains(rules, model.SecretRule{Tool: toolOf(f.Source), Name: f.RuleName}) {
			out = append(out, *f)
		}
	}
	slices.SortFunc(out, func(a, b model.FindingWrite) int { return int(a.ID - b.ID) })
	return out, nil
}

func (m *memory) ConcealFindings(ctx context.Context, findings []model.FindingWrite) error {
	for _, f := range findings {
		for id, lineage := range m.links {
			if lineage == f.LineageID && id.Kind != model.IdentitySecret {
				delete(m.links, id)
			}
		}
	}
	return m.UpdateFindings(ctx, findings)
}

func (m *memory) NewFindingIDs(_ context.Context, n int) ([]int64, error) { return m.ids(n), nil }
func (m *memory) NewLineageIDs(_ context.Context, n int) ([]int64, error) { return m.ids(n), nil }

func (m *memory) ids(n int) []int64 {
	out := make([]int64, n)
	for i := range out {
		out[i] = m.id()
	}
	return out
}

func (m *memory) AddLineages(_ context.Context, lineages []model.Lineage) error {
	m.writes++
	for _, l := range lineages {
		if l.ID == 0 || m.lineages[l.ID] != nil {
			return fmt.Errorf("lineage %d is there or has no id", l.ID)
		}
		m.lineages[l.ID] = &l
		m.started = append(m.started, l.ID)
	}
	return nil
}

func (m *memory) AddIdentities(_ context.Context, _ int64, links []model.IdentityLink) error {
	m.writes++
	for _, link := range links {
		if m.lineages[link.LineageID] == nil {
			return fmt.Errorf("identity %v is linked to no lineage", link.Identity)
		}
		m.links[link.Identity] = link.LineageID
	}
	return nil
}

func (m *memory) MergeLineages(_ context.Context, merges []model.LineageMerge) error {
	m.writes++
	for _, merge := range merges {
		into := m.lineages[merge.Into.ID]
		if into == nil {
			return fmt.Errorf("merge into lineage %d: %w", merge.Into.ID, model.ErrNotFound)
		}
		into.Annotations = merge.Into.Annotations
		for _, from := range merge.From {
			for id, lineage := range m.links {
				if lineage == from {
					m.links[id] = into.ID
				}
			}
			for _, f := range m.rows {
				if f.LineageID == from {
					f.LineageID = into.ID
				}
			}
			for i := range m.trail {
				if m.trail[i].LineageID == from {
					m.trail[i].LineageID = into.ID
				}
			}
			delete(m.lineages, from)
		}
	}
	return nil
}

func (m *memory) AddFindings(_ context.Context, findings []model.FindingWrite) error {
	m.writes++
	for _, f := range findings {
		if f.ID == 0 || m.rows[f.ID] != nil || f.Body == nil {
			return fmt.Errorf("finding %d is there, or has no id or body", f.ID)
		}
		m.rows[f.ID] = &f
	}
	return m.checkRows()
}

func (m *memory) UpdateFindings(_ context.Context, findings []model.FindingWrite) error {
	m.writes++
	for _, f := range findings {
		if m.rows[f.ID] == nil {
			return fmt.Errorf("finding %d: %w", f.ID, model.ErrNotFound)
		}
		if f.Body == nil {
			f.Body, f.Evidence = m.rows[f.ID].Body, m.rows[f.ID].Evidence
		}
		if f.Subject == nil {
			f.Subject = m.rows[f.ID].Subject
		}
		m.rows[f.ID] = &f
	}
	return m.checkRows()
}

// checkRows checks the unique key and the references of rows.
func (m *memory) checkRows() error {
	type key struct {
		ref, source string
		id          model.Identity
	}
	seen := map[key]bool{}
	for _, f := range m.rows {
		k := key{f.Ref, f.Source, f.Identity}
		if seen[k] || f.RuleID == 0 || m.lineages[f.LineageID] == nil || m.links[f.Identity] == 0 {
			return fmt.Errorf("finding %d breaks a key: %+v", f.ID, f.Finding)
		}
		seen[k] = true
	}
	return nil
}

func (m *memory) AddEvents(_ context.Context, events []model.FindingEvent) error {
	m.writes++
	m.events = append(m.events, events...)
	return nil
}

// SplitTickets does nothing, because memory stores no tickets.
func (m *memory) SplitTickets(context.Context, []int64) error { return nil }

func (m *memory) UpdateTriage(_ context.Context, events []model.TriageEvent) error {
	m.writes++
	for _, e := range events {
		if m.lineages[e.LineageID] == nil || m.lineages[e.LineageID].Triage != e.Before {
			return fmt.Errorf("triage of lineage %d is not as the event says it was", e.LineageID)
		}
		m.lineages[e.LineageID].Triage = e.After
		m.trail = append(m.trail, e)
	}
	return nil
}

func (m *memory) Supplement(_ context.Context, known map[int64]model.Supplement) error {
	for id := range known {
		if m.rows[id] == nil || m.rows[id].Source == model.SourceAdvisories {
			return fmt.Errorf("finding %d is no scanner's", id)
		}
	}
	return nil
}

func (m *memory) PutVEX(context.Context, model.VEXUpload) ([]model.VEXReceipt, model.Refusals, error) {
	return nil, model.Refusals{}, nil
}

func (m *memory) Reevaluate(context.Context, []int64) error { return nil }

func (m *memory) RefreshScores(context.Context, []model.ProjectRef) error { return nil }

func (m *memory) PutInventory(_ context.Context, s model.InventoryStatement) (added, removed int, _ error) {
	key := s.Ref + " " + s.Inventory.Lockfile
	old, known := m.inventories[key]
	if known && (old.At.After(s.At) || old.Digest == s.Digest) {
		return 0, 0, nil
	}
	m.writes++
	m.inventories[key] = s
	return len(s.Inventory.Dependencies), len(old.Inventory.Dependencies), nil
}

func (m *memory) DropInventories(_ context.Context, _ int64, ref, source string, until time.Time, retained []string) (dropped []string, dependencies int, _ error) {
	for key, s := range m.inventories {
		if s.Ref == ref && (s.Source == source || source == "") && !s.At.After(until) && !slices.Contains(retained, s.Inventory.Lockfile) {
			m.writes++
			delete(m.inventories, key)
			dropped = append(dropped, s.Inventory.Lockfile)
			dependencies += len(s.Inventory.Dependencies)
		}
	}
	slices.Sort(dropped)
	return dropped, dependencies, nil
}

// toolOf returns the tool of a source.
func toolOf(source string) string {
	tool, _, _ := strings.Cut(source, ":")
	return tool
}
