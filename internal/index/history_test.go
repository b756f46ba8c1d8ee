package index

import (
	"fmt"
	"maps"
	"slices"
	"time"

	"pgregory.net/rapid"

	"github.com/redoubt/redoubt/internal/model"
)

// Values that random histories and filters use. They are few, so that they coincide often.
var (
	someNames    = []string{"acme/api", "Acme/Web", "acme/web/admin", "Über/Groß", "other/api"}
	someTags     = []string{"prod", "PROD", "team-ä"}
	someRefs     = []string{"refs/heads/main", "refs/heads/dev", "refs/pull/1/merge"}
	someRules    = []string{"go.sql.injection", "py.eval", `odd "name"\ <&>`}
	someCategory = []string{"", "security", "best-practice"}
	someRulesets = []string{"p/default", "p/ci"}
	somePackages = []string{"", "lodash", "left-pad"}
	someSecrets  = []string{"", "AWS", "GitHub"}
	someTexts    = []string{"", "plain", "a \"quote\", a \\ and <html> & \u2028", "ünïcödé \U0001f512\n"}
	someComps    = []string{"auth", "payments"}
)

func one[T any](t *rapid.T, label string, values ...T) T {
	return rapid.SampledFrom(values).Draw(t, label)
}

func chance(t *rapid.T, label string, percent int) bool {
	return rapid.IntRange(1, 100).Draw(t, label) <= percent
}

func key[T any](t *rapid.T, label string, of map[int64]T) (int64, bool) {
	if len(of) == 0 {
		return 0, false
	}
	return one(t, label, slices.Sorted(maps.Keys(of))...), true
}

// step applies random changes to the world as one commit.
func (w *world) step(t *rapid.T) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for range rapid.IntRange(1, 8).Draw(t, "changes") {
		switch rapid.IntRange(0, 19).Draw(t, "kind") {
		case 0:
			w.putProject(w.someProject(t))
		case 1:
			w.stepRule(t)
		case 2, 3, 4:
			w.stepLineage(t)
		case 5:
			if id, ok := key(t, "drop", w.findings); ok {
				w.deleteFinding(id)
			}
		case 6:
			if id, ok := key(t, "drop project", w.projects); ok && chance(t, "really", 20) {
				w.deleteProject(id)
			}
		case 7:
			w.mergeProject(t)
		case 8, 9, 10:
			w.stepFinding(t)
		default:
			w.newFinding(t)
		}
	}
	w.commit()
	if chance(t, "prune", 5) {
		w.pruned = w.version
	}
}

func (w *world) someProject(t *rapid.T) model.Project {
	n := rapid.IntRange(0, len(someNames)-1).Draw(t, "project")
	return model.Project{
		ID: int64(n + 1 + 10*w.deleted), Name: someNames[n], URL: one(t, "url", someTexts...), Tags: rapid.SliceOfN(rapid.SampledFrom(someTags), 0, 2).Draw(t, "tags"),
		DefaultBranch: one(t, "default branch", "", "refs/heads/dev"), PrimaryBranch: one(t, "primary", "", someRefs[1], someRefs[2]),
		Visibility: model.Visibility(rapid.IntRange(0, 2).Draw(t, "visibility")), OldNames: rapid.SliceOfN(rapid.SampledFrom(someNames), 0, 2).Draw(t, "old names"),
	}
}

