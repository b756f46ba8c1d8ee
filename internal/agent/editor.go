package agent

import (
	"cmp"
	"encoding/json"
	"net/http"

	"github.com/redoubt/redoubt/internal/auth"
	"github.com/redoubt/redoubt/internal/model"
)

// editorConfig is the configuration for editors that run the scanner. It contains the rules of a
// project as one text.
type editorConfig struct {
	DeploymentID   int64    `json:"deployment_id"`
	DeploymentName string   `json:"deployment_name"`
	PolicyNames    []string `json:"policy_names"`
	RuleConfig     string   `json:"rule_config"`

	Autofix         bool     `json:"autofix"`
	Deep            bool     `json:"deepsemgrep"`
	DependencyQuery bool     `json:"dependency_query"`
	IgnoredFiles    []string `json:"ignored_files"`

	IgnoredSyntacticIDs []string `json:"triage_ignored_syntactic_ids"`
	IgnoredMatchIDs     []string `json:"triage_ignored_match_based_ids"`
}

// editor returns the configuration for an editor. Without a project name, it is that of a new
// project.
func (a *Agent) editor(w http.ResponseWriter, r *http.Request, caller auth.Caller) error {
	name := cmp.Or(r.URL.Query().Get("repo_name"), "local_scan/editor")
	if err := model.CheckProjectName(name); err != nil {
		return model.Invalid("repo_name", "%v", err)
	}
	b, err := json.Marshal(begun{Project: model.Project{Name: name}, Products: []string{model.SAST.String()}})
	if err != nil {
		return err
	}
	c, err := a.configOf(r.Context(), caller, model.AgentScan{Begun: b})
	if err != nil {
		return err
	}
	return answer(w, editorConfig{
		DeploymentID: caller.Deployment.ID, DeploymentName: caller.Deployment.Slug, PolicyNames: []string{},
		RuleConfig: string(c.Config.Rules), IgnoredFiles: []string{},
		IgnoredSyntacticIDs: c.Config.IgnoredSyntacticIDs, IgnoredMatchIDs: c.Config.IgnoredMatchIDs,
	})
}
