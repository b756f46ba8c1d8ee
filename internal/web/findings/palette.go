package findings

import (
	"cmp"
	"context"
	"errors"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/redoubt/redoubt/internal/globalsearch"
	"github.com/redoubt/redoubt/internal/index"
	"github.com/redoubt/redoubt/internal/model"
	"github.com/redoubt/redoubt/internal/store"
	"github.com/redoubt/redoubt/internal/web/ui"
)

// paletteEntry is a page or an action in the palette.
type paletteEntry struct {
	kind    globalsearch.Kind
	name    string // unique among entries
	group   string // of the navigation; may be empty
	address string
	least   model.Role
	sends   bool // it submits a form to the address
}

// rank rates the match of an entry by its name, or by its group and name.
func (p paletteEntry) rank(q globalsearch.Query) (globalsearch.Rank, bool) {
	if rank, matches := q.Rank(p.name); matches {
		return rank, true
	}
	return q.Rank(p.group + " " + p.name)
}

// more lists the pages that the navigation does not contain, and actions that other pages provide.
var more = []paletteEntry{
	{kind: globalsearch.Page, name: "Managed scans", group: "Inventory", address: "/runs", least: model.RoleViewer},
	{kind: globalsearch.Page, name: "Get started", address: ui.StartPath, least: model.RoleViewer},
	{kind: globalsearch.Page, name: "Your account", address: "/account", least: model.RoleViewer},
	{kind: globalsearch.Action, name: "New token", address: ui.TokensPath, least: model.RoleViewer},
	{kind: globalsearch.Action, name: "Create SBOM", address: "/sbom", least: model.RoleViewer},
	{kind: globalsearch.Action, name: "Upload report", address: ui.UploadPath, least: model.RoleTriager},
	{kind: globalsearch.Action, name: "New exception", address: "/exceptions#add", least: model.RoleTriager},
	{
		kind: globalsearch.Action,
		name: "New notification rule", address: ui.NotificationsPath + "/new", least: model.RoleAdmin,
	},
	{kind: globalsearch.Action, name: "Connect code host", address: ui.ConnectionsPath, least: model.RoleAdmin},
	{kind: globalsearch.Action, name: "Invite user", address: ui.UsersPath, least: model.RoleAdmin},
}

// paletteEntries returns all pages and actions of the viewer. Actions on the current page are
// first.
func paletteEntries(ctx context.Context, req *ui.Request, tx *store.Tx) ([]paletteEntry, error) {
	out, err := pageActions(ctx, req, tx)
	for _, p := range more {
		if req.Viewer.May(p.least) {
			p.address = req.To(p.address)
			out = append(out, p)
		}
	}
	for _, g := range ui.Navigation(req.To(""), "", req.Viewer, nil) {
		for _, item := range g.Items {
			out = append(out, paletteEntry{kind: globalsearch.Page, name: item.Label, group: g.Title, address: item.Address})
		}
	}
	return out, err
}

// pageActions returns the actions on the page from which the palette was opened.
func pageActions(ctx context.Context, req *ui.Request, tx *store.Tx) ([]paletteEntry, error) {
	at, err := url.Parse(req.HTTP.Header.Get("HX-Current-URL"))
	if err != nil || !strings.HasPrefix(at.Path, req.To("/")) {
		return nil, nil //nolint:nilerr // scripts say where they are: who says nonsense is nowhere
	}
	path := strings.TrimPrefix(at.Path, req.To(""))
	for _, p := range ui.Products {
		if path == p.Path {
			query := at.Query()
			query.Del("finding")
			query.Set("format", "csv")
			return []paletteEntry{{
				kind: globalsearch.Action,
				name: "Export these findings as CSV", address: req.To(p.Path + "/export?" + query.Encode()),
			}}, nil
		}
	}
	id, err := strconv.ParseInt(strings.TrimPrefix(path, "/projects/"), 10, 64)
	if err != nil || !strings.HasPrefix(path, "/projects/") || !req.Viewer.May(model.RoleTriager) {
		return nil, nil //nolint:nilerr // another page, where nothing more can be done
	}
	p, err := tx.Project(ctx, id)
	if errors.Is(err, model.ErrNotFound) {
		return nil, nil
	}
	scan := paletteEntry{
		kind:    globalsearch.Action,
		name:    "Scan " + p.Name + " now",
		address: req.To("/projects/" + ui.Decimal(id) + "/scan"),
		sends:   true,
	}
	return []paletteEntry{scan}, err
}

// peopleNamed returns at most limit enabled users whose name matches, with their numbers of open
// findings.
func peopleNamed(members []model.Member, view *index.View, q globalsearch.Query, limit int) (hits []globalsearch.Hit) {
	for _, m := range members {
		rank, matches := q.Rank(m.Name)
		if titled, also := q.Rank(m.Title()); also && (!matches || titled < rank) {
			rank, matches = titled, true
		}
		if matches && m.Enabled() {
			hits = append(hits, globalsearch.Hit{Kind: globalsearch.Person, Rank: rank, Name: m.Name, Detail: m.Title()})
		}
	}
	slices.SortStableFunc(hits, func(a, b globalsearch.Hit) int { return cmp.Compare(a.Rank, b.Rank) })
	hits = hits[:min(len(hits), limit)]
	for i := range hits {
		h := &hits[i]
		most := 0
		for _, p := range ui.Products {
			f := ui.AllFindings(p)
			f.Statuses, f.Assignees = []model.Status{model.StatusOpen}, []string{h.Name}
			n := view.Count(f)
			h.Open += n
			if h.IssueType == 0 || n > most {
				h.IssueType, most = p.Type, n
			}
		}
		if h.Detail == h.Name {
			h.Detail = ""
		}
	}
	return hits
}