// stepRule stores a version of a rule, a policy, or the mode of a rule.
func (w *world) stepRule(t *rapid.T) {
	name := one(t, "rule", someRules...)
	switch rapid.IntRange(0, 2).Draw(t, "what") {
	case 0:
		id := int64(rapid.IntRange(1, 3).Draw(t, "policy"))
		if _, exists := w.policies[id]; exists && chance(t, "delete policy", 20) {
			w.deletePolicy(id)
			return
		}
		product := model.SAST
		if id == 3 {
			product = one(t, "product", model.SAST, model.SCA, model.Secrets)
		}
		w.putPolicy(model.Policy{
			ID: id, Name: one(t, "name", someTexts...), Slug: fmt.Sprint("policy-", id), Product: product, Default: id == 1, Due: someDays(t, product),
			BlockAll: chance(t, "block all", 50), Scope: w.someScope(t, id), Conditions: w.someConditions(t, id, product),
		})
	case 1:
		policy := int64(rapid.IntRange(1, 3).Draw(t, "policy"))
		if _, exists := w.policies[policy]; !exists {
			return
		}
		w.putPolicyRule(model.PolicyRule{
			ID: policy*100 + int64(slices.Index(someRules, name)), PolicyID: policy, Rule: model.Rule{Name: name},
			Mode: model.PolicyMode(rapid.IntRange(1, 3).Draw(t, "mode")), Removed: chance(t, "remove", 15),
		})
	default:
		w.putRule(model.Rule{
			ID: int64(len(w.rules) + 1), Name: name, IssueType: model.SAST, Message: one(t, "message", someTexts...), Category: one(t, "category", someCategory...),
			Rulesets: rapid.SliceOfN(rapid.SampledFrom(someRulesets), 0, 2).Draw(t, "rulesets"), CWE: []string{"CWE-89: SQL"}, Confidence: 2,
		})
	}
}

// someConditions draws up to two conditions for a policy of the product.
func (w *world) someConditions(t *rapid.T, id int64, product model.IssueType) (list []model.PolicyCondition) {
	for n := range rapid.IntRange(0, 2).Draw(t, "conditions") {
		c := model.PolicyCondition{
			ID: int64(n + 1), Mode: model.PolicyMode(rapid.IntRange(1, 3).Draw(t, "mode")), Severity: model.Severity(rapid.IntRange(0, 4).Draw(t, "severity")),
			Confidence: model.Confidence(rapid.IntRange(0, 3).Draw(t, "confidence")), GraceDays: one(t, "grace", 0, 0, 30, 300), Scope: w.someScope(t, id),
		}
		if chance(t, "branches", 30) {
			c.Branches = model.ProjectGlobs{one(t, "branch", someRefs...)}
		}
		if product == model.SCA {
			c.Reachable, c.Exploited, c.Malicious = chance(t, "reachable", 20), chance(t, "exploited", 20), chance(t, "malicious", 20)
			c.Fixable, c.Direct, c.EPSS = chance(t, "fixable", 20), chance(t, "direct", 20), one(t, "epss", 0, 0, 0.5)
		}
		list = append(list, c)
	}
	return list
}

// someScope draws a scope that excludes some projects. The default policy has none.
func (w *world) someScope(t *rapid.T, id int64) (s model.PolicyScope) {
	if id == 1 {
		return s
	}
	if chance(t, "globs", 50) {
		s.Projects = model.ProjectGlobs{one(t, "glob", someNames...)}
	}
	if chance(t, "tags", 50) {
		s.Tags = []string{one(t, "tag", someTags...)}
	}
	return s
}

func (w *world) stepLineage(t *rapid.T) {
	if id, ok := key(t, "lineage", w.lineages); ok {
		l := w.lineages[id]
		before := l.Triage
		l.Triage = model.Triage{State: model.TriageState(rapid.IntRange(1, 5).Draw(t, "triage")), At: w.now(), Comment: one(t, "comment", someTexts...)}
		w.someStops(&l, before)
		if l.Triage.State == model.TriageIgnored {
			l.Triage.Reason = model.TriageReason(rapid.IntRange(1, 4).Draw(t, "reason"))
		}
		if chance(t, "assign", 50) {
			l.Triage.Assignee = one(t, "assignee", someUsers...)
		}
		if chance(t, "until", 50) {
			l.Triage.Until = someDay.AddDate(0, 0, rapid.IntRange(1, 40).Draw(t, "days"))
		}
		if chance(t, "annotate", 50) {
			l.Annotations = w.someAnnotations(t)
		}
		w.putLineage(l)
	}
}

