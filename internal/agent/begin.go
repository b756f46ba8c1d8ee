package agent

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"unicode/utf8"

	"github.com/redoubt/redoubt/internal/auth"
	"github.com/redoubt/redoubt/internal/gate"
	"github.com/redoubt/redoubt/internal/model"
	"github.com/redoubt/redoubt/internal/policy"
	"github.com/redoubt/redoubt/internal/redact"
	"github.com/redoubt/redoubt/internal/store"
	"github.com/redoubt/redoubt/internal/weblink"
)

// source is the tool of all uploads here: Semgrep (docs/reference/findings.md).
const source = policy.Source

// beginRequest is the request that starts a scan.
type beginRequest struct {
	Project projectMetadata `json:"project_metadata"`
	// Meta is used by older scanners instead of, or in addition to, Project.
	Meta projectMetadata `json:"meta"`
	Scan struct {
		UniqueID  string   `json:"unique_id"`
		Products  []string `json:"requested_products"`
		DryRun    bool     `json:"dry_run"`
		OnlyRules []string `json:"partial_scan_rule_ids"`
	} `json:"scan_metadata"`
	Config struct {
		Tags []string `json:"tags"`
	} `json:"project_config"`
}

// projectMetadata describes the environment of a scanner.
type projectMetadata struct {
	Environment string `json:"scan_environment"`
	Repository  string `json:"repository"`
	DisplayName string `json:"repo_display_name"`
	URL         string `json:"repo_url"`
	RepoID      string `json:"repo_id"`
	Branch      string `json:"branch"`
	Commit      string `json:"commit"`
	Full        bool   `json:"is_full_scan"`
}

// Limits of a start request, which is stored for a week.
const (
	maxBeginList = 1000       // entries of a list
	maxBegun     = 256 * 1024 // bytes of the stored data
)

// begun is the stored data of a start request.
type begun struct {
	Project model.Project `json:"project"`
	// Globs restrict the token that started the scan. They also limit the projects that its
	// repository id can match (docs/reference/tokens.md).
	Globs     model.ProjectGlobs `json:"globs,omitempty"`
	Ref       string             `json:"ref"`
	Commit    string             `json:"commit"`
	Full      bool               `json:"full"`
	Products  []string           `json:"products"`
	OnlyRules []string           `json:"only_rules"`
	Run       string             `json:"run,omitempty"` // see runName
}

// runName matches the run name that `redoubt ci` adds to the scanner's user agent.
var runName = regexp.MustCompile(`\bredoubt-ci/([0-9A-Za-z]{8,64})\b`)

var uniqueID = regexp.MustCompile(`^[0-9A-Za-z._-]{1,128}$`)

// isUniqueID reports whether a text is a valid name of a scan. Credentials are not.
func isUniqueID(s string) bool { return uniqueID.MatchString(s) && redact.Text(s) == s }

// begun validates and converts a start request.
func (b *beginRequest) begun(key []byte) (begun, error) {
	if b.Project == (projectMetadata{}) {
		b.Project = b.Meta
	}
	p := &b.Project
	redact.Finder{Key: key}.Names(&p.DisplayName, &p.Repository, &p.URL, &p.Branch, &p.Commit, &p.RepoID)
	out := begun{
		Project: model.Project{Name: cmp.Or(p.DisplayName, p.Repository), URL: weblink.URL(p.URL)},
		Ref:     ref(p.Environment, p.Branch), Commit: p.Commit,
		Full: p.Full, Products: b.Scan.Products, OnlyRules: b.Scan.OnlyRules,
	}
	if b.Scan.DryRun && !strings.Contains(out.Project.Name, "/") { // only rules are requested, for an unknown project
		out.Project.Name = "local_scan/" + cmp.Or(out.Project.Name, "dry-run")
	}
	var bad model.InvalidError
	fault := func(location, text string) {
		bad.Fields = append(bad.Fields, model.FieldError{Location: location, Message: text})
	}
	if !isUniqueID(b.Scan.UniqueID) {
		fault("scan_metadata.unique_id", "must have 1 to 128 letters, digits, dots, underscores and hyphens")
	}
	if err := model.CheckProjectName(out.Project.Name); err != nil {
		fault("project_metadata.repo_display_name", err.Error()+"; set SEMGREP_REPO_DISPLAY_NAME or SEMGREP_REPO_NAME")
	}
	if err := model.CheckProjectURL(p.URL); err != nil {
		fault("project_metadata.repo_url", err.Error())
	}
	for _, list := range []struct {
		name    string
		entries []string
	}{{"requested_products", b.Scan.Products}, {"partial_scan_rule_ids", b.Scan.OnlyRules}} {
		if len(list.entries) > maxBeginList {
			fault("scan_metadata."+list.name, fmt.Sprintf("must have at most %d entries", maxBeginList))
		}
	}
	tags, err := model.NormalTags(b.Config.Tags)
	if err != nil {
		fault("project_config.tags", err.Error())
	}
	for _, member := range []struct{ name, value string }{
		{"branch", out.Ref},
		{"commit", out.Commit},
		{"repo_id", p.RepoID},
	} {
		err := model.CheckRef(member.value)
		if err == nil && strings.ContainsRune(member.value, utf8.RuneError) { // decoding replaces invalid bytes by this
			err = errors.New("must be UTF-8")
		}
		if err != nil {
			fault("project_metadata."+member.name, err.Error())
		}
	}
	if len(bad.Fields) > 0 {
		return out, &bad
	}
	out.Project.Tags, out.Project.RepoID = tags, repoID(p.RepoID, out.Project, p.Repository)
	return out, nil
}

