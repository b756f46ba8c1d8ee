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

// Kind is what a hit is.
type Kind string

// Kinds of hits. People, pages and actions are found by the pages alone.
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

// kinds are in the order of hits that are as good as each other.
var kinds = []Kind{Finding, Vulnerability, Project, Package, Rule, SavedView, Person, Action, Page}

// Hit is one thing that was found.
type Hit struct {
	Kind      Kind
	Rank      Rank
	ID        int64  // of a finding, a project or a saved view; 0 of others
	Name      string // of a finding what it is about: its vulnerability, or its rule
	Detail    string // what tells it from others; may be empty
	IssueType model.IssueType
	Open      int  // findings of it that are open, each once
	Advised   bool // advisories know the vulnerability
}

// Caller is who searches.
type Caller struct {
	UserID   int64              // whose saved views are found beside those that are shared; 0 for nobody's
	Projects model.ProjectGlobs // all that may be seen, and no saved views; none for everything
}

// Find finds what there is, limit hits of each kind and 1 at least, the best first. An empty
// query finds nothing.
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

// Sort puts the best hits first, those of a kind that are as good as each other as they
// came.
func Sort(hits []Hit) {
	slices.SortStableFunc(hits, func(a, b Hit) int {
		return cmp.Or(cmp.Compare(a.Rank, b.Rank), cmp.Compare(slices.Index(kinds, a.Kind), slices.Index(kinds, b.Kind)))
	})
}

// search is one search at work.
type search struct {
	tx       *store.Tx
	findings *index.View
	by       Caller
	q        Query
	limit    int
}

// finding is the one whose number is looked for, though no list has it any more.
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

// nameKinds are what the index calls kinds.
var nameKinds = map[index.NameKind]Kind{
	index.NameOfProject: Project, index.NameOfRule: Rule,
	index.NameOfPackage: Package, index.NameOfVulnerability: Vulnerability,
}

// names are what findings have in common.
func (s *search) names(ctx context.Context) ([]Hit, error) {
	called, err := s.otherNames(ctx)
	if err != nil {
		return nil, err
	}
	found := s.findings.SearchNames(s.by.Projects, s.limit, func(kind index.NameKind, name string) (int, bool) {
		if kind == index.NameOfVulnerability && slices.Contains(called, name) {
			return int(RankID), true
		}
		rank, fits := s.q.Rank(name)
		if rank == RankName && kind == index.NameOfVulnerability {
			rank = RankID
		}
		return int(rank), fits
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

// otherNames are what the vulnerability of that id is called, in lower case.
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

// known tells of vulnerabilities what the advisories say: findings that call one by
// several names are of one, and the one whose id was looked for is there though no
// finding has it.
func (s *search) known(ctx context.Context, hits []Hit) ([]Hit, error) {
	var names []string
	for i := range hits {
		if hits[i].Kind == Vulnerability {
			names = append(names, strings.ToUpper(hits[i].Name))
			hits[i].Name = vulnerabilityID(hits[i].Name)
		}
	}
	asked := strings.ToUpper(s.q.text)
	if len(s.q.words) == 1 {
		names = append(names, asked)
	}
	groups, err := s.tx.AdvisoryGroupsNamed(ctx, names)
	if err != nil || len(groups) == 0 {
		return hits, err
	}
	ids := make([]int64, 0, len(groups))
	for _, id := range groups {
		ids = append(ids, id)
	}
	cards, err := advisory.Cards(ctx, s.tx, ids)
	if err != nil {
		return nil, err
	}
	return merged(hits, asked, groups, cards), nil
}

// vulnerabilityID writes an id as its database does, of which only GitHub has small letters.
func vulnerabilityID(lower string) string {
	if rest, is := strings.CutPrefix(lower, "ghsa-"); is {
		return "GHSA-" + rest
	}
	return strings.ToUpper(lower)
}

// merged has each vulnerability once, as its card shows it.
func merged(hits []Hit, asked string, groups map[string]int64, cards map[int64]model.AdvisorySummary) []Hit {
	if groups[asked] != 0 {
		hits = append(hits, Hit{Kind: Vulnerability, Rank: RankID, Name: asked, IssueType: model.SCA})
	}
	at := map[int64]int{} // places of vulnerabilities in out, by group
	out := hits[:0]
	for _, h := range hits {
		group := groups[strings.ToUpper(h.Name)]
		if h.Kind == Vulnerability && group != 0 {
			if first, again := at[group]; again {
				out[first].Open += h.Open
				out[first].Rank = min(out[first].Rank, h.Rank)
				continue
			}
			at[group] = len(out)
			h.Advised = true
			if card, known := cards[group]; known {
				h.Name, h.Detail = card.Shown, card.Summary
			}
		}
		out = append(out, h)
	}
	return out
}

// savedViews are those that the caller sees. Who is bound to projects sees none.
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
		if rank, fits := s.q.Rank(v.Name); fits {
			hits = append(hits, Hit{Kind: SavedView, Rank: rank, ID: v.ID, Name: v.Name, IssueType: v.IssueType})
		}
	}
	Sort(hits)
	return hits[:min(len(hits), s.limit)], nil
}