func (w *world) someAnnotations(t *rapid.T) (a model.Annotations) {
	if chance(t, "assistant", 60) {
		a.Assistant = &model.Assistant{}
	}
	if a.Assistant != nil && chance(t, "component", 60) {
		a.Assistant.Component = &struct {
			Risk string `json:"risk"`
			Tag  string `json:"tag"`
		}{"high", one(t, "tag", someComps...)}
	}
	if a.Assistant != nil && chance(t, "verdict", 60) {
		a.Assistant.Autotriage = &struct {
			Reason  string `json:"reason"`
			Verdict string `json:"verdict" enum:"true_positive,false_positive"`
		}{one(t, "why", someTexts...), one(t, "verdict", "true_positive", "false_positive")}
	}
	for _, state := range rapid.SliceOfN(rapid.SampledFrom([]string{"open", "merged"}), 0, 2).Draw(t, "prs") {
		a.ClickToFixPRs = append(a.ClickToFixPRs, model.ClickToFixPR{CreatedAt: w.now(), URL: one(t, "pr", someTexts...), State: state})
	}
	if chance(t, "failure", 20) {
		a.ClickToFixFailures = []model.ClickToFixError{{CreatedAt: w.now(), Reason: one(t, "failed", someTexts...)}}
	}
	if chance(t, "ticket", 20) {
		a.ExternalTicket = &model.ExternalTicket{ExternalSlug: "ABC-1", ID: 3, LinkedIssueIDs: []int64{1}, URL: "https://tracker.example/ABC-1"}
	}
	if chance(t, "score", 50) {
		a.Exploited = rapid.Bool().Draw(t, "exploited")
		a.EPSS = &model.EPSS{Percentile: 0.5, Score: one(t, "epss", 0, 0.0999, 0.1, 0.4999, 0.5, 1)}
	}
	a.Reachability = model.Reachability(rapid.IntRange(0, 5).Draw(t, "annotated reachability"))
	return a
}

// stepFinding changes a finding like a scan: it is confirmed, reappears, is removed, changes its
// text, its issue type or its lineage.
func (w *world) stepFinding(t *rapid.T) {
	id, ok := key(t, "finding", w.findings)
	if !ok {
		return
	}
	f := w.findings[id]
	f.StateUpdatedAt = w.now()
	switch rapid.IntRange(0, 5).Draw(t, "life") {
	case 0:
		f.State = model.State(rapid.IntRange(1, 4).Draw(t, "state"))
	case 1:
		f.State, f.RelevantSince = model.Unresolved, w.now()
	case 2:
		f.Severity, f.Body = 4, w.drawBody(t, f.IssueType)
	case 3:
		w.mergeLineage(t, f.LineageID)
		return
	case 4:
		f.IssueType = model.IssueType(rapid.IntRange(1, 3).Draw(t, "other type"))
		f.Reachability, f.Transitivity, f.Package, f.Malicious = 0, 0, "", false
		f.SecretType, f.Historical, f.ValidationState = "", false, 0
		f.Body = w.drawBody(t, f.IssueType)
		w.classify(t, &f)
	default:
		f.RelevantSince = f.RelevantSince.Add(-time.Duration(rapid.IntRange(1, 20).Draw(t, "back")) * time.Second)
	}
	w.putFinding(f)
}

// mergeLineage moves the findings of a lineage to another lineage of its project.
func (w *world) mergeLineage(t *rapid.T, from int64) {
	into := w.someLineage(t, w.lineages[from].ProjectID)
	if into == from {
		return
	}
	for _, id := range slices.Sorted(maps.Keys(w.findings)) {
		if f := w.findings[id]; f.LineageID == from {
			f.LineageID = into
			w.putFinding(f)
		}
	}
	w.deleteLineage(from)
}

// mergeProject moves everything of one project to another one.
func (w *world) mergeProject(t *rapid.T) {
	from, ok := key(t, "merge project", w.projects)
	into, _ := key(t, "into project", w.projects)
	if !ok || from == into {
		return
	}
	for _, id := range slices.Sorted(maps.Keys(w.lineages)) {
		if l := w.lineages[id]; l.ProjectID == from {
			l.ProjectID = into
			w.putLineage(l)
		}
	}
	for _, id := range slices.Sorted(maps.Keys(w.findings)) {
		if f := w.findings[id]; f.ProjectID == from {
			f.ProjectID = into
			w.putFinding(f)
		}
	}
	w.deleteProject(from)
}

