package projects

import (
	"cmp"
	"context"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/redoubt/redoubt/internal/advisory"
	"github.com/redoubt/redoubt/internal/model"
	"github.com/redoubt/redoubt/internal/store"
	"github.com/redoubt/redoubt/internal/web/ui"
)

// advisoriesPage is a search for vulnerabilities.
type advisoriesPage struct {
	Query      url.Values
	Rows       []advisoryRow
	All        int // vulnerabilities in the database
	Total      int
	Severities []option
	Ecosystems []option
	Exploited  int
	Malicious  int
	Affecting  int
	Pages      ui.Pager
	Clear      string
	Sources    []sourceAge
	Stale      bool
}

// advisoryRow is a vulnerability in a list.
type advisoryRow struct {
	model.AdvisorySummary
	advisory.Presence
	Own       string
	Open      string // address of its open findings
	OpenAny   string // the same on all branches
	Aliases   []string
	EPSS      *model.EPSS
	Exploited bool
	More      int // number of packages that the row does not show
}

// Maximum number of names in a row.
const (
	shownPackages = 3
	shownAliases  = 3
)

// notRated selects vulnerabilities without a rating.
const notRated = "not_rated"

// sourceAge is the age of the data of an advisory source.
type sourceAge struct {
	model.AdvisorySource
	Name  string
	At    time.Time // last time it was up to date
	Stale bool
}

// listAdvisories searches all advisories. Those that affect the deployment are first.
func (k *known) listAdvisories(req *ui.Request) error {
	p := &advisoriesPage{Query: req.HTTP.URL.Query(), Clear: req.To("/advisories")}
	search, page, err := advisorySearch(p.Query)
	if err != nil {
		return err
	}
	c, err := k.advisories(req)
	if err != nil {
		return err
	}
	if search.Present, err = k.presentAdvisories(req); err != nil {
		return err
	}
	found := c.Search(search)
	p.All, p.Total, p.Exploited = c.Len(), found.Total, found.Exploited
	p.Malicious, p.Affecting = found.Malicious, found.Affecting
	p.options(search, found)
	p.Pages = ui.NewPager(page, ui.PerPage, found.Total, func(n int) string {
		return req.To("/advisories?" + withPage(p.Query, n))
	})
	if p.Rows, err = advisoryRows(req, found.Groups, search.Present, c.Exploited(found.Groups)); err != nil {
		return err
	}
	if p.Sources, p.Stale, err = sourceAges(req); err != nil {
		return err
	}
	return req.Show(http.StatusOK, ui.Page{Template: "advisories", Title: "Advisories", Section: "advisories", Data: p})
}

// withPage returns the query of another page.
func withPage(q url.Values, n int) string {
	other := url.Values{}
	maps.Copy(other, q)
	other.Set("page", strconv.Itoa(n))
	return other.Encode()
}

// advisorySearch parses a query.
func advisorySearch(q url.Values) (s advisory.Search, page int, err error) {
	bad := &model.InvalidError{}
	page = max(ui.Number(q, "page", bad), 1)
	s = advisory.Search{
		Text: q.Get("q"), Ecosystem: q.Get("ecosystem"), Exploited: q.Get("kev") != "", Malicious: q.Get("malicious") != "",
		Affecting: q.Get("here") != "", Skip: (page - 1) * ui.PerPage, Size: ui.PerPage,
	}
	switch text := q.Get("severity"); text {
	case "":
	case notRated:
		s.Unrated = true
	default:
		var ok bool
		if s.Severity, ok = model.ParseSeverity(text); !ok {
			bad.Fields = append(bad.Fields, model.FieldError{
				Location: "severity",
				Message:  "must be low, medium, high, critical or " + notRated,
				Value:    text,
			})
		}
	}
	if len(bad.Fields) > 0 {
		return s, page, bad
	}
	return s, page, nil
}

