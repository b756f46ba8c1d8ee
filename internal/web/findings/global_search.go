package findings

import (
	"context"
	"net/http"
	"net/url"
	"slices"

	"github.com/redoubt/redoubt/internal/globalsearch"
	"github.com/redoubt/redoubt/internal/model"
	"github.com/redoubt/redoubt/internal/store"
	"github.com/redoubt/redoubt/internal/web/component"
	"github.com/redoubt/redoubt/internal/web/ui"
)

// searchPath is the page of the global search; the palette uses it, too.
const searchPath = "/search"

// Maximum number of hits of a kind.
const (
	hitsOnPage    = 20
	hitsInPalette = 5
)

// hitGroup contains the hits of one kind.
type hitGroup struct {
	Kind  globalsearch.Kind
	Title string
	Hits  []foundHit
}

// foundHit is a rendered hit.
type foundHit struct {
	globalsearch.Hit
	Address string
	Parts   []globalsearch.Part // of its name
	Sends   bool                // it submits a form instead of opening a page
}

// Number returns the displayed number of a finding; empty for other hits.
func (h foundHit) Number() string {
	if h.Kind != globalsearch.Finding {
		return ""
	}
	return "#" + ui.Decimal(h.ID)
}

// hitTitles contains the headings of groups.
var hitTitles = map[globalsearch.Kind]string{
	globalsearch.Finding: "Finding", globalsearch.Vulnerability: "Vulnerabilities", globalsearch.Project: "Projects",
	globalsearch.Package: "Packages", globalsearch.Rule: "Rules", globalsearch.SavedView: "Saved views",
	globalsearch.Person: "People", globalsearch.Page: "Pages", globalsearch.Action: "Actions",
}

// searchPage is the data of the search page.
type searchPage struct {
	Query  string
	Groups []hitGroup
	Lists  []component.Choice // links to lists filtered by the query
	Total  int
}

// searchEverything searches all that the viewer may access by name and number. Scripts receive the
// hits of the palette, which are fewer of each kind.
func searchEverything(req *ui.Request) error {
	p := &searchPage{Query: req.HTTP.URL.Query().Get("q")}
	limit := hitsOnPage
	if req.Partial() {
		limit = hitsInPalette
	}
	q, err := globalsearch.ParseQuery(p.Query)
	if err != nil {
		return err
	}
	hits, err := find(req, q, limit)
	if err != nil {
		return err
	}
	p.group(hits)
	if !q.Empty() {
		p.Lists = listsWith(req, p.Query)
	}
	return req.Show(http.StatusOK, ui.Page{Template: "search", Title: "Search", Section: "search", Data: p, Part: "hits"})
}

// find returns hits of all kinds, best first.
func find(req *ui.Request, q globalsearch.Query, limit int) (found []foundHit, err error) {
	view, err := req.Findings()
	if err != nil {
		return nil, err
	}
	var hits []globalsearch.Hit
	entries := map[string]paletteEntry{}
	err = req.View(func(ctx context.Context, tx *store.Tx) error {
		if hits, err = globalsearch.Find(ctx, tx, view, globalsearch.Caller{
			UserID: req.Viewer.UserID,
		}, q, limit); err != nil {
			return err
		}
		people, err := tx.Members(ctx)
		if err == nil && !q.Empty() {
			hits = append(hits, peopleNamed(people, view, q, limit)...)
		}
		if err != nil {
			return err
		}
		all, err := paletteEntries(ctx, req, tx)
		for _, p := range all {
			if rank, matches := p.rank(q); matches {
				hits = append(hits, globalsearch.Hit{Kind: p.kind, Rank: rank, Name: p.name, Detail: p.group})
				entries[p.name] = p
			}
		}
		return err
	})
	globalsearch.Sort(hits)
	for _, h := range hits {
		f := foundHit{Hit: h, Parts: q.Parts(h.Name)}
		if p, is := entries[h.Name]; is && (h.Kind == globalsearch.Page || h.Kind == globalsearch.Action) {
			f.Address, f.Sends = p.address, p.sends
		} else {
			f.Address = addressOf(req, h)
		}
		found = append(found, f)
	}
	return found, err
}

// group groups hits by kind. The kind with the best hit is first.
func (p *searchPage) group(hits []foundHit) {
	for _, h := range hits {
		at := slices.IndexFunc(p.Groups, func(g hitGroup) bool { return g.Kind == h.Kind })
		if at < 0 {
			at = len(p.Groups)
			p.Groups = append(p.Groups, hitGroup{Kind: h.Kind, Title: hitTitles[h.Kind]})
		}
		p.Groups[at].Hits = append(p.Groups[at].Hits, h)
	}
	p.Total = len(hits)
}

// addressOf returns the link of a hit. Lists show open findings, or all findings if there are none
// open.
func addressOf(req *ui.Request, h globalsearch.Hit) string {
	listed := func(key, value string) string {
		if h.IssueType == 0 {
			h.IssueType = model.SAST
		}
		q := url.Values{key: {value}}
		if h.Open == 0 {
			q.Set("status", anyStatus)
		}
		return req.To(ui.ProductOf(h.IssueType).Path + "?" + q.Encode())
	}
	switch h.Kind {
	case globalsearch.Finding:
		return req.To("/findings/" + ui.Decimal(h.ID))
	case globalsearch.Project:
		return req.To("/projects/" + ui.Decimal(h.ID))
	case globalsearch.SavedView:
		return req.To(ui.ProductOf(h.IssueType).Path + "?" + viewWord + "=" + ui.Decimal(h.ID))
	case globalsearch.Vulnerability:
		if h.Advised {
			return req.To("/advisories/" + url.PathEscape(h.Name))
		}
		return listed("advisory", h.Name)
	case globalsearch.Package:
		return listed("dependencies", h.Name)
	case globalsearch.Person:
		return listed("assignees", h.Name)
	}
	return listed("rules", h.Name)
}

// listsWith returns links to lists that search more than names, filtered by the text.
func listsWith(req *ui.Request, text string) (lists []component.Choice) {
	add := func(label, path, key string) {
		lists = append(lists, component.Choice{Label: label, Address: req.To(path + "?" + url.Values{key: {text}}.Encode())})
	}
	for _, p := range ui.Products {
		label := p.Title
		if p.Type != model.Secrets {
			label += " findings"
		}
		add(label, p.Path, "q")
	}
	add("Projects", "/projects", "q")
	add("Dependencies", "/supply-chain/dependencies", "name")
	add("Advisories", "/advisories", "q")
	return lists
}
