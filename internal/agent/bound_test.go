package agent_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"testing"

	"github.com/redoubt/redoubt/api"
	"github.com/redoubt/redoubt/internal/model"
	"github.com/redoubt/redoubt/internal/store"
)

// claim is the repository in a start request.
type claim struct {
	name, id, url string
	run           string // the scanner's name of the run; a new one if empty
	dry           bool
}

// repoURL is the default repository URL of claims.
const repoURL = "https://github.com/acme/gateway"

// bound returns a token that is restricted to projects.
func (w *world) bound(globs ...string) string {
	return w.newToken(model.Token{
		Name: fmt.Sprint(globs), Scopes: []model.Scope{model.ScopeWebAPI, model.ScopeCI}, ProjectGlobs: globs,
	})
}

// beginAs starts a scan with a token and returns its id.
func (w *world) beginAs(token string, c claim) (status int, id int64, answer string) {
	w.Helper()
	if c.url == "" {
		c.url = repoURL
	}
	if c.run == "" {
		w.runs++
		c.run = fmt.Sprint("claim-", w.runs)
	}
	body, err := json.Marshal(map[string]any{
		"project_metadata": map[string]any{"repository": c.name, "repo_url": c.url, "repo_id": c.id, "branch": "main", "commit": "c1", "is_full_scan": true},
		"scan_metadata":    map[string]any{"unique_id": c.run, "dry_run": c.dry, "requested_products": []string{"sast"}},
	})
	if err != nil {
		w.Fatal(err)
	}
	status, answer = w.send(http.MethodPost, "/api/cli/v2/scans", token, body)
	var begun struct {
		Info struct {
			ID int64 `json:"id"`
		} `json:"info"`
	}
	w.decode([]byte(answer), &begun)
	return status, begun.Info.ID, answer
}

// finishAs uploads results and completes a scan.
func (w *world) finishAs(token string, id int64) (results, complete int) {
	w.Helper()
	w.clock.Advance(1e9)
	path := fmt.Sprintf("/api/agent/scans/%d/", id)
	results, _ = w.send(http.MethodPost, path+"results", token, w.recorded("full/3-results.json"))
	complete, _ = w.send(http.MethodPost, path+"complete", token, w.recorded("full/4-complete.json"))
	return results, complete
}

// scanAs uploads a whole scan.
func (w *world) scanAs(token string, c claim) {
	w.Helper()
	w.clock.Advance(1e9)
	status, id, answer := w.beginAs(token, c)
	if status != http.StatusOK {
		w.Fatalf("%+v is answered %d %s", c, status, answer)
	}
	if results, complete := w.finishAs(token, id); results != http.StatusOK || complete != http.StatusOK {
		w.Fatalf("%+v is answered %d and %d", c, results, complete)
	}
}

// seenBy returns the number of findings of each project that a token can read.
func (w *world) seenBy(token string) map[string]int {
	w.Helper()
	client, list := &api.Client{BaseURL: w.web.URL, Token: token}, map[string]int{}
	for p, err := range client.Projects(w.Context(), "acme", api.ProjectsQuery{}) {
		if err != nil {
			w.Fatal(err)
		}
		list[p.Name] = 0
	}
	for f, err := range client.Findings(w.Context(), "acme", api.FindingsQuery{}) {
		if err != nil {
			w.Fatal(err)
		}
		list[f.Repository.Name]++
	}
	return list
}

// named returns a stored project.
func (w *world) named(name string) (p model.Project) {
	w.Helper()
	err := w.store.View(w.Context(), w.deployment.ID, func(ctx context.Context, tx *store.Tx) (err error) {
		p, err = tx.ProjectByName(ctx, name)
		return err
	})
	if err != nil {
		w.Fatal(err)
	}
	return p
}

// found is the number of code findings in the recorded scan.
const found = 4

// TestClaimedRepositoryIDRedirectsNoScans checks that a claimed repository id does not redirect scans of
// that repository to another project.
func TestClaimedRepositoryIDRedirectsNoScans(t *testing.T) {
	each(t, func(w *world) {
		otherToken := w.bound("platform/**")
		w.scanAs(w.token, claim{name: "acme/gateway"})
		w.scanAs(otherToken, claim{name: "platform/infra/modules", id: "888"})
		w.scanAs(w.token, claim{name: "acme/gateway", id: "888"})
		w.scanAs(w.token, claim{name: "acme/fresh", id: "889"})
		w.scanAs(otherToken, claim{name: "platform/infra/modules", id: "889"})
		w.scanAs(w.token, claim{name: "acme/fresh", id: "889"})
		w.same("seen with the thief's token", map[string]int{"platform/infra/modules": found}, w.seenBy(otherToken))
		w.same("seen with the token of all", map[string]int{
			"platform/infra/modules": found, "acme/gateway": found, "acme/fresh": found,
		}, w.seenBy(w.token))
		w.same("the id is the repository's", "github.com:888", w.named("acme/gateway").RepoID)
		w.same("and none of the thief's", "", w.named("platform/infra/modules").RepoID)
	})
}

