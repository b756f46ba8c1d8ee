package index

import (
	"slices"
	"testing"

	"github.com/redoubt/redoubt"
)

// TestWhatPoliciesAffect: which rules are in a policy, findings of code alone tell; its
// days are due dates of all.
func TestWhatPoliciesAffect(t *testing.T) {
	w := newWorld()
	w.putProject(redoubt.Project{ID: 1, Name: "acme/api"})
	w.putRule(redoubt.Rule{ID: 1, Name: "r", IssueType: redoubt.SAST, Message: "m"})
	for id, product := range []redoubt.IssueType{redoubt.SAST, redoubt.SCA, redoubt.Secrets} {
		id := int64(id + 1)
		w.putLineage(redoubt.Lineage{ID: id, ProjectID: 1, Triage: redoubt.Triage{State: redoubt.TriageUntriaged}})
		w.putFinding(redoubt.IndexedFinding{Finding: redoubt.Finding{
			ID: id, IssueType: product, ProjectID: 1, Ref: "refs/heads/main", LineageID: id, RuleID: 1, State: redoubt.Unresolved,
			Severity: redoubt.SeverityHigh, CreatedAt: w.now(), RelevantSince: w.now(),
		}, Body: []byte(`"rule_message":null`)})
	}
	w.commit()
	v := view(t, New(w, Options{BodyCache: 1 << 20}))
	for _, c := range []struct {
		set  redoubt.ChangeSet
		want []int64
	}{
		{redoubt.ChangeSet{}, nil},
		{redoubt.ChangeSet{PolicyRules: true}, []int64{1}},
		{redoubt.ChangeSet{Policies: true}, []int64{1, 2, 3}},
		{redoubt.ChangeSet{Policies: true, PolicyRules: true}, []int64{1, 2, 3}},
	} {
		if got := v.Affected(&c.set).After(0, 10); !slices.Equal(got, c.want) {
			t.Errorf("%+v: %v, want %v", c.set, got, c.want)
		}
	}
}
