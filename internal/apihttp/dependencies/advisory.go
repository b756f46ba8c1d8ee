package dependencies

import (
	"cmp"
	"context"
	"strings"

	"github.com/danielgtaylor/huma/v2"

	"github.com/redoubt/redoubt/api"
	"github.com/redoubt/redoubt/internal/advisory"
	"github.com/redoubt/redoubt/internal/apihttp/core"
	"github.com/redoubt/redoubt/internal/model"
	"github.com/redoubt/redoubt/internal/store"
)

// defaultImpact is the default number of findings in a response.
const defaultImpact = 100

// vulnerability returns the vulnerability of the path.
func vulnerability(ctx context.Context, c *core.Call) (*advisory.Vulnerability, error) {
	g, err := c.Tx.AdvisoryGroup(ctx, c.R.PathValue("advisoryId"))
	if err != nil {
		return nil, err
	}
	return advisory.NewVulnerability(g)
}

func getAdvisory(ctx context.Context, c *core.Call, _ *core.None) (*api.AdvisoryResponse, error) {
	v, err := vulnerability(ctx, c)
	if err != nil {
		return nil, err
	}
	scores, err := c.Tx.Scores(ctx, v.CVEs)
	if err != nil {
		return nil, err
	}
	exploited, err := c.Tx.Exploited(ctx, v.CVEs)
	if err != nil {
		return nil, err
	}
	out := advisoryOf(v)
	for _, cve := range v.CVEs {
		if s, ok := scores[cve]; ok && (out.EPSSScore == nil || out.EPSSScore.Score < s.Score) {
			out.EPSSScore = &api.EPSSScore{Percentile: s.Percentile, Score: s.Score}
		}
		if k, ok := exploited[cve]; ok && out.Exploited == nil {
			out.Exploited = &api.Exploited{
				AddedAt:    api.Time{Time: k.Added},
				DueAt:      core.TimeOrNull(k.Due),
				Ransomware: k.Ransomware,
				Action:     k.Action,
			}
		}
	}
	return &api.AdvisoryResponse{Advisory: out}, nil
}

func advisoryOf(v *advisory.Vulnerability) api.Advisory {
	out := api.Advisory{
		ID: v.Shown, Aliases: core.OrEmpty(v.OtherNames()), Summary: v.Summary(),
		Details: v.Details(), Severity: v.Severity("").String(),
		Malicious: v.Malicious, Withdrawn: v.Withdrawn(),
		CWENames: core.OrEmpty(v.CWEs()), References: core.OrEmpty(v.References()),
		Packages: []api.AdvisoryPackage{}, Records: []api.AdvisoryRecord{},
	}
	if score, vector := v.CVSS(); vector != "" {
		out.CVSS = &api.CVSS{Score: score, Vector: vector}
	}
	for i := range v.Records {
		r := &v.Records[i]
		out.Records = append(out.Records, api.AdvisoryRecord{
			ID: r.ID, PublishedAt: core.TimeOrNull(r.Published),
			ModifiedAt: core.TimeOrNull(r.Modified), WithdrawnAt: core.TimeOrNull(r.WithdrawnAt),
		})
		for j := range r.Affected {
			a := &r.Affected[j]
			ecosystem, _, _ := strings.Cut(a.Package, "/")
			out.Packages = append(out.Packages, api.AdvisoryPackage{
				Ecosystem: ecosystem, Package: a.Name, Affected: a.Describe(), Fixed: core.OrEmpty(a.Fixes()), Record: r.ID,
			})
		}
	}
	return out
}

// impactInput is the query for a page of a vulnerability's findings.
type impactInput struct {
	api.ImpactQuery
	core.IDPosition
}

// Resolve decodes the cursor.
func (in *impactInput) Resolve(ctx huma.Context) []error {
	return in.Find(ctx, "impact "+strings.ToUpper(ctx.Param("advisoryId")), in.All, in.Cursor)
}

func getAdvisoryImpact(ctx context.Context, c *core.Call, in *impactInput) (*api.ImpactResponse, error) {
	v, err := vulnerability(ctx, c)
	if err != nil {
		return nil, err
	}
	rows, more, err := c.Tx.Impact(ctx, store.ImpactQuery{
		Group: v.Group, Names: v.Names, All: in.All, Projects: c.Caller.Globs(),
		AfterID: in.After, Limit: cmp.Or(int(in.Limit), defaultImpact),
	})
	if err != nil {
		return nil, err
	}
	out := &api.ImpactResponse{Impact: make([]api.Impact, len(rows))}
	for i, r := range rows {
		out.Impact[i] = impactOf(r)
	}
	if more {
		out.Cursor, err = c.Server.Cursors().Encode(in.List, rows[len(rows)-1].FindingID)
	}
	return out, err
}

func impactOf(r model.Impact) api.Impact {
	out := api.Impact{
		FindingID: r.FindingID, Repository: api.Repository{Name: r.Project, URL: r.ProjectURL},
		Ref: r.Ref, Lockfile: r.Lockfile,
		Ecosystem: r.Ecosystem, Package: r.Package, Version: r.Version,
		Transitivity: cmp.Or(r.Transitivity, model.TransitivityUnknown).String(),
		Severity:     r.Severity.String(),
		Status:       cmp.Or(model.StatusOf(r.State, r.Triage).String(), "removed"), Since: api.Time{Time: r.Since},
		FixRecommendations: []api.FixRecommendation{}, Source: r.Source,
	}
	for _, f := range r.Fixes {
		out.FixRecommendations = append(out.FixRecommendations, api.FixRecommendation{Package: f.Package, Version: f.Version})
	}
	return out
}
