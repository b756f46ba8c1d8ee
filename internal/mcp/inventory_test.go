package mcp_test

import (
	"encoding/json"
	"fmt"
	"regexp"
	"strings"
	"testing"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/redoubt/redoubt/api"
	"github.com/redoubt/redoubt/internal/advisory"
	"github.com/redoubt/redoubt/internal/model"
)

// lodashRecord is an advisory for lodash below 4.17.21.
const lodashRecord = `{"id":"GHSA-35jh-r3h4-6jhm","modified":"2024-05-01T00:00:00Z","aliases":["CVE-2021-23337"],"summary":"Trouble with lodash","details":"Long words.",
	"database_specific":{"severity":"HIGH","cwe_ids":["CWE-77"]},
	"affected":[{"package":{"ecosystem":"npm","name":"lodash"},"ranges":[{"type":"SEMVER","events":[{"introduced":"0"},{"fixed":"4.17.21"}]}]}]}`

// inventory publishes an advisory and uploads lockfiles of acme/app, of acme/other, which has a
// fixed version, and of the rival.
func (w *world) inventory() {
	w.Helper()
	if _, err := advisory.Load(w.Context(), w.store, advisory.SingleFile("record.json", []byte(lodashRecord)), nil); err != nil {
		w.Fatal(err)
	}
	if _, err := w.store.PublishAdvisories(w.Context()); err != nil {
		w.Fatal(err)
	}
	w.lock(w.token, "acme/app", "4.17.20", 40)
	w.lock(w.token, "acme/other", "4.17.21", 0)
	w.lock(w.rival, "rival/secretive", "4.17.19", 0)
}

// lock uploads a package-lock.json with lodash and more other packages.
func (w *world) lock(token, project, lodash string, more int) {
	w.Helper()
	var b strings.Builder
	fmt.Fprintf(&b, `{"name":"x","version":"1.0.0","lockfileVersion":3,"packages":{"":{"name":"x","dependencies":{"lodash":"*"}},"node_modules/lodash":{"version":%q,"license":"MIT"}`, lodash)
	for i := range more {
		fmt.Fprintf(&b, `,"node_modules/left-pad-%d":{"version":"1.%d.0","license":"WTFPL"}`, i, i)
	}
	b.WriteString("}}")
	me, err := w.client(token).Me(w.Context())
	if err != nil {
		w.Fatal(err)
	}
	if _, err := w.client(token).ImportReports(w.Context(), me.Deployment.Slug, api.ImportQuery{Project: project, Ref: "main", Full: true}, []api.File{{Name: "package-lock.json", Data: []byte(b.String())}}); err != nil {
		w.Fatal(err)
	}
}

// inventoried runs a test over HTTP and in memory.
func inventoried(t *testing.T, test func(t *testing.T, w *world, s *sdk.ClientSession)) {
	for _, transport := range []string{"HTTP", "memory"} {
		t.Run(transport, func(t *testing.T) {
			w := newWorld(t, "")
			w.inventory()
			s := w.connect(w.token)
			if transport == "memory" {
				s = w.inMemory(w.token, true)
			}
			test(t, w, s)
		})
	}
}

// TestDependencyRanges checks that a name and bounds select the versions between them, in the
// order of the ecosystem.
func TestDependencyRanges(t *testing.T) {
	inventoried(t, func(t *testing.T, w *world, s *sdk.ClientSession) {
		for _, c := range []struct {
			arguments map[string]any
			want      string // versions, in the order of the response
		}{
			{map[string]any{"name": "lodash", "exact": true}, "4.17.20 4.17.21"},
			{map[string]any{"name": "lodash", "from_version": "4.0.0", "to_version": "<4.17.21"}, "4.17.20"},
			{map[string]any{"name": "lodash", "to_version": "4.17.20"}, "4.17.20"},
			{map[string]any{"name": "lodash", "to_version": "<4.17.20"}, ""},
			{map[string]any{"name": "lodash", "from_version": ">4.17.20"}, "4.17.21"},
			{map[string]any{"name": "lodash", "from_version": "4.17.3", "to_version": "4.17.100"}, "4.17.20 4.17.21"},
			{map[string]any{"name": "lodash", "version": "4.17.21"}, "4.17.21"},
			{map[string]any{"name": "lod", "exact": true}, ""},
			{map[string]any{"name": "left-pad", "from_version": "1.9.0", "to_version": "1.11.0"}, "1.10.0 1.11.0 1.9.0"}, // by name, which ends with the number
			{map[string]any{"name": "lodash", "ecosystem": []string{"pypi"}}, ""},
			{map[string]any{"license": []string{"MIT"}, "transitivity": []string{"direct"}}, "4.17.20 4.17.21"},
		} {
			var list []api.Dependency
			w.data(s, "search_dependencies", c.arguments, &list)
			var got []string
			for _, d := range list {
				got = append(got, d.Version)
			}
			if strings.Join(got, " ") != c.want {
				t.Errorf("%v: %v, want %s", c.arguments, got, c.want)
			}
		}
		var first, rest []api.Dependency
		message := w.data(s, "search_dependencies", map[string]any{"name": "left-pad"}, &first)
		cursor := regexp.MustCompile(`cursor "([^"]+)"`).FindStringSubmatch(message)
		if len(first) != 25 || cursor == nil {
			t.Fatalf("%d, %s", len(first), message)
		}
		if message = w.data(s, "search_dependencies", map[string]any{"name": "left-pad", "cursor": cursor[1]}, &rest); len(rest) != 15 || !strings.Contains(message, "no more") || rest[0].ID == first[24].ID {
			t.Errorf("%d, %s", len(rest), message)
		}
	})
}

