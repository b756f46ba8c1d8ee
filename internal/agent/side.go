package agent

import (
	"cmp"
	"encoding/json"
	"net/http"

	"github.com/redoubt/redoubt"
	"github.com/redoubt/redoubt/api"
	"github.com/redoubt/redoubt/internal/auth"
)

// What scanners ask beside a scan and cannot have here is answered with what to
// do instead; their users read it.
const (
	noEngine = "This server has no engine of its own to download: run the scanner with --oss-only, which uses the open one."
	noUpload = "Rules are not published here by the scanner: whoever runs this server adds them with redoubt policy add-rules FILE."
)

// engine refuses the download of another engine, which a scanner wants that was
// started without --oss-only. Its scan ends there and tells nobody.
func (a *Agent) engine(w http.ResponseWriter, r *http.Request, caller auth.Caller) error {
	attempt := a.attemptOf(r, redoubt.FailedScope)
	attempt.DeploymentID, attempt.TokenID, attempt.Cause = caller.Deployment.ID, caller.Token.PublicID, noEngine
	if a.attempts.may(attempt.Step, attempt.DeploymentID, attempt.Address) {
		a.note(attempt)
	}
	return refuse(w, http.StatusForbidden, api.CodePermissionDenied, noEngine)
}

// publish refuses `semgrep publish`.
func (a *Agent) publish(w http.ResponseWriter, _ *http.Request, _ auth.Caller) error {
	return refuse(w, http.StatusForbidden, api.CodePermissionDenied, noUpload)
}

// reachabilityCache has nothing: it is of an analysis that the open engine does
// not have.
func (a *Agent) reachabilityCache(w http.ResponseWriter, _ *http.Request, _ auth.Caller) error {
	return answer(w, struct {
		Cached []string `json:"cached"`
	}{[]string{}})
}

func (a *Agent) keepReachability(w http.ResponseWriter, _ *http.Request, _ auth.Caller) error {
	return answer(w, struct{}{})
}

// editorConfig is what editors that run the scanner want: the rules as one text,
// of the project that they name.
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

// editor answers an editor. A project that it does not name is a new one.
func (a *Agent) editor(w http.ResponseWriter, r *http.Request, caller auth.Caller) error {
	name := cmp.Or(r.URL.Query().Get("repo_name"), "local_scan/editor")
	if err := redoubt.CheckProjectName(name); err != nil {
		return redoubt.Invalid("repo_name", "%v", err)
	}
	b, err := json.Marshal(begun{Project: redoubt.Project{Name: name}, Products: []string{redoubt.SAST.String()}})
	if err != nil {
		return err
	}
	c, err := a.configOf(r.Context(), caller, redoubt.AgentScan{Begun: b})
	if err != nil {
		return err
	}
	return answer(w, editorConfig{
		DeploymentID: caller.Deployment.ID, DeploymentName: caller.Deployment.Slug, PolicyNames: []string{},
		RuleConfig: string(c.Config.Rules), IgnoredFiles: []string{},
		IgnoredSyntacticIDs: c.Config.IgnoredSyntacticIDs, IgnoredMatchIDs: c.Config.IgnoredMatchIDs,
	})
}
