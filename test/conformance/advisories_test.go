package conformance

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"testing"

	"github.com/redoubt/redoubt/api"
	"github.com/redoubt/redoubt/internal/advisory"
	"github.com/redoubt/redoubt/internal/exceptions"
	"github.com/redoubt/redoubt/internal/ingest"
	"github.com/redoubt/redoubt/internal/model"
	"github.com/redoubt/redoubt/internal/store"
	"github.com/redoubt/redoubt/internal/testutil/storetest"
	"github.com/redoubt/redoubt/internal/version"
)

func orders(ecosystem string) advisory.Order { return version.OrderOf(ecosystem) }

// record is an OSV record of one package, affected from the first version to a fix.
type record struct {
	id        string
	aliases   []string
	ecosystem string // default npm
	name      string
	fixed     string
	severity  string
	withdrawn bool
}

func (r record) json(t testing.TB) []byte {
	t.Helper()
	if r.ecosystem == "" {
		r.ecosystem = "npm"
	}
	events := []object{{"introduced": "0"}}
	if r.fixed != "" {
		events = append(events, object{"fixed": r.fixed})
	}
	o := object{
		"id": r.id, "modified": "2024-05-01T00:00:00Z", "aliases": r.aliases, "summary": "Trouble with " + r.name, "details": "Long words.",
		"references":        []object{{"type": "WEB", "url": "https://example.org/" + r.id}},
		"database_specific": object{"severity": r.severity, "cwe_ids": []string{"CWE-79"}},
		"affected":          []object{{"package": object{"ecosystem": r.ecosystem, "name": r.name}, "ranges": []object{{"type": "ECOSYSTEM", "events": events}}}},
	}
	if r.withdrawn {
		o["withdrawn"] = "2024-06-01T00:00:00Z"
	}
	text, err := json.Marshal(o)
	if err != nil {
		t.Fatal(err)
	}
	return text
}