func (p *advisoriesPage) options(s advisory.Search, found advisory.SearchResult) {
	for severity := model.SeverityCritical; severity > 0; severity-- {
		p.Severities = append(p.Severities, option{
			Value: severity.String(), Label: ui.Capital(severity.String()),
			Count: found.Severities[severity], Chosen: s.Severity == severity,
		})
	}
	p.Severities = append(p.Severities, option{
		Value:  notRated,
		Label:  ui.Capital(notRated),
		Count:  found.Severities[0],
		Chosen: s.Unrated,
	})
	for _, e := range slices.Sorted(maps.Keys(found.Ecosystems)) {
		p.Ecosystems = append(p.Ecosystems, option{Value: e, Label: e, Count: found.Ecosystems[e], Chosen: s.Ecosystem == e})
	}
	if s.Ecosystem != "" && found.Ecosystems[s.Ecosystem] == 0 {
		p.Ecosystems = append(p.Ecosystems, option{Value: s.Ecosystem, Label: s.Ecosystem, Count: 0, Chosen: true})
	}
}

// advisoryRows reads the rows of a page, in order.
func advisoryRows(
	req *ui.Request, groups []int64, presences map[int64]advisory.Presence, exploited map[int64]bool,
) ([]advisoryRow, error) {
	var rows []advisoryRow
	return rows, req.View(func(ctx context.Context, tx *store.Tx) error {
		summaries, err := advisory.Cards(ctx, tx, groups)
		if err != nil {
			return err
		}
		var names []string
		for _, c := range summaries {
			names = append(names, c.Names...)
		}
		scores, err := tx.Scores(ctx, names)
		for _, id := range groups {
			summary, is := summaries[id]
			if !is {
				continue // merged into another group concurrently
			}
			rows = append(rows, newAdvisoryRow(req, summary, presences[id], exploited[id], scores))
		}
		return err
	})
}

// Unrated reports whether the vulnerability has no rating.
func (r advisoryRow) Unrated() bool { return r.Severity == 0 }

func newAdvisoryRow(
	req *ui.Request, summary model.AdvisorySummary, presence advisory.Presence, exploited bool,
	scores map[string]model.EPSS,
) advisoryRow {
	row := advisoryRow{
		AdvisorySummary: summary, Presence: presence, Own: req.To("/advisories/" + url.PathEscape(summary.Shown)),
		Open: findingsOf(req, summary.Shown), OpenAny: findingsOf(req, summary.Shown) + "&branch=every",
		Exploited: exploited, EPSS: highest(scores, summary.Names),
	}
	for _, name := range summary.Names {
		if !strings.EqualFold(name, summary.Shown) && len(row.Aliases) < shownAliases {
			row.Aliases = append(row.Aliases, name)
		}
	}
	if row.More = len(summary.Packages) - shownPackages; row.More > 0 {
		row.Packages = row.Packages[:shownPackages]
	}
	return row
}

// findingsOf returns the address of the open findings of a vulnerability.
func findingsOf(req *ui.Request, name string) string {
	return req.To(ui.ProductOf(model.SCA).Path + "?advisory=" + url.QueryEscape(name))
}

// highest returns the highest score of a vulnerability's names, or nil.
func highest(scores map[string]model.EPSS, names []string) (best *model.EPSS) {
	for _, name := range names {
		if s, ok := scores[name]; ok && (best == nil || best.Score < s.Score) {
			best = &s
		}
	}
	return best
}

// sourceAges returns the age of all loaded data, and whether any source is stale.
func sourceAges(req *ui.Request) (list []sourceAge, stale bool, err error) {
	sources, err := req.Store.AdvisorySources(req.HTTP.Context())
	for _, s := range sources {
		a := sourceAge{AdvisorySource: s, Name: sourceName(s)}
		a.At, a.Stale = advisory.Age(req.Clock(), s)
		list, stale = append(list, a), stale || a.Stale
	}
	slices.SortStableFunc(list, func(a, b sourceAge) int { return cmp.Compare(a.Kind, b.Kind) })
	return list, stale, err
}

// sourceName returns the display name of a source. OSV publishes one archive per ecosystem, in a
// directory of that name.
func sourceName(s model.AdvisorySource) string {
	switch s.Kind {
	case "epss":
		return "EPSS scores"
	case "kev":
		return "Known exploited (KEV)"
	}
	location := s.Shown()
	if plain, err := url.PathUnescape(location); err == nil {
		location = plain
	}
	parts := strings.Split(strings.TrimSuffix(location, "/"), "/")
	if last := len(parts) - 1; last > 0 && parts[last] == "all.zip" {
		return parts[last-1]
	}
	return parts[len(parts)-1]
}

// option is an option of a filter, with its number of results.
type option struct {
	Value, Label string
	Count        int
	Chosen       bool
}
