package index

import (
	"cmp"
	"encoding/json"
	"slices"
	"strings"
	"time"

	"pgregory.net/rapid"

	"github.com/redoubt/redoubt/internal/model"
)

// list returns the findings that match the filter, newest first. It applies the rules of
// docs/reference/finding-queries.md directly to all findings.
func (w *world) list(f model.FindingFilter) []model.IndexedFinding {
	var out []model.IndexedFinding
	for _, finding := range w.findings {
		if w.inScope(f, finding) && w.accepts(f, finding) && (!f.Dedup || w.isRepresentative(f, finding)) {
			out = append(out, finding)
		}
	}
	slices.SortFunc(out, newestFirst)
	return out
}

func newestFirst(a, b model.IndexedFinding) int {
	return cmp.Or(b.RelevantSince.Compare(a.RelevantSince), cmp.Compare(b.ID, a.ID))
}

// inScope reports whether dedup considers a finding.
func (w *world) inScope(f model.FindingFilter, finding model.IndexedFinding) bool {
	return finding.IssueType == f.IssueType && finding.State != model.StateRemoved && (f.Ref == "" || f.Ref == finding.Ref)
}

// isRepresentative reports whether dedup retains the finding.
func (w *world) isRepresentative(f model.FindingFilter, finding model.IndexedFinding) bool {
	best := finding
	primary := w.projects[finding.ProjectID].Primary()
	for _, other := range w.findings {
		if other.LineageID != finding.LineageID || !w.inScope(f, other) {
			continue
		}
		here, otherIsPrimary := best.Ref == primary, other.Ref == primary
		if otherIsPrimary && !here || otherIsPrimary == here && newestFirst(other, best) < 0 {
			best = other
		}
	}
	return best.ID == finding.ID
}

func (w *world) accepts(f model.FindingFilter, finding model.IndexedFinding) bool {
	l := w.lineages[finding.LineageID]
	return w.acceptsProject(f, w.projects[finding.ProjectID]) && w.acceptsRule(f, finding) &&
		acceptsLineage(f, finding, l) && acceptsRow(f, finding, l.Annotations) && w.acceptsDue(f, finding) && w.acceptsPage(f, finding)
}

// acceptsPage applies the filters of pages that are extensions of the contract.
func (w *world) acceptsPage(f model.FindingFilter, finding model.IndexedFinding) bool {
	p, lower := w.projects[finding.ProjectID], strings.ToLower
	named := false
	vulnerability := vulnerabilityOf(finding)
	for _, name := range []string{
		p.Name, w.rules[finding.RuleID].Name, finding.Package, finding.Path, vulnerability, w.message(finding),
	} {
		named = named || strings.Contains(lower(name), lower(f.Search)) && (f.Search != "" || len(f.Named) == 0)
	}
	named = named || vulnerability != "" && slices.Contains(f.Named, vulnerability)
	if f.Primary && finding.Ref != p.Primary() || !named {
		return false
	}
	if f.Except == nil {
		return true
	}
	if len(f.Except.Projects) > 0 && w.acceptsProject(model.FindingFilter{Projects: f.Except.Projects}, p) { // former names too
		return false
	}
	for _, kind := range facetModels {
		for _, value := range kind.excluded(*f.Except) {
			if slices.Contains(kind.values(w, finding), value) {
				return false
			}
		}
	}
	return true
}

func unrated(finding model.IndexedFinding) bool { return bodyOf(finding)["severity_unrated"] == true }

// vulnerabilityOf returns the vulnerability in the decoded body.
func vulnerabilityOf(finding model.IndexedFinding) string {
	name, _ := bodyOf(finding)["vulnerability_identifier"].(string)
	return name
}

func (w *world) message(finding model.IndexedFinding) string {
	if m := w.rules[finding.RuleID].Message; m != "" {
		return m
	}
	own, _ := bodyOf(finding)["rule_message"].(string)
	return own
}

func bodyOf(finding model.IndexedFinding) (members map[string]any) {
	if err := json.Unmarshal([]byte("{"+string(finding.Body)+"}"), &members); err != nil {
		panic(err)
	}
	return members
}

