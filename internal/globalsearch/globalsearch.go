package globalsearch

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/redoubt/redoubt/internal/advisory"
	"github.com/redoubt/redoubt/internal/index"
	"github.com/redoubt/redoubt/internal/model"
	"github.com/redoubt/redoubt/internal/store"
)

// Kind is the kind of a hit.
type Kind string

// Kinds of hits. Only the web interface adds persons, pages and actions.
const (
	Finding       Kind = "finding"
	Vulnerability Kind = "vulnerability"
	Project       Kind = "project"
	Package       Kind = "package"
	Rule          Kind = "rule"
	SavedView     Kind = "saved_view"
	Person        Kind = "person"
	Page          Kind = "page"
	Action        Kind = "action"
)

// kinds is the order of hits with equal rank.
var kinds = []Kind{Finding, Vulnerability, Project, Package, Rule, SavedView, Person, Action, Page}

// Hit is a search result.
type Hit struct {
	Kind      Kind
	Rank      Rank
	ID        int64  // of a finding, project or saved view; 0 for others
	Name      string // for a finding, its vulnerability or rule
	Detail    string // distinguishes hits with the same name; may be empty
	IssueType model.IssueType
	Open      int  // number of open findings, deduplicated
	Advised   bool // the vulnerability is in the advisories
}

// Caller is the user and access of a search.
type Caller struct {
	UserID   int64              // the user whose own views are searched in addition to shared ones; 0 for none
	Projects model.ProjectGlobs // visible projects, without any saved views; empty for everything
}

// Find returns the best hits, at most limit per kind. limit must be at least 1. An empty query has
// no hits.
func Find(ctx context.Context, tx *store.Tx, findings *index.View, by Caller, q Query, limit int) ([]Hit, error) {
	if q.Empty() {
		return nil, nil
	}
	s := &search{tx: tx, findings: findings, by: by, q: q, limit: limit}
	var hits []Hit
	for _, find := range []func(context.Context) ([]Hit, error){s.finding, s.names, s.savedViews} {
		found, err := find(ctx)
		if err != nil {
			return nil, err
		}
		hits = append(hits, found...)
	}
	Sort(hits)
	return hits, nil
}

// Sort sorts hits by rank, then by kind. The order of equal hits is preserved.
func Sort(hits []Hit) {
	slices.SortStableFunc(hits, func(a, b Hit) int {
		return cmp.Or(cmp.Compare(a.Rank, b.Rank), cmp.Compare(slices.Index(kinds, a.Kind), slices.Index(kinds, b.Kind)))
	})
}

// search is the state of a search.
type search struct {
	tx       *store.Tx
	findings *index.View
	by       Caller
	q        Query
	limit    int
}

// finding returns the finding with the ID in the query, even if it is no longer listed.
func (s *search) finding(ctx context.Context) ([]Hit, error) {
	if s.q.finding == 0 {
		return nil, nil
	}
	o, err := s.tx.Finding(ctx, s.q.finding)
	if errors.Is(err, model.ErrNotFound) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	p, err := s.tx.Project(ctx, o.ProjectID)
	if err != nil || !s.by.Projects.Allows(p.Name) {
		return nil, err
	}
	detail := fmt.Sprintf("%s, %s", p.Name, o.Path)
	if o.Package != "" {
		detail = fmt.Sprintf("%s, %s", o.Package, detail)
	}
	h := Hit{
		Kind:      Finding,
		Rank:      RankID,
		ID:        o.ID,
		Name:      cmp.Or(model.BodyVulnerability(o.Body), o.RuleName),
		Detail:    detail,
		IssueType: o.IssueType,
	}
	if model.StatusOf(o.State, o.Lineage.Triage.State) == model.StatusOpen {
		h.Open = 1
	}
	return []Hit{h}, nil
}

// nameKinds maps the kinds of the index.
var nameKinds = map[index.NameKind]Kind{
	index.NameOfProject: Project, index.NameOfRule: Rule,
	index.NameOfPackage: Package, index.NameOfVulnerability: Vulnerability,
}