// TestAdvisoryImpact reads an advisory by any of its ids, with the affected projects and fixed
// versions. Data of the rival must be absent.
func TestAdvisoryImpact(t *testing.T) {
	inventoried(t, func(t *testing.T, w *world, s *sdk.ClientSession) {
		for _, id := range []string{"CVE-2021-23337", "GHSA-35jh-r3h4-6jhm"} {
			var a api.Advisory
			if w.data(s, "get_advisory", map[string]any{"id": id}, &a); a.ID != "CVE-2021-23337" || a.Severity != "high" || len(a.Packages) != 1 || a.Summary != "Trouble with lodash" {
				t.Errorf("%s: %+v", id, a)
			}
			var impact []api.Impact
			message := w.data(s, "get_advisory_impact", map[string]any{"id": id}, &impact)
			if len(impact) != 1 || !strings.Contains(message, "1 affected findings. There are no more.") {
				t.Fatalf("%s: %s %+v", id, message, impact)
			}
			i := impact[0]
			if i.Repository.Name != "acme/app" || i.Version != "4.17.20" || i.Lockfile != "package-lock.json" || i.Status != "open" || len(i.FixRecommendations) != 1 || i.FixRecommendations[0].Version != "4.17.21" {
				t.Errorf("%s: %+v", id, i)
			}
		}
		w.lock(w.token, "acme/app", "4.17.21", 0)
		var impact []api.Impact
		if w.data(s, "get_advisory_impact", map[string]any{"id": "CVE-2021-23337"}, &impact); len(impact) != 0 {
			t.Errorf("upgraded: %+v", impact)
		}
		if w.data(s, "get_advisory_impact", map[string]any{"id": "CVE-2021-23337", "all": true}, &impact); len(impact) != 1 || impact[0].Status != "fixed" && impact[0].Status != "removed" {
			t.Errorf("upgraded, with all: %+v", impact)
		}
		out, err := s.ReadResource(t.Context(), &sdk.ReadResourceParams{URI: "redoubt://advisories/CVE-2021-23337"})
		if err != nil || !strings.Contains(out.Contents[0].Text, "Trouble with lodash") {
			t.Errorf("%+v, %v", out, err)
		}
	})
}

// bill requests an SBOM, waits for it and reads all of it.
func (w *world) bill(s *sdk.ClientSession, arguments map[string]any) (text string) {
	w.Helper()
	var task api.CreateSBOMExportResponse
	w.data(s, "create_sbom", arguments, &task)
	for deadline := time.Now().Add(20 * time.Second); time.Now().Before(deadline); {
		var state struct {
			api.SBOMExportStatusResponse
			Text string
		}
		message := w.data(s, "get_sbom", map[string]any{"task_token": task.TaskToken, "offset": len(text)}, &state)
		if state.Status == "SBOM_EXPORT_STATUS_FAILED" {
			w.Fatalf("%+v", state)
		}
		text += state.Text
		if state.DownloadURL != "" && !strings.Contains(message, "For more, use offset") {
			return text
		}
	}
	w.Fatalf("no whole bill of materials of %v: %d bytes", arguments, len(text))
	return ""
}

