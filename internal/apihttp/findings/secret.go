package findings

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"github.com/redoubt/redoubt/api"
	"github.com/redoubt/redoubt/internal/apihttp/core"
	"github.com/redoubt/redoubt/internal/model"
	"github.com/redoubt/redoubt/internal/policy"
	"github.com/redoubt/redoubt/internal/store"
)

// defaultSecrets is the default number of secrets in a response.
const defaultSecrets = 100

// secretsInput is the query for a page of secrets.
type secretsInput struct {
	api.SecretsQuery
	filter model.SecretFilter
	list   core.List
	after  int64
}

// Resolve converts the parameters to a filter and decodes the cursor.
func (in *secretsInput) Resolve(ctx huma.Context) []error {
	c, q := core.CallOf(ctx.Context()), &in.SecretsQuery
	in.filter = model.SecretFilter{
		Visible: c.Caller.Globs(), Since: core.InstantParam(q.Since),
		Severities:       core.Parsed(lower(q.Severity, "SEVERITY_"), model.ParseSeverity),
		ValidationStates: core.Parsed(lower(q.ValidationState, "VALIDATION_STATE_"), model.ParseValidationState),
	}
	for _, s := range core.Parsed(lower(q.Status, "FINDING_STATUS_"), model.ParseStatus) {
		in.filter.Statuses = append(in.filter.Statuses, s)
		if s == model.StatusOpen { // these are returned as open
			in.filter.Statuses = append(in.filter.Statuses, model.StatusReviewing, model.StatusFixing)
		}
	}
	in.list = c.List("secrets", []any{in.filter, q.Repo})
	position, err := c.Server.Cursors().Decode(in.list, q.Cursor, 1)
	if err != nil {
		return []error{&huma.ErrorDetail{Location: "query.cursor", Message: err.Error(), Value: q.Cursor}}
	}
	if position != nil {
		in.after = position[0]
	}
	return nil
}

// lower converts SEVERITY_HIGH to high.
func lower(values []string, prefix string) []string {
	return model.Map(values, func(v string) string { return strings.ToLower(strings.TrimPrefix(v, prefix)) })
}

// called returns the ids of the projects with these names, in any case. An unused name matches the
// project that previously had it, in its exact spelling (docs/reference/projects.md).
func called(ctx context.Context, c *core.Call, projects []model.Project, names []string) (ids []int64, err error) {
	for _, name := range names {
		found := false
		for _, p := range projects {
			if strings.EqualFold(name, p.Name) {
				ids, found = append(ids, p.ID), true
			}
		}
		if found {
			continue
		}
		switch p, err := c.VisibleProject(c.Tx.ProjectByName(ctx, name)); {
		case err == nil:
			ids = append(ids, p.ID)
		case !errors.Is(err, model.ErrNotFound):
			return nil, err
		}
	}
	return ids, nil
}

func listSecrets(ctx context.Context, c *core.Call, in *secretsInput) (*api.ListSecretsResponse, error) {
	out := &api.ListSecretsResponse{Findings: []api.Secret{}}
	defer func() { hint(c.W.Header(), len(out.Findings), "findings") }()
	if c.HostedQuery.Nothing {
		return out, nil
	}
	projects, err := c.Tx.Projects(ctx, store.ProjectQuery{Globs: c.Caller.Globs()})
	if err != nil {
		return nil, err
	}
	byID := map[int64]model.Project{}
	for _, p := range projects {
		byID[p.ID] = p
	}
	if in.filter.ProjectIDs, err = called(ctx, c, projects, in.Repo); err != nil {
		return nil, err
	}
	if len(in.Repo) > 0 && len(in.filter.ProjectIDs) == 0 {
		return out, nil
	}
	limit := int(in.Limit)
	if limit == 0 {
		limit = defaultSecrets
	}
	rows, more, err := c.Tx.SecretsPage(ctx, in.filter, in.after, limit)
	if err != nil {
		return nil, err
	}
	modes, err := readSecretModes(ctx, c)
	if err != nil {
		return nil, err
	}
	for _, o := range rows {
		out.Findings = append(out.Findings, secretOf(o, byID[o.ProjectID], modes.of(byID[o.ProjectID], &o)))
	}
	if more {
		out.Cursor, err = c.Server.Cursors().Encode(in.list, rows[len(rows)-1].ID)
	}
	return out, err
}

// secretModes contains the modes of policies for rules that detect secrets.
type secretModes struct {
	now      time.Time
	policies map[int64]model.Policy
	stances  map[string][]model.RuleMode // by rule
}

// of returns the mode of a secret of a project. It is the strictest mode of its rule and of its
// matching conditions (docs/reference/policies.md).
func (m secretModes) of(p model.Project, o *store.Occurrence) model.PolicyMode {
	mode := model.ModeMonitor
	for _, s := range m.stances[o.RuleName] {
		if m.policies[s.PolicyID].Scope.Covers(p) {
			mode = max(mode, s.Mode)
		}
	}
	facts := model.SupplyFacts{Age: m.now.Sub(o.RelevantSince)}
	for _, of := range m.policies {
		for i := range of.Conditions {
			c := &of.Conditions[i]
			if c.Mode > mode && of.Scope.Covers(p) && c.Scope.Covers(p) && model.CoversRef(c.Branches, o.Ref) &&
				policy.Matches(c, &o.Finding, &facts) {
				mode = c.Mode
			}
		}
	}
	return mode
}