// ref returns the full ref of a branch. Jenkins reports the remote branch
// (docs/reference/addressing.md).
func ref(environment, branch string) string {
	if environment == "jenkins" {
		branch = strings.TrimPrefix(branch, "origin/")
	}
	return model.FullRef(branch)
}

// repoID qualifies a repository's numeric id with the code host that issued it. The prefix is the
// host name, the port and the path below which the host serves repositories. Two code hosts on one
// host name have different repositories with the same id. It returns "" if a part of a repository
// is a separate project, because such parts share the id of their repository.
func repoID(id string, p model.Project, repository string) string {
	u, err := url.Parse(p.URL)
	if id == "" || p.Name != repository || err != nil || u.Hostname() == "" {
		return ""
	}
	base := u.Host
	if at := len(u.Path) - len("/"+repository); at > 0 && strings.EqualFold(u.Path[at:], "/"+repository) {
		base += u.Path[:at]
	}
	return base + ":" + id
}

// scanInfo is the created scan in the response.
type scanInfo struct {
	ID             int64    `json:"id,omitempty"` // missing for dry runs
	DeploymentID   int64    `json:"deployment_id"`
	DeploymentName string   `json:"deployment_name"`
	Products       []string `json:"enabled_products"`
}

type beginResponse struct {
	Info scanInfo `json:"info"`
}

// begin starts a scan, or returns the existing one if the request is repeated.
func (a *Agent) begin(w http.ResponseWriter, r *http.Request, caller auth.Caller) error {
	info, _, err := a.start(r, caller)
	if err != nil {
		return err
	}
	return answer(w, beginResponse{info})
}

// beginAtOnce handles the request of older scanners. The response also contains the configuration.
func (a *Agent) beginAtOnce(w http.ResponseWriter, r *http.Request, caller auth.Caller) error {
	info, known, err := a.start(r, caller)
	if err != nil {
		return err
	}
	config, err := a.configOf(r.Context(), caller, known)
	if err != nil {
		return err
	}
	return answer(w, struct {
		beginResponse
		configuration
	}{beginResponse{info}, config})
}

func (a *Agent) start(r *http.Request, caller auth.Caller) (info scanInfo, known model.AgentScan, err error) {
	var request beginRequest
	if err := decode(r, &request); err != nil {
		return info, known, err
	}
	// Older scanners send the name of their run only in the header.
	request.Scan.UniqueID = cmp.Or(request.Scan.UniqueID, r.Header.Get("X-Semgrep-Scan-ID"))
	b, err := request.begun(a.SecretKey)
	if err != nil {
		return info, known, err
	}
	if found := runName.FindStringSubmatch(r.UserAgent()); found != nil {
		b.Run = found[1]
	}
	b.Globs = caller.Globs()
	err = a.Store.Update(r.Context(), caller.Deployment.ID, caller.Actor(), func(ctx context.Context, tx *store.Tx) error {
		if err := gate.CanUseProject(b.Globs, b.Project.Name); err != nil {
			return err
		}
		if err := gate.CanUpload(ctx, tx, caller, b.Ref, b.Commit); err != nil {
			return err
		}
		known, err = findRun(ctx, tx, caller, request.Scan.UniqueID)
		if errors.Is(err, model.ErrNotFound) {
			known, err = add(ctx, tx, known.UniqueID, b, request.Scan.DryRun)
		}
		return err
	})
	return scanInfo{
		ID: known.ScanID, DeploymentID: caller.Deployment.ID,
		DeploymentName: caller.Deployment.Slug, Products: enabled(b.Products),
	}, known, err
}