// TestSBOMExport checks that SBOMs in every format can be read in parts and contain only data
// that is visible to the token.
func TestSBOMExport(t *testing.T) {
	inventoried(t, func(t *testing.T, w *world, s *sdk.ClientSession) {
		project, err := w.client(w.token).GetProject(t.Context(), "acme", "acme/app")
		if err != nil {
			t.Fatal(err)
		}
		decided := api.TriageRequest{IssueType: "sca", NewTriageState: "ignored", NewTriageReason: "false_positive", TriageFilter: api.TriageFilter{Repos: []string{"acme/app"}}}
		if done, err := w.client(w.token).TriageFindings(t.Context(), "acme", decided); err != nil || done.NumTriaged != 1 { // otherwise OpenVEX has no statements
			t.Fatalf("%+v, %v", done, err)
		}
		for format, member := range map[string]string{"": "components", "CycloneDX": "components", "spdx": "packages", "openvex": "statements"} {
			var document map[string]any
			text := w.bill(s, map[string]any{"project_id": project.Project.ID, "format": format})
			if err := json.Unmarshal([]byte(text), &document); err != nil || document[member] == nil {
				t.Errorf("%q: %v: %.200s", format, err, text)
			}
			if format != "openvex" && (strings.Count(text, "left-pad-") < 40 || !strings.Contains(text, "lodash@4.17.20") || strings.Contains(text, "lodash@4.17.21")) {
				t.Errorf("%q is not of the project: %.500s", format, text)
			}
		}
		if all := w.bill(s, nil); !strings.Contains(all, "4.17.20") || !strings.Contains(all, "4.17.21") || strings.Contains(all, "4.17.19") {
			t.Errorf("of everything: %.500s", all)
		}
		if text, refused := w.call(s, "create_sbom", map[string]any{"format": "pdf"}); !refused || !strings.Contains(text, "openvex") {
			t.Errorf("a format that is none: %s", text)
		}
		if text, refused := w.call(s, "create_sbom", map[string]any{"project_id": 4000000}); !refused {
			t.Errorf("a project that is none: %s", text)
		}
		var task api.CreateSBOMExportResponse
		w.data(s, "create_sbom", nil, &task)
		strangers := map[string]string{"the rival": w.rival, "a token of one project": w.newToken(w.ours, model.Token{Name: "bound", Scopes: []model.Scope{model.ScopeWebAPI}, ProjectGlobs: []string{"acme/app"}})}
		for name, token := range strangers {
			if text, refused := w.call(w.connect(token), "get_sbom", map[string]any{"task_token": task.TaskToken}); !refused || !strings.Contains(text, "not_found") {
				t.Errorf("%s reads it: %s", name, text)
			}
		}
		if text, refused := w.call(s, "get_sbom", map[string]any{"task_token": task.TaskToken, "offset": -1}); !refused && !strings.Contains(text, "not complete yet") {
			t.Errorf("an offset below 0: %s", text)
		}
	})
}

// TestDependencyPages checks that following the cursors returns every dependency once, also if
// a lockfile changed after another one was stored.
func TestDependencyPages(t *testing.T) {
	w := newWorld(t, "")
	requirements := func(version string, names ...string) (text string) {
		for _, name := range names {
			text += name + "==" + version + "\n"
		}
		return text
	}
	packages := func(from, n int) (names []string) {
		for i := range n {
			names = append(names, fmt.Sprintf("p%03d", from+i))
		}
		return names
	}
	me, err := w.client(w.token).Me(w.Context())
	if err != nil {
		t.Fatal(err)
	}
	for _, version := range []string{"1.0", "2.0"} {
		files := []api.File{
			{Name: "requirements.txt", Data: []byte(requirements("1.0", packages(0, 5)...) + requirements(version, packages(5, 15)...))},
			{Name: "w/requirements.txt", Data: []byte(requirements("1.0", packages(20, 60)...))},
		}
		query := api.ImportQuery{Project: "acme/app", Ref: "main", Full: true}
		if _, err := w.client(w.token).ImportReports(w.Context(), me.Deployment.Slug, query, files); err != nil {
			t.Fatal(err)
		}
	}
	s, seen, arguments := w.connect(w.token), map[string]int{}, map[string]any{}
	for range 80 {
		var list []api.Dependency
		text := w.data(s, "search_dependencies", arguments, &list)
		for _, d := range list {
			seen[d.Name]++
		}
		cursor := regexp.MustCompile(`cursor "([^"]+)"`).FindStringSubmatch(text)
		if cursor == nil {
			break
		}
		arguments["cursor"] = cursor[1]
	}
	for _, name := range packages(0, 80) {
		if seen[name] != 1 {
			t.Errorf("%s was read %d times", name, seen[name])
		}
	}
}