func readSecretModes(ctx context.Context, c *core.Call) (m secretModes, err error) {
	policies, err := c.Tx.Policies(ctx)
	if err != nil {
		return m, err
	}
	m = secretModes{c.Tx.Now(), map[int64]model.Policy{}, map[string][]model.RuleMode{}}
	for _, p := range policies {
		if p.Product != model.Secrets {
			continue
		}
		m.policies[p.ID] = p
		for after, more := int64(0), true; more; {
			var rules []model.PolicyRule
			if rules, more, err = c.Tx.PolicyRules(ctx, p.ID, after, 2000); err != nil {
				return m, err
			}
			for _, r := range rules {
				m.stances[r.Rule.Name], after = append(m.stances[r.Rule.Name], model.StanceOf(p, r.Mode)), r.ID
			}
		}
	}
	return m, nil
}

func secretOf(o store.Occurrence, p model.Project, mode model.PolicyMode) api.Secret {
	var body struct {
		LineOfCodeURL string `json:"line_of_code_url"`
	}
	_ = json.Unmarshal(append(append([]byte("{"), o.Body...), '}'), &body) // on failure there is no link
	status := model.StatusOf(o.State, o.Lineage.Triage.State)
	if status == model.StatusReviewing || status == model.StatusFixing {
		status = model.StatusOpen
	}
	out := api.Secret{
		ID: core.Decimal(o.ID), Type: o.SecretType, FindingPath: o.Path, FindingPathURL: body.LineOfCodeURL,
		Repository: api.SecretRepository{
			Name:       p.Name,
			URL:        p.URL,
			Visibility: core.Upper("REPOSITORY_VISIBILITY_", p.Visibility, model.VisibilityUnknown),
			SCMType:    scmType(p.URL),
		},
		Ref: o.Ref, RefURL: refURL(p.URL, o.Ref), RuleHashID: o.RuleName,
		Severity:        core.Upper("SEVERITY_", o.Severity, model.SeverityMedium),
		Confidence:      core.Upper("CONFIDENCE_", o.Confidence, model.ConfidenceMedium),
		ValidationState: core.Upper("VALIDATION_STATE_", o.ValidationState, model.NoValidator),
		Status:          core.Upper("FINDING_STATUS_", status, model.StatusOpen),
		Mode:            core.Upper("MODE_", mode, model.ModeMonitor),
		CreatedAt:       api.Time{Time: o.CreatedAt},
		UpdatedAt:       api.Time{Time: latest(o.CreatedAt, o.StateUpdatedAt, o.Lineage.Triage.At)},
		ExternalTicket:  wireTicket(o.Lineage.Annotations.ExternalTicket), ReviewComments: []api.ReviewComment{},
	}
	if o.Line > 0 {
		out.FindingPath = fmt.Sprintf("%s:%d", o.Path, o.Line)
	}
	for _, r := range o.Lineage.Annotations.ReviewComments {
		out.ReviewComments = append(out.ReviewComments, api.ReviewComment(r))
	}
	if o.Historical {
		out.HistoricalInfo = &api.HistoricalInfo{GitCommit: historicCommit(o.Evidence)}
	}
	return out
}

// historicCommit returns the commit in which a secret was found.
func historicCommit(evidence []byte) string {
	var e struct {
		Commit string `json:"commit"`
	}
	if json.Unmarshal(evidence, &e) != nil {
		return ""
	}
	return e.Commit
}

func latest(times ...time.Time) time.Time { return slices.MaxFunc(times, time.Time.Compare) }

func wireTicket(t *model.ExternalTicket) *api.ExternalTicket {
	if t == nil {
		return nil
	}
	out := &api.ExternalTicket{ExternalSlug: t.ExternalSlug, ID: t.ID, LinkedIssueIDs: t.LinkedIssueIDs, URL: t.URL}
	if out.LinkedIssueIDs == nil {
		out.LinkedIssueIDs = []int64{}
	}
	return out
}

// hosts maps parts of host names to the kind of code host.
var hosts = []struct{ part, scm string }{
	{"github", "SCM_TYPE_GITHUB"},
	{"gitlab", "SCM_TYPE_GITLAB"},
	{"bitbucket", "SCM_TYPE_BITBUCKET"},
	{"dev.azure.com", "SCM_TYPE_AZURE_DEVOPS"},
	{"visualstudio.com", "SCM_TYPE_AZURE_DEVOPS"},
}

func scmType(repository string) string {
	u, err := url.Parse(repository)
	if err == nil {
		for _, h := range hosts {
			if strings.Contains(u.Hostname(), h.part) {
				return h.scm
			}
		}
	}
	return "SCM_TYPE_UNKNOWN"
}

// refURL returns a link to a branch, in the format of GitHub for unknown hosts.
func refURL(repository, ref string) string {
	branch, ok := strings.CutPrefix(ref, "refs/heads/")
	switch {
	case !ok || repository == "":
		return ""
	case scmType(repository) == "SCM_TYPE_GITLAB":
		return repository + "/-/tree/" + branch
	case scmType(repository) == "SCM_TYPE_BITBUCKET":
		return repository + "/src/" + branch
	}
	return repository + "/tree/" + branch
}