func in[T comparable](accepted []T, value T) bool {
	return len(accepted) == 0 || slices.Contains(accepted, value)
}

func anyIn[T comparable](accepted, values []T) bool {
	return len(accepted) == 0 || slices.ContainsFunc(values, func(v T) bool { return slices.Contains(accepted, v) })
}

func is(want *bool, got bool) bool { return want == nil || *want == got }

// called reports whether a name selects a project: its own name, or a former name that no other
// project uses.
func (w *world) called(p model.Project, name string) bool {
	if strings.EqualFold(p.Name, name) {
		return true
	}
	for _, other := range w.projects {
		if strings.EqualFold(other.Name, name) {
			return false
		}
	}
	return slices.ContainsFunc(p.OldNames, func(old string) bool { return strings.EqualFold(old, name) })
}

func (w *world) acceptsProject(f model.FindingFilter, p model.Project) bool {
	fold := strings.ToLower
	return f.Visible.Allows(p.Name) && (len(f.Projects) == 0 || slices.ContainsFunc(f.Projects, func(name string) bool { return w.called(p, name) })) && in(f.ProjectIDs, p.ID) &&
		anyIn(each1(f.ProjectTags, fold), each1(p.Tags, fold)) && in(f.Visibilities, p.Visibility)
}

func each1(in []string, convert func(string) string) []string {
	var out []string
	for _, s := range in {
		out = append(out, convert(s))
	}
	return out
}

func (w *world) acceptsRule(f model.FindingFilter, finding model.IndexedFinding) bool {
	r := w.rules[finding.RuleID]
	_, mode := w.strictest(finding)
	return in(f.Rules, r.Name) && anyIn(f.Rulesets, r.Rulesets) && anyIn(f.Categories, r.Categories()) && in(f.Modes, mode)
}

func acceptsLineage(f model.FindingFilter, finding model.IndexedFinding, l model.Lineage) bool {
	var tag string
	var verdict model.Verdict
	if a := l.Annotations.Assistant; a != nil && a.Component != nil {
		tag = a.Component.Tag
	}
	if a := l.Annotations.Assistant; a != nil && a.Autotriage != nil {
		verdict, _ = model.ParseVerdict(a.Autotriage.Verdict)
	}
	var prs []string
	for _, pr := range l.Annotations.ClickToFixPRs {
		prs = append(prs, pr.State)
	}
	return in(f.Statuses, model.StatusOf(finding.State, l.Triage.State)) && in(f.TriageReasons, l.Triage.Reason) &&
		in(f.Verdicts, verdict) && in(f.ComponentTags, tag) && anyIn(f.PRStates, prs) && in(f.EPSS, model.BandOf(l.Annotations.EPSS)) &&
		is(f.Exploited, l.Annotations.Exploited) &&
		in(f.Assignees, assigneeOf(l)) && (f.EndsBy.IsZero() || !l.Triage.Until.IsZero() && !l.Triage.Until.After(f.EndsBy))
}

func assigneeOf(l model.Lineage) string { return cmp.Or(l.Triage.Assignee, model.AssigneeNone) }

func acceptsRow(f model.FindingFilter, finding model.IndexedFinding, a model.Annotations) bool {
	if f.HasIDs && !slices.Contains(f.IDs, finding.ID) {
		return false
	}
	return !finding.RelevantSince.Before(f.Since) &&
		in(f.Severities, finding.Severity) && in(f.Confidences, finding.Confidence) &&
		in(f.Reachabilities, reachability(finding, a)) && in(f.Transitivities, transitivity(finding)) &&
		is(f.Malicious, finding.Malicious) && is(f.Unrated, unrated(finding)) && in(f.Packages, finding.Package) && is(f.ProOnly, finding.ProOnly) &&
		(!f.ExcludeHistoric || !finding.Historical) && in(f.SecretTypes, finding.SecretType) && in(f.ValidationStates, finding.ValidationState)
}

