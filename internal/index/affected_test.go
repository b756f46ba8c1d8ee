package index

import (
	"slices"
	"testing"

	"github.com/redoubt/redoubt/internal/model"
)

// TestFindingsAffectedByPolicies checks that changed policy rules affect only SAST findings, and changed
// policies affect all findings.
func TestFindingsAffectedByPolicies(t *testing.T) {
	w := newWorld()
	w.putProject(model.Project{ID: 1, Name: "acme/api"})
	w.putRule(model.Rule{ID: 1, Name: "r", IssueType: model.SAST, Message: "m"})
	for id, product := range []model.IssueType{model.SAST, model.SCA, model.Secrets} {
		id := int64(id + 1)
		w.putLineage(model.Lineage{ID: id, ProjectID: 1, Triage: model.Triage{State: model.TriageUntriaged}})
		w.putFinding(model.IndexedFinding{Finding: model.Finding{
			ID: id, IssueType: product, ProjectID: 1, Ref: "refs/heads/main", LineageID: id, RuleID: 1, State: model.Unresolved,
			Severity: model.SeverityHigh, CreatedAt: w.now(), RelevantSince: w.now(),
		}, Body: []byte(`"rule_message":null`)})
	}
	w.commit()
	v := view(t, New(w, Options{BodyCache: 1 << 20}))
	for _, c := range []struct {
		set  model.ChangeSet
		want []int64
	}{
		{model.ChangeSet{}, nil},
		{model.ChangeSet{PolicyRules: true}, []int64{1}},
		{model.ChangeSet{Policies: true}, []int64{1, 2, 3}},
		{model.ChangeSet{Policies: true, PolicyRules: true}, []int64{1, 2, 3}},
	} {
		if got := v.Affected(&c.set).After(0, 10); !slices.Equal(got, c.want) {
			t.Errorf("%+v: %v, want %v", c.set, got, c.want)
		}
	}
}