// names returns hits by name from the index.
func (s *search) names(ctx context.Context) ([]Hit, error) {
	called, err := s.otherNames(ctx)
	if err != nil {
		return nil, err
	}
	found := s.findings.SearchNames(s.by.Projects, s.limit, func(kind index.NameKind, name string) (int, bool) {
		if kind == index.NameOfVulnerability && slices.Contains(called, name) {
			return int(RankID), true
		}
		rank, matches := s.q.Rank(name)
		if rank == RankName && kind == index.NameOfVulnerability {
			rank = RankID
		}
		return int(rank), matches
	})
	hits := make([]Hit, len(found))
	for i, f := range found {
		hits[i] = Hit{
			Kind:      nameKinds[f.Kind],
			Rank:      Rank(f.Rank),
			ID:        f.ID,
			Name:      f.Name,
			IssueType: f.IssueType,
			Open:      f.Open,
		}
	}
	return s.known(ctx, hits)
}

// otherNames returns the aliases of a vulnerability in lower case, if the query is its ID.
func (s *search) otherNames(ctx context.Context) (names []string, err error) {
	if len(s.q.words) != 1 {
		return nil, nil
	}
	names, err = s.tx.AdvisoryNames(ctx, s.q.text)
	for i := range names {
		names[i] = strings.ToLower(names[i])
	}
	return names, err
}

// known adds data of advisories to vulnerabilities. It merges aliases of one vulnerability, and
// adds the vulnerability whose ID is the query even if it has no findings.
func (s *search) known(ctx context.Context, hits []Hit) ([]Hit, error) {
	var names []string
	for i := range hits {
		if hits[i].Kind == Vulnerability {
			names = append(names, strings.ToUpper(hits[i].Name))
			hits[i].Name = vulnerabilityID(hits[i].Name)
		}
	}
	queryID := strings.ToUpper(s.q.text)
	if len(s.q.words) == 1 {
		names = append(names, queryID)
	}
	groups, err := s.tx.AdvisoryGroupsNamed(ctx, names)
	if err != nil || len(groups) == 0 {
		return hits, err
	}
	ids := make([]int64, 0, len(groups))
	for _, id := range groups {
		ids = append(ids, id)
	}
	summaries, err := advisory.Cards(ctx, s.tx, ids)
	if err != nil {
		return nil, err
	}
	return merged(hits, queryID, groups, summaries), nil
}

// vulnerabilityID returns an ID in the spelling of its database. Only GitHub uses lower-case
// letters.
func vulnerabilityID(lower string) string {
	if rest, is := strings.CutPrefix(lower, "ghsa-"); is {
		return "GHSA-" + rest
	}
	return strings.ToUpper(lower)
}

// merged returns each vulnerability once, with the name and summary from the advisories.
func merged(hits []Hit, queryID string, groups map[string]int64, summaries map[int64]model.AdvisorySummary) []Hit {
	if groups[queryID] != 0 {
		hits = append(hits, Hit{Kind: Vulnerability, Rank: RankID, Name: queryID, IssueType: model.SCA})
	}
	at := map[int64]int{} // index in out by group
	out := hits[:0]
	for _, h := range hits {
		group := groups[strings.ToUpper(h.Name)]
		if h.Kind == Vulnerability && group != 0 {
			if first, exists := at[group]; exists {
				out[first].Open += h.Open
				out[first].Rank = min(out[first].Rank, h.Rank)
				continue
			}
			at[group] = len(out)
			h.Advised = true
			if summary, known := summaries[group]; known {
				h.Name, h.Detail = summary.Shown, summary.Summary
			}
		}
		out = append(out, h)
	}
	return out
}

// savedViews returns the visible saved views. Callers restricted to projects have none.
func (s *search) savedViews(ctx context.Context) ([]Hit, error) {
	if len(s.by.Projects) > 0 {
		return nil, nil
	}
	views, err := s.tx.SavedViews(ctx, s.by.UserID)
	if err != nil {
		return nil, err
	}
	var hits []Hit
	for _, v := range views {
		if rank, matches := s.q.Rank(v.Name); matches {
			hits = append(hits, Hit{Kind: SavedView, Rank: rank, ID: v.ID, Name: v.Name, IssueType: v.IssueType})
		}
	}
	Sort(hits)
	return hits[:min(len(hits), s.limit)], nil
}