// findRun returns the run of a caller by the scanner's name for it. Without a match, the error is
// model.ErrNotFound and the result contains the name to store. If the name belongs to a run that
// the caller may not access, that run is hidden and another name is derived.
func findRun(ctx context.Context, tx *store.Tx, caller auth.Caller, name string) (model.AgentScan, error) {
	globs := caller.Globs()
	known, err := tx.AgentScan(ctx, name)
	if err == nil && len(globs) > 0 {
		if _, _, err = projectOfRun(ctx, tx, caller, known); errors.Is(err, model.ErrNotFound) {
			sum := sha256.Sum256([]byte(globs.Claim(name)))
			name = "run_" + hex.EncodeToString(sum[:16])
			known, err = tx.AgentScan(ctx, name)
		}
	}
	if errors.Is(err, model.ErrNotFound) {
		known = model.AgentScan{UniqueID: name}
	}
	return known, err
}

// projectOfRun returns the project of a run and the data of its start request. For a dry run it is
// the project that a scan would use; a project without an id would be created.
func projectOfRun(
	ctx context.Context, tx *store.Tx, caller auth.Caller, known model.AgentScan,
) (project model.Project, b begun, err error) {
	if err := json.Unmarshal(known.Begun, &b); err != nil {
		return project, b, err
	}
	if known.ScanID != 0 {
		scan, err := tx.Scan(ctx, known.ScanID)
		if err != nil {
			return project, b, err
		}
		project, err = tx.Project(ctx, scan.ProjectID)
		project, err = gate.VisibleProject(caller.Globs(), project, err)
		return project, b, err
	}
	if err := gate.CanUseProject(caller.Globs(), b.Project.Name); err != nil {
		return project, b, err
	}
	project, err = tx.FindProjectForScan(ctx, caller.Globs(), b.Project)
	if errors.Is(err, model.ErrNotFound) {
		return b.Project, b, nil
	}
	return project, b, err
}

// add stores a running scan. A dry run has no scan.
func add(ctx context.Context, tx *store.Tx, id string, b begun, dry bool) (model.AgentScan, error) {
	known := model.AgentScan{UniqueID: id}
	var err error
	if known.Begun, err = json.Marshal(b); err != nil {
		return known, err
	}
	if len(known.Begun) > maxBegun {
		return known, fmt.Errorf("the scan request is %w: send at most %d bytes", model.ErrTooLarge, maxBegun)
	}
	if !dry {
		project, err := tx.ProjectForScan(ctx, b.Globs, b.Project)
		if err != nil {
			return known, err
		}
		known.ScanID, err = tx.AddScan(ctx, model.Scan{
			ProjectID: project.ID, Ref: b.Ref, Commit: b.Commit, Source: source, StartedAt: tx.Now(), Full: b.Full,
			Status: model.ScanRunning, TotalTime: -1,
		})
		if err == nil {
			err = tx.EnqueueStatusUpdate(ctx, project.ID, b.Commit)
		}
		if err != nil {
			return known, err
		}
	}
	return known, tx.AddAgentScan(ctx, known)
}

// enabled returns the products that the open engine supports by name. Secrets are found by ordinary
// rules, because their product needs another engine.
func enabled(requested []string) []string {
	wanted := policy.Products(requested)
	out := []string{}
	for _, t := range []model.IssueType{model.SAST, model.SCA} {
		if wanted.Has(t) {
			out = append(out, t.String())
		}
	}
	if len(out) == 0 {
		out = append(out, model.SAST.String())
	}
	return out
}