func transitivity(finding model.IndexedFinding) model.Transitivity {
	if finding.Transitivity == 0 && finding.IssueType == model.SCA {
		return model.TransitivityUnknown
	}
	return finding.Transitivity
}

func reachability(finding model.IndexedFinding, a model.Annotations) model.Reachability {
	reported := finding.Reachability != 0 && finding.Reachability != model.ReachabilityUnknown
	switch {
	case reported, finding.IssueType != model.SCA:
		return finding.Reachability
	case a.Reachability != 0:
		return a.Reachability
	}
	return model.ReachabilityUnknown
}

// shown returns the finding's JSON according to the contract and docs/reference/requests.md,
// encoded from a map and decoded again.
func (w *world) shown(t rapid.TB, finding model.IndexedFinding) any {
	t.Helper()
	l := w.lineages[finding.LineageID]
	p := w.projects[finding.ProjectID]
	m := map[string]any{}
	unmarshal(t, append(append([]byte("{"), finding.Body...), '}'), &m)
	m["id"], m["first_seen_scan_id"], m["ref"] = finding.ID, finding.FirstScanID, finding.Ref
	m["created_at"], m["relevant_since"] = timeOrNull(finding.CreatedAt), timeOrNull(finding.RelevantSince)
	m["state_updated_at"], m["triaged_at"] = timeOrNull(finding.StateUpdatedAt), timeOrNull(l.Triage.At)
	m["confidence"], m["severity"] = finding.Confidence.String(), finding.Severity.String()
	m["repository"] = map[string]any{"name": p.Name, "url": p.URL}
	m["state"], m["triage_state"] = finding.State.String(), l.Triage.State.String()
	m["status"] = model.StatusOf(finding.State, l.Triage.State).String()
	m["triage_reason"], m["triage_comment"] = orNull(l.Triage.Reason.String()), orNull(l.Triage.Comment)
	if l.Triage.Assignee != "" {
		m["assignee"] = l.Triage.Assignee
	}
	if day, dated := w.naiveDue(finding); dated {
		m["due_at"], m["overdue"] = day.AddDate(0, 0, 1).Add(-time.Microsecond).Format(timeLayout), day.Before(dueNow.Truncate(24*time.Hour))
	}
	if !l.Triage.Until.IsZero() {
		m["triage_until"] = l.Triage.Until.Add(-time.Second).UTC().Format(time.DateOnly)
	}
	m["external_ticket"], m["review_comments"] = l.Annotations.ExternalTicket, orEmpty(l.Annotations.ReviewComments)
	if use, known := m["usage"].(map[string]any); known {
		use["external_ticket"] = l.Annotations.ExternalTicket
	}
	w.showRule(m, w.rules[finding.RuleID], m["rule_message"])
	w.showByType(m, finding, l.Annotations)
	out := map[string]any{}
	text, err := json.Marshal(m)
	if err != nil {
		t.Fatal(err)
	}
	unmarshal(t, text, &out)
	return out
}

func (w *world) showRule(m map[string]any, r model.Rule, expanded any) {
	m["categories"], m["rule_name"] = r.Categories(), r.Name
	message := any(r.Message)
	if r.Message == "" {
		message = cmp.Or(expanded, any(""))
	}
	m["rule"] = map[string]any{
		"category": r.Category, "confidence": r.Confidence.String(), "message": message, "name": r.Name, "cweNames": orEmpty(r.CWE),
		"owaspNames": orEmpty(r.OWASP), "subcategories": orEmpty(r.Subcategories), "vulnerabilityClasses": orEmpty(r.VulnerabilityClasses),
	}
}