// publish loads records like the command and matches all deployments.
func (s *site) publish(t testing.TB, records ...record) {
	t.Helper()
	for _, r := range records {
		if _, err := advisory.Load(t.Context(), s.store, advisory.SingleFile(r.id+".json", r.json(t)), nil); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := s.store.PublishAdvisories(t.Context()); err != nil {
		t.Fatal(err)
	}
	s.sweep(t)
}

// sweep matches all deployments against the advisories.
func (s *site) sweep(t testing.TB) {
	t.Helper()
	sweep := advisory.Sweep[*store.Tx]{
		Store: s.store, Library: advisory.NewLibrary(orders),
		Update: func(ctx context.Context, id int64, fn func(context.Context, *store.Tx) error) error {
			return s.store.Update(ctx, id, storetest.Actor, fn)
		},
		Follow: func(ctx context.Context, tx *store.Tx, advised []model.Advised, most int) ([]model.Followed, error) {
			return ingest.FollowAll(ctx, tx, exceptions.ForImport{Store: tx}, advised, tx.Now(), most)
		},
	}
	all, err := s.store.Deployments(t.Context())
	for _, d := range all {
		if err == nil {
			_, err = sweep.Deployment(t.Context(), d.ID)
		}
	}
	if err != nil {
		t.Fatal(err)
	}
}

func shopLock(lodash string) []byte {
	return fmt.Appendf(nil, `{"name":"shop","version":"1.0.0","lockfileVersion":3,"packages":{"":{"name":"shop","dependencies":{"lodash":"*"}},
		"node_modules/lodash":{"version":%q},"node_modules/left-pad":{"version":"1.3.0"}}}`, lodash)
}

const uvLock = "version = 1\nrequires-python = \">=3.8\"\n[[package]]\nname = \"jinja2\"\nversion = \"2.10\"\nsource = { registry = \"https://pypi.org/simple\" }\n"

// inventory imports both lockfiles of a project as its complete inventory.
func (s *site) inventory(t testing.TB, ref, lodash string) {
	t.Helper()
	s.clock.Advance(1e9)
	body, media := form(t, map[string]string{"project": "acme/shop", "ref": ref, "full": "true", "repo_url": "https://github.com/acme/shop"},
		file{"package-lock.json", shopLock(lodash)}, file{"api/uv.lock", []byte(uvLock)})
	if a := s.send(t, request{method: "POST", path: "imports", body: body, header: map[string]string{"Content-Type": media}}); a.status != 200 {
		t.Fatalf("import: %d %s", a.status, a.body)
	}
}

// supply lists the supply-chain findings of a ref as "id package@version vulnerability status".
func (s *site) supply(t testing.TB, query string) (out []string) {
	t.Helper()
	list := get[api.ListFindingsResponse](t, s, "findings?issue_type=sca&"+query)
	for _, f := range list.SCAFindings.Findings {
		out = append(out, fmt.Sprintf("%d %s@%s %s %s", f.ID, f.FoundDependency.Package, f.FoundDependency.Version, *f.VulnerabilityIdentifier, f.Status))
	}
	slices.Sort(out)
	return out
}

func wants(t testing.TB, what string, got []string, want ...string) {
	t.Helper()
	if !slices.Equal(got, want) {
		t.Errorf("%s: %q, want %q", what, got, want)
	}
}

// TestFindingsUpdateAfterAdvisoryChanges checks the whole life of findings of advisories.
func TestFindingsUpdateAfterAdvisoryChanges(t *testing.T) {
	each(t, func(t *testing.T, s *site) {
		jinja := record{id: "PYSEC-1", aliases: []string{"CVE-2019-10906"}, ecosystem: "PyPI", name: "Jinja2", fixed: "2.10.1", severity: "HIGH"}
		lodash := record{id: "GHSA-1", aliases: []string{"CVE-2021-23337"}, name: "lodash", fixed: "4.17.21", severity: "CRITICAL"}
		s.publish(t, jinja)
		s.inventory(t, "main", "4.17.19")
		wants(t, "at the upload", s.supply(t, ""), "1 jinja2@2.10 CVE-2019-10906 open")

		other := s.another(t)
		s.publish(t, lodash)
		wants(t, "a new advisory, without a scan", s.supply(t, ""), "1 jinja2@2.10 CVE-2019-10906 open", "2 lodash@4.17.19 CVE-2021-23337 open")
		wants(t, "on another server", other.supply(t, "severities=critical"), "2 lodash@4.17.19 CVE-2021-23337 open")

		post[api.TriageResponse](t, s, "triage", object{"issue_type": "sca", "issue_ids": []int64{2}, "new_triage_state": "fixing"})
		s.inventory(t, "main", "4.17.20")
		wants(t, "another vulnerable version", s.supply(t, "status=fixing"), "2 lodash@4.17.20 CVE-2021-23337 fixing")
		s.inventory(t, "feature/x", "4.17.20")
		wants(t, "another ref", s.supply(t, "ref=feature/x&status=fixing"), "4 lodash@4.17.20 CVE-2021-23337 fixing")

		s.upload(t, "acme/shop", "main", "full", semgrepReport())
		wants(t, "a scan of code alone", s.supply(t, "ref=main"), "1 jinja2@2.10 CVE-2019-10906 open", "2 lodash@4.17.20 CVE-2021-23337 fixing")

		jinja.withdrawn = true
		s.publish(t, jinja)
		wants(t, "withdrawn", s.supply(t, "ref=main"), "2 lodash@4.17.20 CVE-2021-23337 fixing")
		s.inventory(t, "main", "4.17.21")
		wants(t, "upgraded", s.supply(t, "ref=main"), "2 lodash@4.17.20 CVE-2021-23337 fixed")
	})
}

// TestSupplyChainFiltersFindAdvisories checks the contract's filters on findings of advisories.
func TestSupplyChainFiltersFindAdvisories(t *testing.T) {
	each(t, func(t *testing.T, s *site) {
		s.inventory(t, "main", "4.17.20")
		s.publish(t, record{id: "GHSA-1", aliases: []string{"CVE-2021-23337"}, name: "lodash", fixed: "4.17.21", severity: "LOW"},
			record{id: "MAL-2024-1", name: "left-pad"}, record{id: "PYSEC-1", aliases: []string{"CVE-2019-10906"}, ecosystem: "PyPI", name: "jinja2", fixed: "2.11"})
		err := s.store.PutScores(t.Context(), func(put func(model.EPSSScore) error) error {
			return put(model.EPSSScore{CVE: "CVE-2021-23337", EPSS: model.EPSS{Score: 0.7, Percentile: 0.98}})
		})
		if err != nil {
			t.Fatal(err)
		}
		s.sweep(t)
		const (
			lodash  = "3 lodash@4.17.20 CVE-2021-23337 open"
			leftPad = "2 left-pad@1.3.0 MAL-2024-1 open"
			jinja   = "1 jinja2@2.10 CVE-2019-10906 open"
		)
		for query, want := range map[string][]string{
			"": {jinja, leftPad, lodash}, "severities=low": {lodash}, "severities=medium": {jinja}, "severities=critical": {leftPad},
			"exposures=always_reachable": {leftPad}, "exposures=unknown": {jinja, lodash}, "exposures=reachable": nil,
			"is_malicious=true": {leftPad}, "is_malicious=false": {jinja, lodash}, "transitivities=direct": {lodash}, "transitivities=transitive": {leftPad}, "repos=acme/shop": {jinja, leftPad, lodash}, "repos=acme/other": nil,
		} {
			wants(t, query, s.supply(t, query), want...)
		}
		done := post[api.TriageResponse](t, s, "triage", object{"issue_type": "sca", "epss_probability": []string{"high"}, "new_note": "look"})
		if !slices.Equal(done.TriagedIssues, []int64{3}) {
			t.Errorf("triaged by EPSS: %v", done.TriagedIssues)
		}
		f := get[api.ListFindingsResponse](t, s, "findings?issue_type=sca&severities=low").SCAFindings.Findings[0]
		fixes := []api.FixRecommendation{{Package: "lodash", Version: "4.17.21"}}
		weaknesses := []string{"CWE-79: Improper Neutralization of Input During Web Page Generation ('Cross-site Scripting')"}
		if !slices.Equal(f.FixRecommendations, fixes) || f.EPSSScore == nil || f.EPSSScore.Score != 0.7 || !slices.Equal(f.Rule.CWENames, weaknesses) ||
			f.Rule.Message != "Trouble with lodash\n\nLong words." || f.RuleName != "CVE-2021-23337" || f.Location.FilePath != "package-lock.json" ||
			*f.RuleMessage != "lodash 4.17.20 is affected by CVE-2021-23337: Trouble with lodash" || f.Reachability != "unknown" || f.FirstSeenScanID == 0 {
			t.Errorf("%+v", f)
		}
	})
}

// TestAdvisoryAndImpact reads advisories and their findings.
func TestAdvisoryAndImpact(t *testing.T) {
	each(t, func(t *testing.T, s *site) {
		s.inventory(t, "main", "4.17.20")
		s.inventory(t, "dev", "4.17.19")
		s.publish(t, record{id: "GHSA-1", aliases: []string{"CVE-2021-23337"}, name: "lodash", fixed: "4.17.21", severity: "HIGH"})
		err := s.store.PutExploited(t.Context(), []model.KEV{{CVE: "CVE-2021-23337", Added: storetest.Epoch, Ransomware: true, Action: "Update"}})
		if err != nil {
			t.Fatal(err)
		}
		a := get[api.AdvisoryResponse](t, s, "advisories/ghsa-1").Advisory
		if a.ID != "CVE-2021-23337" || !slices.Equal(a.Aliases, []string{"GHSA-1"}) || a.Severity != "high" || a.Exploited == nil || !a.Exploited.Ransomware ||
			len(a.Packages) != 1 || a.Packages[0].Affected != "all before 4.17.21" || !slices.Equal(a.Packages[0].Fixed, []string{"4.17.21"}) || a.Records[0].ID != "GHSA-1" {
			t.Errorf("%+v", a)
		}
		impact := func(query string) (out []string, cursor string) {
			page := get[api.ImpactResponse](t, s, "advisories/CVE-2021-23337/impact"+query)
			for _, i := range page.Impact {
				out = append(out, fmt.Sprint(i.Repository.Name, " ", i.Ref, " ", i.Lockfile, " ", i.Version, " ", i.FixRecommendations, " ", i.Status))
			}
			return out, page.Cursor
		}
		onDev := "acme/shop refs/heads/dev package-lock.json 4.17.19 [{lodash 4.17.21}] open"
		onMain := "acme/shop refs/heads/main package-lock.json 4.17.20 [{lodash 4.17.21}] open"
		all, _ := impact("")
		wants(t, "impact", all, onDev, onMain)
		first, cursor := impact("?limit=1")
		second, last := impact("?limit=1&cursor=" + cursor)
		wants(t, "pages", append(first, second...), onDev, onMain)
		if cursor == "" || last != "" {
			t.Errorf("cursors %q, then %q", cursor, last)
		}
		s.inventory(t, "main", "4.17.21")
		left, _ := impact("")
		wants(t, "after the upgrade", left, onDev)
		all, _ = impact("?all=true")
		wants(t, "all of it", all, onDev, "acme/shop refs/heads/main package-lock.json 4.17.20 [{lodash 4.17.21}] fixed")
		if got := s.send(t, request{method: "GET", path: "advisories/CVE-1999-1"}); got.status != 404 {
			t.Errorf("an unknown advisory: %d %s", got.status, got.body)
		}
	})
}

// TestGoStdlibHasAdvisories checks that Go's standard library has findings of advisories, although
// no list of modules contains it. Another scanner's list of the modules in go.mod does not remove
// them.
func TestGoStdlibHasAdvisories(t *testing.T) {
	each(t, func(t *testing.T, s *site) {
		s.publish(t, record{id: "GO-2024-2609", aliases: []string{"CVE-2024-24784"}, ecosystem: "Go", name: "stdlib", fixed: "1.21.8", severity: "HIGH"})
		s.uploadFiles(t, "acme/shop", "main", file{"go.mod", []byte("module a.example/b\n\ngo 1.20\n\ntoolchain go1.21.7\n\nrequire x.example/y v1.2.3\n")})
		wants(t, "vulnerable", s.supply(t, ""), "1 stdlib@1.21.7 CVE-2024-24784 open")
		s.uploadFiles(t, "acme/shop", "main", file{"bom.json", []byte(`{"bomFormat":"CycloneDX","specVersion":"1.6","version":1,"components":[{"type":"library",
			"name":"x.example/y","version":"v1.2.3","purl":"pkg:golang/x.example/y@v1.2.3","properties":[{"name":"syft:location:0:path","value":"/go.mod"}]}]}`)})
		wants(t, "after another's list of the modules", s.supply(t, ""), "1 stdlib@1.21.7 CVE-2024-24784 open")
		s.uploadFiles(t, "acme/shop", "main", file{"go.mod", []byte("module a.example/b\n\ngo 1.22.1\n\nrequire x.example/y v1.2.3\n")})
		wants(t, "upgraded", s.supply(t, ""), "1 stdlib@1.21.7 CVE-2024-24784 fixed")
	})
}

func TestScannerFindingReplacesAdvisoryFinding(t *testing.T) {
	each(t, func(t *testing.T, s *site) {
		s.publish(t, record{id: "GHSA-1", aliases: []string{"CVE-2021-23337"}, name: "lodash", fixed: "4.17.21", severity: "HIGH"})
		s.inventory(t, "main", "4.17.20")
		post[api.TriageResponse](t, s, "triage", object{"issue_type": "sca", "issue_ids": []int64{1}, "new_triage_state": "fixing"})
		found := match{
			rule: scanRule{name: "ssc-1", kind: "sca", severity: "ERROR", confidence: "HIGH", vulnerable: "CVE-2021-23337"}, path: "src/a.js", line: 3, fingerprint: fmt.Sprintf("%032x_0", 1),
			dependency: &dependency{ecosystem: "npm", name: "lodash", version: "4.17.20", transitivity: "direct", lockfile: "package-lock.json", reachable: true},
		}
		s.upload(t, "acme/shop", "main", "full", semgrepReport(found))
		wants(t, "the scanner reports it", s.supply(t, ""), "2 lodash@4.17.20 CVE-2021-23337 fixing")
		wants(t, "as reachable", s.supply(t, "exposures=reachable"), "2 lodash@4.17.20 CVE-2021-23337 fixing")
		s.upload(t, "acme/shop", "main", "full", semgrepReport())
		wants(t, "the scanner no longer does", s.supply(t, ""), "1 lodash@4.17.20 CVE-2021-23337 fixing", "2 lodash@4.17.20 CVE-2021-23337 fixed")
	})
}

// TestAdjacentIntervalsOfRange publishes a range with adjacent intervals in another order.
func TestAdjacentIntervalsOfRange(t *testing.T) {
	s := newSite(t, "sqlite")
	text := `{"id":"PYSEC-2022-42972","modified":"2024-01-01T00:00:00Z","affected":[{"package":{"ecosystem":"PyPI","name":"apache-iotdb"},
		"ranges":[{"type":"ECOSYSTEM","events":[{"introduced":"0.13.0"},{"fixed":"0.14.0"},{"introduced":"0.12.2"},{"fixed":"0.13.0"},{"introduced":"2.0"},{"fixed":"2.0.0"}]}]}]}`
	if _, err := advisory.Load(t.Context(), s.store, advisory.SingleFile("PYSEC-2022-42972.json", []byte(text)), nil); err != nil {
		t.Fatal(err)
	}
	s.publish(t)
	for version, want := range map[string]int{"0.12.1": 0, "0.12.2": 1, "0.13.0": 1, "0.13.2": 1, "0.14.0": 0, "2.0": 0, "3": 0} {
		s.uploadFiles(t, "acme/shop", "v"+version, file{"requirements.txt", []byte("apache-iotdb==" + version + "\n")})
		if got := s.supply(t, "ref=v"+version); len(got) != want {
			t.Errorf("%s: %q, want %d", version, got, want)
		}
	}
}
