package conformance

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"maps"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/redoubt/redoubt/api"
	"github.com/redoubt/redoubt/internal/agent"
	"github.com/redoubt/redoubt/internal/apihttp"
	"github.com/redoubt/redoubt/internal/gate"
	"github.com/redoubt/redoubt/internal/httpx"
	"github.com/redoubt/redoubt/internal/index"
	"github.com/redoubt/redoubt/internal/model"
	"github.com/redoubt/redoubt/internal/queue"
	"github.com/redoubt/redoubt/internal/report"
	"github.com/redoubt/redoubt/internal/store"
	"github.com/redoubt/redoubt/internal/testutil/reporttest"
)

// garden is a site with credentials planted in its texts.
type garden struct {
	*testing.T
	*site
	*planter
	scanners string // address of the API for scanners and runners
	accepted int    // accepted documents
	leaks    map[string]string
}

// samples returns the smallest samples of each format and lockfile that are not empty.
func samples(t *testing.T) map[string][]byte {
	t.Helper()
	out := map[string][]byte{}
	for _, root := range []string{"../../internal/report/testdata", "../../internal/report/lockfile/testdata"} {
		err := filepath.WalkDir(root, func(path string, d os.DirEntry, err error) error {
			if err != nil || d.IsDir() || strings.Contains(path, "golden") {
				return err
			}
			data, err := os.ReadFile(path)
			if err != nil || len(data) < 700 {
				return err
			}
			format, err := report.Detect(path, data)
			name := string(format)
			if format == report.Lockfile {
				name = filepath.Base(path)
			}
			if old, known := out[name]; err == nil && (!known || len(data) < len(old)) {
				out[name] = data
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	return out
}

// TestCredentialsAreNotStored plants unique credentials in reports of each format, in requests of
// scanners and runners, and in user input. It searches for them in responses, log, exports and
// database files.
func TestCredentialsAreNotStored(t *testing.T) {
	s := newSite(t, "sqlite")
	g := &garden{T: t, site: s, planter: newPlanter(), leaks: map[string]string{}}
	g.serveScanners()
	g.reports()
	g.names()
	g.scanner()
	g.failures()
	g.people()
	g.runner()
	if len(g.planted) < 2000 || g.accepted < 500 {
		t.Fatalf("only %d were planted, and %d documents accepted", len(g.planted), g.accepted)
	}
	g.answers()
	g.checkNoCredentials("the log", []byte(s.log.String()))
	files, err := filepath.Glob(filepath.Join(s.config.Dir, "*"))
	if err != nil || len(files) == 0 {
		t.Fatalf("%d files in %s, %v", len(files), s.config.Dir, err)
	}
	for _, name := range files {
		data, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		g.checkNoCredentials("the database", data)
	}
	for _, what := range slices.Sorted(maps.Keys(g.leaks)) {
		t.Errorf("%s: %s", what, g.leaks[what])
	}
}

var policyIDs = regexp.MustCompile(`"id":"(\d+)"`)

// checkNoCredentials reports the credentials in a text, each once.
func (g *garden) checkNoCredentials(where string, text []byte) {
	for what, around := range g.left(text) {
		if _, known := g.leaks[what]; !known {
			g.leaks[what] = fmt.Sprintf("left in %s: %q", where, around)
		}
	}
}

// plant adds a credential to a text: as a replacement, behind it, or in an address.
func (g *garden) plant(location, text string) string {
	credential := g.next(location)
	switch {
	case len(g.planted)%3 == 0 && strings.Contains(text, ":"):
		return text + "?vcs_url=" + url.QueryEscape(credential)
	case len(g.planted)%3 == 0:
		return text + "/" + credential
	case len(g.planted)%3 == 1:
		return text + " " + credential
	}
	return credential
}

// reports imports each sample once for each of its texts.
func (g *garden) reports() {
	all := samples(g.T)
	for _, name := range slices.Sorted(maps.Keys(all)) {
		doc := all[name]
		plant := func(text string) string { return g.plant(name+" "+text, text) }
		copies := reporttest.PlantedWords(doc, plant)
		if json.Valid(doc) {
			copies = reporttest.Planted(g.T, doc, plant)
		}
		for i, text := range copies {
			// Few scans per project: each is matched with all dependencies of the ref.
			fields := map[string]string{"project": fmt.Sprint("acme/app-", i/10), "ref": "main", "category": fmt.Sprint(name, i)}
			body, media := form(g.T, fields, file{name, text})
			g.accept("imports", body, media)
		}
	}
}

// accept sends an upload, which may be rejected.
func (g *garden) accept(path string, body any, media string) {
	a := g.send(g.T, request{method: "POST", path: path, body: body, header: map[string]string{"Content-Type": media}})
	g.checkNoCredentials("the answer of "+path[:min(len(path), 20)], a.body)
	if a.status == 200 {
		g.accepted++
	}
}

// names plants credentials in the parameters of imports and in request ids.
func (g *garden) names() {
	small := semgrepReport((&world{site: g.site, rules: map[string]scanRule{}}).matches(1, 0, 3)...)
	lock := []byte(`{"lockfileVersion":1,"dependencies":{"left":{"version":"1.0.0"}}}`)
	send := func(doc []byte, query url.Values) {
		query.Set("project", "acme/named")
		g.accept("imports?"+query.Encode(), doc, "application/json")
	}
	for range credentialKinds {
		plant := func(name, text string) string { return g.plant("the "+name+" of an import", text) }
		for _, name := range []string{"ref", "commit", "category"} {
			send(small, url.Values{"filename": {"report.json"}, name: {plant(name, "")}})
		}
		send(small, url.Values{"filename": {"report.json"}, "root": {plant("root", "/")}})
		send(small, url.Values{"filename": {"report.json"}, "repo_url": {plant("repo_url", "https://git.example/acme")}})
		send(lock, url.Values{"ref": {"main"}, "filename": {plant("filename", "web") + "/package-lock.json"}})
		id := map[string]string{"X-Request-Id": g.line("the id of a request")}
		a := g.send(g.T, request{method: "GET", path: "projects", header: id})
		g.checkNoCredentials("an answer", a.body)
	}
}

// line returns a credential without line ends.
func (g *garden) line(location string) string { return strings.ReplaceAll(g.next(location), "\n", " ") }

// serveScanners serves the API for scanners and runners on the site's database.
func (g *garden) serveScanners() {
	log := slog.New(slog.NewJSONHandler(g.log, nil))
	a := agent.New(agent.Config{
		Store: g.store, Logger: log, Clock: g.clock.Now, SecretKey: secretKey, MaxUpload: 1 << 20, Wait: time.Minute,
		EncodeOutcome: gate.ScanAnswer,
		CloneSource: func(context.Context, *store.Tx, model.Project) (model.CloneSource, error) {
			return model.CloneSource{URL: "https://git.example/acme/payments"}, nil
		},
	})
	scans := queue.Kind{Work: queue.Do(a.Apply), Attempts: agent.Attempts, Abandoned: a.Abandoned}
	options := queue.Options{Clock: g.clock.Now, Logger: log}
	work := queue.New(g.store, map[string]queue.Kind{agent.ScanJob: scans}, options)
	g.store.OnQueued(work.Wake)
	srv, err := apihttp.New(apihttp.Config{
		Store: g.store, Index: index.New(g.store, index.Options{BodyCache: 1 << 20, Clock: g.clock.Now}), Clock: g.clock.Now,
		Logger: log, SigningKeys: httpx.OneKey(signingKey), SecretKey: secretKey, Version: "test",
		Limits: apihttp.Limits{Upload: 1 << 20}, Mounted: a.Routes(),
	})
	if err != nil {
		g.Fatal(err)
	}
	h := httptest.NewServer(srv.Handler())
	ctx, stop := context.WithCancel(context.Background())
	ended := make(chan struct{})
	go func() {
		go a.Background(ctx)
		work.Run(ctx, ctx)
		close(ended)
	}()
	g.Cleanup(func() { h.Close(); stop(); <-ended })
	g.scanners = h.URL
}

// post sends a request of a scanner and returns the response.
func (g *garden) post(path string, body any) []byte {
	a := g.send(g.T, request{method: "POST", path: g.scanners + path, body: body})
	g.checkNoCredentials("the answer of "+path, a.body)
	if a.status == http.StatusOK {
		g.accepted++
	}
	return a.body
}

// recorded returns the body of a request of a recorded scan.
func (g *garden) recorded(name string) json.RawMessage {
	var r struct{ Body json.RawMessage }
	text, err := os.ReadFile("../../internal/agent/testdata/captures/full/" + name)
	if err == nil {
		err = json.Unmarshal(text, &r)
	}
	if err != nil {
		g.Fatal(err)
	}
	return r.Body
}

// scanner replays a recorded scan once for each of its texts.
func (g *garden) scanner() {
	begin, results, complete := g.recorded("1-scans.json"), g.recorded("3-results.json"), g.recorded("4-complete.json")
	n, name := 0, uniqueID(g.T, begin)
	scan := func(begin, results, complete []byte) {
		n++
		var started struct {
			Info struct {
				ID int64 `json:"id"`
			} `json:"info"`
		}
		begin = bytes.ReplaceAll(begin, name, fmt.Appendf(nil, "planted-%d", n))
		if json.Unmarshal(g.post("/api/cli/v2/scans", begin), &started) == nil && started.Info.ID != 0 {
			at := fmt.Sprintf("/api/agent/scans/%d/", started.Info.ID)
			g.post(at+"results", results)
			g.post(at+"complete", complete)
			g.post(at+"error", object{"exit_code": 2, "stderr": g.next("the error of a scan")})
		}
		g.clock.Advance(time.Minute)
	}
	plant := func(text string) string { return g.plant("a scan, "+text, text) }
	for _, text := range reporttest.Planted(g.T, begin, plant) {
		scan(text, results, complete)
	}
	for _, text := range reporttest.Planted(g.T, results, plant) {
		scan(begin, text, complete)
	}
	for _, text := range reporttest.Planted(g.T, complete, plant) {
		scan(begin, results, text)
	}
}

// uniqueID returns the unique id of a scan.
func uniqueID(t *testing.T, begin []byte) []byte {
	t.Helper()
	var r struct {
		Scan struct {
			UniqueID string `json:"unique_id"`
		} `json:"scan_metadata"`
	}
	if err := json.Unmarshal(begin, &r); err != nil || r.Scan.UniqueID == "" {
		t.Fatalf("%v: %s", err, begin)
	}
	return []byte(r.Scan.UniqueID)
}

// failures plants credentials in failed and rejected requests of a scanner.
func (g *garden) failures() {
	for range credentialKinds {
		project := object{"repository": "acme/refused", "branch": g.next("the branch of a refused scan")}
		refused := g.send(g.T, request{
			method: "POST", path: g.scanners + "/api/cli/v2/scans", token: "-",
			body: object{"project_metadata": project, "scan_metadata": object{"unique_id": "refused"}},
			header: map[string]string{
				"User-Agent": g.line("a user agent"), "X-Semgrep-Scan-ID": g.line("the name of a refused scan"),
			},
		})
		g.checkNoCredentials("a refused scan", refused.body)
		g.clock.Advance(time.Minute)
		traceback := "Traceback: request failed with " + g.next("a failure") + " (401)"
		g.post("/failure", object{"error": traceback, "request_id": "x", "exit_code": 2})
		g.clock.Advance(time.Minute)
	}
}

// people plants credentials in user input.
func (g *garden) people() {
	code := smallSite(g.T, g.site)
	submit := func(path string, body object) {
		a := g.send(g.T, request{method: "POST", path: path, body: body})
		g.checkNoCredentials("the answer of "+path, a.body)
		if a.status >= 300 {
			g.Fatalf("%s: %d %s", path, a.status, a.body)
		}
	}
	for i := range credentialKinds {
		finding, state := code[i%len(code)].ID, []string{"reviewing", "fixing"}[i/len(code)%2]
		newText := func(where string) string { return "it holds " + g.next(where) }
		submit(commentsOf(finding), object{"text": newText("a comment")})
		submit("/api/v1/deployments/"+g.deployment.Slug+"/triage", object{
			"issue_type": "sast", "issue_ids": []int64{finding}, "new_triage_state": state, "new_note": newText("a note"),
		})
		exception := object{"target": fmt.Sprint("nothing-", i), "forever": true, "reason": newText("the reason of an exception")}
		submit("exceptions", exception)
		requestBody := object{"issue_ids": []int64{g.newFinding(g.T)}, "reason": newText("the reason of a request")}
		response := g.send(g.T, exceptionRequest(requestBody))
		g.checkNoCredentials("a request", response.body)
		id := read[api.ExceptionChangeResponse](g.T, response).Exception.ID
		submit(fmt.Sprint("exceptions/", id, "/refuse"), object{"answer": newText("an answer")})
	}
}

// runner plants credentials in the logs and failure reasons of runs.
func (g *garden) runner() {
	g.connect(g.T, "ours")
	token := g.newToken(g.T, model.Token{Name: "runner", Scopes: []model.Scope{model.ScopeRunner}})
	c := &api.Client{BaseURL: g.scanners, Token: token, Retries: -1}
	for i := range credentialKinds {
		g.queue(g.T, model.RunFull, fmt.Sprint("refs/heads/run-", i))
		g.clock.Advance(time.Minute)
		run, err := c.LeaseRun(g.Context(), api.LeaseRunRequest{Name: "r1", Version: "test", Wait: 5})
		if err != nil || run == nil {
			g.Fatalf("leased %+v, %v", run, err)
		}
		progress := api.ProgressRunRequest{Claim: run.Claim, State: "scanning"}
		progress.Log = "fetching\n" + g.next("the log of a run") + "\nend\n"
		if _, err = c.ProgressRun(g.Context(), run.ID, progress); err == nil {
			end := api.FinishRunRequest{Claim: run.Claim, State: "failed", Failure: "permanent"}
			end.Reason = "ended: " + g.next("the reason of a run")
			_, err = c.FinishRun(g.Context(), run.ID, end)
		}
		if err != nil {
			g.Fatal(err)
		}
		a := g.send(g.T, request{method: "GET", path: "runs/" + run.ID + "/log"})
		g.checkNoCredentials("the log of a run", a.body)
	}
}

// answers searches all lists and exports.
func (g *garden) answers() {
	paths := []string{
		"findings?issue_type=sast&page_size=3000", "findings?issue_type=sca&page_size=3000", "secrets?limit=3000",
		"projects?page_size=3000", "runs?limit=100", "exceptions", "policies",
	}
	for _, issueType := range []string{"sast", "sca", "secrets"} {
		for _, format := range []string{"csv", "jsonl", "sarif", "xlsx"} {
			paths = append(paths, "findings/export?issue_type="+issueType+"&format="+format)
		}
	}
	policies := g.send(g.T, request{method: "GET", path: "policies"}).body
	for _, id := range policyIDs.FindAllSubmatch(policies, -1) {
		paths = append(paths, "policies/"+string(id[1]))
	}
	for i, f := range g.allCode(g.T) {
		at := fmt.Sprint("findings/", f.ID)
		paths = append(paths, commentsOf(f.ID), at+"/evidence")
		if i%4 == 0 {
			paths = append(paths, at, at+"/history")
		}
	}
	lists := []request{
		{method: "POST", path: "dependencies", body: object{"pageSize": 10000}},
		{method: "POST", path: "scans/search", body: object{"limit": 500}},
	}
	for _, path := range paths {
		lists = append(lists, request{method: "GET", path: path})
	}
	for _, list := range lists {
		a := g.send(g.T, list)
		if a.status != 200 {
			g.Errorf("%s: %d %.300s", list.path, a.status, a.body)
		}
		g.checkNoCredentials(list.path, a.body)
	}
	for format, version := range map[string]string{"CYCLONEDX": "1.6", "SPDX": "2.3", "OPENVEX": ""} {
		of := object{"format": "SBOM_FORMAT_" + format, "version": version}
		if version == "" {
			delete(of, "version")
		}
		doc, _, err := g.api().DownloadSBOM(g.Context(), g.exported(g.T, object{"formatVersion": of}))
		if err != nil {
			g.Fatal(err)
		}
		g.checkNoCredentials("the export as "+format, doc)
	}
}

// TestNamesWithCredentialsStayDistinct uploads paths, refs and versions with a credential twice. The
// findings must have the same ids, and another credential must create another finding.
func TestNamesWithCredentialsStayDistinct(t *testing.T) {
	each(t, func(t *testing.T, s *site) {
		p := newPlanter()
		first, second := p.next("a path"), p.next("a path")
		w := &world{site: s, rules: map[string]scanRule{}}
		code := func(credential string) match {
			m := w.matches(1, 0, 1)[0]
			m.path = "src/" + credential + "/app.py"
			return m
		}
		ids := func(project string) (ids []int64, paths []string) {
			query := url.Values{"issue_type": {"sast"}, "repos": {project}, "ref": {"_default"}}
			for _, f := range get[api.ListFindingsResponse](t, s, "findings", query).SASTFindings.Findings {
				ids, paths = append(ids, f.ID), append(paths, f.Ref+" "+f.Location.FilePath)
			}
			return ids, paths
		}
		send := func(credentials ...string) api.Import {
			var matches []match
			for _, c := range credentials {
				matches = append(matches, code(c))
			}
			return s.upload(t, "acme/named", "topic-"+first, "full&category="+first, sarifReport("bandit", matches...))
		}
		if in := send(first); in.New != 1 {
			t.Fatalf("%+v", in)
		}
		before, paths := ids("acme/named")
		if in := send(first, second); in.New != 1 || in.Unchanged != 1 {
			t.Errorf("again, with another: %+v", in)
		}
		if in := send(first, second); in.New != 0 || in.Unchanged != 2 {
			t.Errorf("a third time: %+v", in)
		}
		after, more := ids("acme/named")
		if len(before) != 1 || len(after) != 2 || !slices.Contains(after, before[0]) ||
			!slices.Contains(more, paths[0]) || more[0] == more[1] {
			t.Errorf("%v %v, then %v %v", before, paths, after, more)
		}
		for i, version := range []string{first, first, second} {
			lock := fmt.Sprintf(`{"lockfileVersion":1,"dependencies":{"left":{"version":"1.0.0-%s"}}}`, version)
			out := s.imported(t, "project=acme/versions&ref=main&filename=package-lock.json", []byte(lock))
			if repeated := i == 1; (out.Changes.Added == 0) != repeated {
				t.Errorf("version %d: %+v", i, out.Changes)
			}
		}
	})
}