func (w *world) showByType(m map[string]any, finding model.IndexedFinding, a model.Annotations) {
	switch finding.IssueType {
	case model.SAST:
		if p, _ := w.strictest(finding); p.ID != 0 {
			m["sourcing_policy"] = map[string]any{"id": p.ID, "name": p.Name, "slug": p.Slug}
		}
		prs := []any{}
		for _, pr := range a.ClickToFixPRs {
			prs = append(prs, map[string]any{"created_at": timeOrNull(pr.CreatedAt), "url": pr.URL, "state": pr.State})
		}
		failures := []any{}
		for _, f := range a.ClickToFixFailures {
			failures = append(failures, map[string]any{"created_at": timeOrNull(f.CreatedAt), "reason": f.Reason})
		}
		m["click_to_fix_prs"], m["click_to_fix_failures"] = prs, failures
		if a.Assistant != nil && *a.Assistant != (model.Assistant{}) {
			m["assistant"] = a.Assistant
		}
	case model.SCA:
		m["epss_score"], m["reachability"] = a.EPSS, reachability(finding, a).String()
	case model.Secrets:
		m["secret_type"], m["validation_state"], m["historical"] = finding.SecretType, finding.ValidationState.String(), finding.Historical
	}
}

// strictest returns the policy and mode that apply to a finding through its rule or a condition.
// Precedence is by mode, then by policies that block all, then by age.
func (w *world) strictest(finding model.IndexedFinding) (model.Policy, model.PolicyMode) {
	r, p := w.rules[finding.RuleID], w.projects[finding.ProjectID]
	type policyMode struct {
		policy model.Policy
		mode   model.PolicyMode
	}
	var all []policyMode
	for _, pr := range w.policyRules {
		if policy, exists := w.policies[pr.PolicyID]; exists && pr.Rule.Name == r.Name && !pr.Removed && policy.Scope.Covers(p) {
			all = append(all, policyMode{policy, pr.Mode})
		}
	}
	for _, policy := range w.policies {
		if len(all) == 0 && policy.Default && policy.Product == r.IssueType {
			all = append(all, policyMode{policy, model.ModeMonitor})
			break
		}
	}
	for _, policy := range w.policies {
		for _, c := range policy.Conditions {
			if policy.Product == finding.IssueType && policy.Scope.Covers(p) && c.Scope.Covers(p) && w.meets(c, finding) {
				all = append(all, policyMode{policy, c.Mode})
			}
		}
	}
	if len(all) == 0 {
		return model.Policy{}, 0
	}
	blocksAll := func(s policyMode) int {
		if s.mode == model.ModeBlock && s.policy.BlockAll {
			return 1
		}
		return 0
	}
	slices.SortFunc(all, func(a, b policyMode) int {
		return cmp.Or(cmp.Compare(b.mode, a.mode), cmp.Compare(blocksAll(b), blocksAll(a)), cmp.Compare(a.policy.ID, b.policy.ID))
	})
	return all[0].policy, all[0].mode
}

func timeOrNull(t time.Time) any {
	if t.IsZero() {
		return nil
	}
	return t.UTC().Format("2006-01-02T15:04:05.000000Z")
}

func orNull(s string) any {
	if s == "" {
		return nil
	}
	return s
}

func unmarshal(t rapid.TB, text []byte, into any) {
	t.Helper()
	if err := json.Unmarshal(text, into); err != nil {
		t.Fatalf("%v in %s", err, text)
	}
}

// meets reports whether a finding meets all criteria of a condition.
func (w *world) meets(c model.PolicyCondition, finding model.IndexedFinding) bool {
	a := w.lineages[finding.LineageID].Annotations
	reach := reachability(finding, a)
	fixes, _ := bodyOf(finding)["fix_recommendations"].([]any)
	return finding.Severity >= c.Severity && finding.Confidence >= c.Confidence &&
		(!c.Reachable || reach == model.Reachable || reach == model.AlwaysReachable) &&
		(c.EPSS == 0 || a.EPSS != nil && a.EPSS.Score >= c.EPSS) && (!c.Exploited || a.Exploited) && (!c.Malicious || finding.Malicious) &&
		(!c.Fixable || len(fixes) > 0) && (!c.Direct || finding.Transitivity == model.Direct) &&
		(c.GraceDays == 0 || clockOfDue().Sub(finding.RelevantSince) >= time.Duration(c.GraceDays)*24*time.Hour) && model.CoversRef(c.Branches, finding.Ref)
}
