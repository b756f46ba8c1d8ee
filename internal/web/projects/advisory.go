package projects

import (
	"context"
	"net/http"
	"net/url"
	"strconv"
	"strings"

	"github.com/redoubt/redoubt/internal/advisory"
	"github.com/redoubt/redoubt/internal/model"
	"github.com/redoubt/redoubt/internal/store"
	"github.com/redoubt/redoubt/internal/web/ui"
)

// advisoryPage is a vulnerability with its affected projects.
type advisoryPage struct {
	*advisory.Vulnerability
	advisory.Presence
	Level     model.Severity
	Score     float64
	Vector    string
	EPSS      *model.EPSS
	KEV       *model.KEV
	Affected  []affectedRow
	Impact    []impactRow
	All       bool   // include fixed and removed findings
	Other     string // address that toggles All
	Open      string // address of its open findings
	OpenAny   string // the same on all branches
	Next      string
	First     string
	Sources   []sourceAge
	Stale     bool
	OSVRecord string
}

// affectedRow contains the versions of a package that an advisory affects.
type affectedRow struct {
	Ecosystem, Package, Affected, Fixed, Record string
	Users                                       string // address of all projects that use the package
	Withdrawn                                   bool
}

// impactRow is a finding of the vulnerability.
type impactRow struct {
	model.Impact
	Status string
	Fix    string
}

// impactPerPage is the number of findings on a page.
const impactPerPage = 100

// showAdvisory shows a vulnerability with its impact. Aliases redirect to the canonical name.
func (k *known) showAdvisory(req *ui.Request) error {
	q := req.HTTP.URL.Query()
	bad := &model.InvalidError{}
	after := int64(ui.Number(q, "after", bad))
	if len(bad.Fields) > 0 {
		return bad
	}
	p := &advisoryPage{All: q.Get("all") != ""}
	err := req.View(func(ctx context.Context, tx *store.Tx) error {
		g, err := tx.AdvisoryGroup(ctx, req.HTTP.PathValue("advisory"))
		if err != nil {
			return err
		}
		if p.Vulnerability, err = advisory.NewVulnerability(g); err != nil {
			return err
		}
		if err := p.scores(ctx, tx); err != nil {
			return err
		}
		return impact(ctx, req, tx, p, after)
	})
	if err != nil {
		return err
	}
	if !strings.EqualFold(p.Shown, req.HTTP.PathValue("advisory")) {
		req.Redirect(req.To("/advisories/" + url.PathEscape(p.Shown)))
		return nil
	}
	presence, err := k.presentAdvisories(req)
	if err != nil {
		return err
	}
	p.Presence, p.Open, p.OpenAny = presence[p.Group], findingsOf(req, p.Shown), findingsOf(req, p.Shown)+"&branch=every"
	p.Level = p.Severity("")
	p.Score, p.Vector = p.CVSS()
	p.OSVRecord = "https://osv.dev/vulnerability/" + url.PathEscape(p.Records[0].ID)
	affected(req, p)
	if p.Sources, p.Stale, err = sourceAges(req); err != nil {
		return err
	}
	return req.Show(http.StatusOK, ui.Page{Template: "advisory", Title: p.Shown, Section: "advisories", Data: p})
}

// scores reads the EPSS score and the KEV entry.
func (p *advisoryPage) scores(ctx context.Context, tx *store.Tx) error {
	scores, err := tx.Scores(ctx, p.CVEs)
	if err != nil {
		return err
	}
	p.EPSS = highest(scores, p.CVEs)
	exploited, err := tx.Exploited(ctx, p.CVEs)
	for _, cve := range p.CVEs {
		if k, ok := exploited[cve]; ok && p.KEV == nil {
			p.KEV = &k
		}
	}
	return err
}

// impact lists the affected projects, one page after the finding with the id after.
func impact(ctx context.Context, req *ui.Request, tx *store.Tx, p *advisoryPage, after int64) error {
	rows, more, err := tx.Impact(ctx, store.ImpactQuery{
		Group:   p.Group,
		Names:   p.Names,
		All:     p.All,
		AfterID: after,
		Limit:   impactPerPage,
	})
	if err != nil {
		return err
	}
	for _, r := range rows {
		row := impactRow{Impact: r, Status: model.StatusOf(r.State, r.Triage).String()}
		if row.Status == "" {
			row.Status = "removed"
		}
		var fixes []string
		for _, f := range r.Fixes {
			fixes = append(fixes, f.Version)
		}
		row.Fix = strings.Join(fixes, ", ")
		p.Impact = append(p.Impact, row)
	}
	address := func(all bool, after int64) string {
		q := url.Values{}
		if all {
			q.Set("all", "1")
		}
		if after > 0 {
			q.Set("after", strconv.FormatInt(after, 10))
		}
		own := req.To("/advisories/" + url.PathEscape(p.Shown))
		if len(q) > 0 {
			own += "?" + q.Encode()
		}
		return own + "#impact"
	}
	p.Other = address(!p.All, 0)
	if after > 0 {
		p.First = address(p.All, 0)
	}
	if more {
		p.Next = address(p.All, rows[len(rows)-1].FindingID)
	}
	return nil
}

// affected lists the affected versions of each advisory.
func affected(req *ui.Request, p *advisoryPage) {
	for i := range p.Records {
		r := &p.Records[i]
		for j := range r.Affected {
			a := &r.Affected[j]
			ecosystem, name, _ := strings.Cut(a.Package, "/")
			p.Affected = append(p.Affected, affectedRow{
				Ecosystem: ecosystem, Package: a.Name, Affected: a.Describe(),
				Fixed: strings.Join(a.Fixes(), ", "), Record: r.ID, Withdrawn: r.Withdrawn,
				Users: req.To("/supply-chain/dependencies?" + url.Values{
					"name":      {name},
					"exact":     {"1"},
					"ecosystem": {ecosystem},
				}.Encode()),
			})
		}
	}
}