// TestClaimedRepositoryIDDoesNotBlockProject checks that a claimed repository id does not block its project.
func TestClaimedRepositoryIDDoesNotBlockProject(t *testing.T) {
	each(t, func(w *world) {
		otherToken, owner := w.bound("platform/**"), w.bound("acme/gateway")
		w.scanAs(otherToken, claim{name: "platform/infra/modules", id: "888"})
		w.scanAs(owner, claim{name: "acme/gateway", id: "888"})
		status, id, _ := w.beginAs(owner, claim{name: "acme/gateway", id: "888"})
		w.same("the owner begins", http.StatusOK, status)
		w.scanAs(otherToken, claim{name: "platform/infra/modules", id: "888"})
		results, complete := w.finishAs(owner, id)
		w.same("the owner uploads", [2]int{http.StatusOK, http.StatusOK}, [2]int{results, complete})
		w.same("seen by the owner", map[string]int{"acme/gateway": found}, w.seenBy(owner))
		w.same("seen by the thief", map[string]int{"platform/infra/modules": found}, w.seenBy(otherToken))
	})
}

// TestRestrictedTokenRenamesOnlyItsProjects checks that a restricted token only renames its own projects,
// within its globs.
func TestRestrictedTokenRenamesOnlyItsProjects(t *testing.T) {
	each(t, func(w *world) {
		otherToken := w.bound("platform/**")
		w.scanAs(otherToken, claim{name: "platform/web", id: "5"})
		w.scanAs(w.token, claim{name: "acme/newrepo", id: "5"})
		w.same("a name that was free", map[string]int{"platform/web": found, "acme/newrepo": found}, w.seenBy(w.token))
		w.scanAs(w.token, claim{name: "acme/shop", id: "6"})
		before := w.named("acme/shop")
		w.scanAs(otherToken, claim{name: "platform/shop", id: "6"})
		w.same("the project whose id was claimed", before, w.named("acme/shop"))
		mine := w.named("platform/web")
		w.scanAs(otherToken, claim{name: "platform/site", id: "5"})
		w.same("a rename among its own", mine.ID, w.named("platform/site").ID)
		w.same("whose old name answers", mine.ID, w.named("platform/web").ID)
	})
}

// TestBoundTokenCannotProbeRepositoryIDs checks that known and unknown repository ids get equal responses, and
// that other projects do not change.
func TestBoundTokenCannotProbeRepositoryIDs(t *testing.T) {
	each(t, func(w *world) {
		otherToken := w.bound("platform/**")
		w.scanAs(w.token, claim{name: "acme/shop", id: "777"})
		shop, scans := w.named("acme/shop"), len(w.scans())
		for i, c := range []claim{{name: "platform/a", id: "777"}, {name: "platform/b", id: "4711"}} {
			status, id, answer := w.beginAs(otherToken, c)
			w.same("begins with "+c.id, http.StatusOK, status)
			w.same("findings with "+c.id, int64(0), w.scanProject(id)-w.named(c.name).ID)
			w.same("scans after "+answer, scans+1+i, len(w.scans()))
			// The next scan must not reveal more: the rename must have the same effect in both
			// cases.
			results, complete := w.finishAs(otherToken, id)
			w.same("uploaded", [2]int{http.StatusOK, http.StatusOK}, [2]int{results, complete})
			id = w.named(c.name).ID
			scans++
			w.scanAs(otherToken, claim{name: c.name + "-renamed", id: c.id})
			w.same("renamed with "+c.id, id, w.named(c.name+"-renamed").ID)
		}
		w.same("the project that has the id", shop, w.named("acme/shop"))
		status, _, _ := w.beginAs(otherToken, claim{name: "platform/c", id: "777", dry: true})
		w.same("a dry run", http.StatusOK, status)
	})
}

// scanProject returns the project of a scan.
func (w *world) scanProject(id int64) (projectID int64) {
	w.Helper()
	err := w.store.View(w.Context(), w.deployment.ID, func(ctx context.Context, tx *store.Tx) error {
		s, err := tx.Scan(ctx, id)
		projectID = s.ProjectID
		return err
	})
	if err != nil {
		w.Fatal(err)
	}
	return projectID
}