// newFinding adds a finding with a new lineage or as another occurrence of an existing one.
func (w *world) newFinding(t *rapid.T) {
	project, ok := key(t, "of project", w.projects)
	rule, known := key(t, "of rule", w.rules)
	if !ok || !known {
		w.putProject(w.someProject(t))
		w.stepRule(t)
		return
	}
	issueType := model.IssueType(rapid.IntRange(1, 3).Draw(t, "issue type"))
	id := w.version*100 + int64(len(w.log)%100) + 1
	for w.findings[id].ID != 0 {
		id++
	}
	relevant := w.now()
	if chance(t, "late", 10) {
		relevant = relevant.Add(-time.Duration(rapid.IntRange(1, 30_000).Draw(t, "by")) * time.Millisecond)
	}
	f := model.IndexedFinding{Finding: model.Finding{
		ID: id, IssueType: issueType, Path: one(t, "path", "", "go.mod", "src/Ünï/main.go"), ProjectID: project, Ref: one(t, "ref", someRefs...), LineageID: w.someLineage(t, project),
		RuleID: rule, RuleName: w.rules[rule].Name, State: model.State(rapid.IntRange(1, 4).Draw(t, "state")),
		Severity: model.Severity(rapid.IntRange(1, 4).Draw(t, "severity")), Confidence: model.Confidence(rapid.IntRange(1, 3).Draw(t, "confidence")),
		CreatedAt: relevant, RelevantSince: relevant, FirstScanID: w.version,
	}, Body: w.drawBody(t, issueType)}
	w.classify(t, &f)
	w.putFinding(f)
}

func (w *world) classify(t *rapid.T, f *model.IndexedFinding) {
	f.ProOnly = f.IssueType == model.SAST && rapid.Bool().Draw(t, "pro")
	if f.IssueType == model.SCA {
		f.Reachability = model.Reachability(rapid.IntRange(0, 5).Draw(t, "reachability"))
		f.Transitivity = model.Transitivity(rapid.IntRange(0, 3).Draw(t, "transitivity"))
		f.Package, f.Malicious = one(t, "package", somePackages...), rapid.Bool().Draw(t, "malicious")
	}
	if f.IssueType == model.Secrets {
		f.SecretType, f.Historical = one(t, "type", someSecrets...), rapid.Bool().Draw(t, "historical")
		f.ValidationState = model.ValidationState(rapid.IntRange(1, 4).Draw(t, "validation"))
	}
}

func (w *world) someLineage(t *rapid.T, project int64) int64 {
	same := slices.Sorted(maps.Keys(w.lineages))
	same = slices.DeleteFunc(same, func(id int64) bool { return w.lineages[id].ProjectID != project })
	if len(same) > 0 && chance(t, "join", 60) {
		return one(t, "lineage", same...)
	}
	id := int64(len(w.log)) + 1_000_000_000_000
	for w.lineages[id].ID != 0 {
		id++
	}
	w.putLineage(model.Lineage{ID: id, ProjectID: project, Triage: model.Triage{State: model.TriageUntriaged}})
	return id
}

func (w *world) drawBody(t *rapid.T, issueType model.IssueType) []byte {
	body := model.Body{Location: model.WireLocation{FilePath: one(t, "path", someTexts...), Line: 3}, MatchBasedID: "m", SyntacticID: "s"}
	if chance(t, "message", 70) {
		message := one(t, "rule message", someTexts...)
		body.RuleMessage = &message
	}
	if issueType == model.SCA {
		body.SCABody = &model.SCABody{FixRecommendations: []model.Fix{}, Unrated: rapid.Bool().Draw(t, "unrated")}
		if chance(t, "fix", 50) {
			body.FixRecommendations = append(body.FixRecommendations, model.Fix{Package: "lodash", Version: "4.17.21"})
		}
		if name := one(t, "vulnerability", "", "CVE-2021-44228", "GHSA-1"); name != "" {
			body.VulnerabilityIdentifier = &name
		}
		if chance(t, "use", 50) {
			body.Usage = &model.Usage{Location: body.Location}
		}
	}
	members, err := body.Members()
	if err != nil {
		t.Fatal(err)
	}
	return members
}
