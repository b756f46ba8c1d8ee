package findings

import (
	"cmp"
	"context"
	"strings"

	"github.com/danielgtaylor/huma/v2"

	"github.com/redoubt/redoubt/api"
	"github.com/redoubt/redoubt/internal/apihttp/core"
	"github.com/redoubt/redoubt/internal/model"
)

// vulnsInput is the query for a page of supply-chain findings in the older format.
type vulnsInput struct {
	Body   api.ListVulnsRequest
	filter model.FindingFilter
	page   int
}

// vulnStatuses maps the status names of the older format.
var vulnStatuses = map[string]model.Status{
	"NEW": model.StatusOpen, "TRIAGED": model.StatusReviewing, "IN_PROGRESS": model.StatusFixing,
	"FIXED": model.StatusFixed, "IGNORED": model.StatusIgnored,
}

// Resolve converts the body to a filter and a page.
func (in *vulnsInput) Resolve(ctx huma.Context) []error {
	bad := core.Faults(core.Copies(ctx, &in.Body))
	b := &in.Body
	in.filter = model.FindingFilter{
		IssueType: model.SCA, Visible: core.CallOf(ctx.Context()).Caller.Globs(), Search: b.Query,
		Severities: core.Parsed(lowered("", b.Severities), model.ParseSeverity),
	}
	for _, exposure := range b.Exposure {
		word := strings.ToLower(strings.TrimSuffix(exposure, "_EXPOSURE"))
		in.filter.Reachabilities = append(
			in.filter.Reachabilities, core.Parsed(core.Single(word), model.ParseReachability)...,
		)
	}
	for _, status := range b.Statuses {
		in.filter.Statuses = append(in.filter.Statuses, vulnStatuses[status])
	}
	for _, ref := range b.Refs {
		in.filter.Ref, in.filter.Primary = core.RefFilter(ref), ref == model.DefaultRefFilter
	}
	in.page = int(b.Page)
	if b.Cursor == nil || b.PageSize <= 0 {
		return bad
	}
	offset := int64(b.Cursor.VulnOffset)
	if offset < 0 || offset%b.PageSize != 0 {
		bad.Add("body.cursor.vulnOffset", offset, "is not from a previous response with this pageSize")
	}
	in.page = int(offset / b.PageSize)
	return bad
}

// listVulns returns a page of supply-chain findings.
func listVulns(ctx context.Context, c *core.Call, in *vulnsInput) (*api.ListVulnsResponse, error) {
	view, err := c.Findings(ctx)
	if err != nil {
		return nil, err
	}
	size := int(in.Body.PageSize)
	found, err := findingsOf(ctx, view, in.filter, in.page, size)
	if err != nil {
		return nil, err
	}
	out := &api.ListVulnsResponse{Vulns: []api.Vuln{}}
	for _, f := range found {
		out.Vulns = append(out.Vulns, vulnOf(c, f))
	}
	hint(c.W.Header(), len(out.Vulns), "vulns")
	if next := (in.page + 1) * size; len(found) == size && view.Count(in.filter) > next {
		out.HasMore, out.Cursor = true, &api.VulnCursor{VulnOffset: api.Int(next)}
	}
	return out, nil
}

// vulnOf converts a finding to the older format.
func vulnOf(c *core.Call, f api.Finding) api.Vuln {
	exposure := strings.ToUpper(f.Reachability)
	if exposure == "UNKNOWN" {
		exposure = "UNKNOWN_EXPOSURE"
	}
	id, page := core.Decimal(f.ID), c.Org()+"/findings/"+core.Decimal(f.ID)
	d := f.FoundDependency
	out := api.Vuln{
		GroupKey: id, Title: f.Rule.Message, RepositoryName: f.Repository.Name, Ref: f.Ref, ExposureType: exposure,
		MatchedDependency:      api.VulnPackage{Name: d.Package, VersionSpecifier: d.Version},
		Transitivity:           core.HostedTransitivity(d.Transitivity),
		DependencyFileLocation: vulnPlace(f.Location, cmp.Or(f.LineOfCodeURL, page)),
		OpenedAt:               f.RelevantSince, Usages: []api.VulnUsage{},
		Advisory: api.VulnAdvisory{
			RuleID: f.RuleName, Title: f.Rule.Message, Description: f.Rule.Message,
			Ecosystem: d.Ecosystem, Severity: strings.ToUpper(f.Severity), Reachability: exposure,
			References: api.VulnReferences{CVEIDs: []string{}, CWEIDs: core.OrEmpty(f.Rule.CWENames), URLs: []string{}},
		},
	}
	if f.RuleMessage != nil {
		out.Advisory.Description = *f.RuleMessage
	}
	if f.ReachableCondition != nil {
		out.Advisory.ReachableIf = *f.ReachableCondition
	}
	if f.VulnerabilityIdentifier != nil {
		out.Advisory.References.CVEIDs = []string{*f.VulnerabilityIdentifier}
	}
	if len(f.FixRecommendations) > 0 {
		fix := f.FixRecommendations[0]
		out.ClosestSafeDependency = &api.VulnPackage{Name: fix.Package, VersionSpecifier: fix.Version}
	}
	for word, status := range vulnStatuses {
		if status.String() == f.Status {
			out.Triage.Status = word
		}
	}
	if f.TriageReason != nil {
		out.Triage.DismissReason = *f.TriageReason
	}
	if f.Usage != nil {
		out.Usages = append(out.Usages, api.VulnUsage{FindingID: id, Location: vulnPlace(f.Usage.Location, page)})
	}
	return out
}

func vulnPlace(l api.Location, address string) api.VulnPlace {
	return api.VulnPlace{
		Path:      l.FilePath,
		StartLine: l.Line,
		StartCol:  l.Column,
		EndLine:   l.EndLine,
		EndCol:    l.EndColumn,
		URL:       address,
	}
}
