package pages

import (
	"context"
	"encoding/json"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/redoubt/redoubt/internal/advisory"
	"github.com/redoubt/redoubt/internal/exceptions"
	"github.com/redoubt/redoubt/internal/ingest"
	"github.com/redoubt/redoubt/internal/model"
	"github.com/redoubt/redoubt/internal/report"
	"github.com/redoubt/redoubt/internal/store"
	"github.com/redoubt/redoubt/internal/testutil/storetest"
	"github.com/redoubt/redoubt/internal/version"
)

// object is a JSON object.
type object = map[string]any

// osv returns an OSV record of an npm package that is affected below a version.
func osv(id, name, fixed, severity string, aliases ...string) object {
	return object{
		"id": id, "modified": "2021-05-01T00:00:00Z", "published": "2021-02-15T00:00:00Z", "aliases": aliases,
		"summary": "Trouble with " + name, "details": "Long words about **" + name + "**.",
		"references":        []object{{"type": "WEB", "url": "https://example.org/" + id}},
		"database_specific": object{"severity": severity, "cwe_ids": []string{"CWE-1321"}},
		"affected": []object{{
			"package": object{"ecosystem": "npm", "name": name},
			"ranges":  []object{{"type": "SEMVER", "events": []object{{"introduced": "0"}, {"fixed": fixed}}}},
		}},
	}
}

// advise loads records as the command does, and matches the deployment.
func (s *site) advise(records ...object) {
	s.t.Helper()
	for _, r := range records {
		text, err := json.Marshal(r)
		if err != nil {
			s.t.Fatal(err)
		}
		if _, err := advisory.Load(s.t.Context(), s.store, advisory.SingleFile("record.json", text), nil); err != nil {
			s.t.Fatal(err)
		}
	}
	if _, err := s.store.PublishAdvisories(s.t.Context()); err != nil {
		s.t.Fatal(err)
	}
	if _, err := advisory.FillSummaries(s.t.Context(), s.store); err != nil {
		s.t.Fatal(err)
	}
	s.sweep()
}

func (s *site) sweep() {
	s.t.Helper()
	sweep := advisory.Sweep[*store.Tx]{
		Store: s.store, Library: advisory.NewLibrary(func(ecosystem string) advisory.Order { return version.OrderOf(ecosystem) }),
		Update: func(ctx context.Context, id int64, fn func(context.Context, *store.Tx) error) error {
			return s.store.Update(ctx, id, storetest.Actor, fn)
		},
		Follow: func(ctx context.Context, tx *store.Tx, advised []model.Advised, most int) ([]model.Followed, error) {
			return ingest.FollowAll(ctx, tx, exceptions.ForImport{Store: tx}, advised, tx.Now(), most)
		},
	}
	if _, err := sweep.Deployment(s.t.Context(), s.org.ID); err != nil {
		s.t.Fatal(err)
	}
}

// rematch matches the findings of all refs with the stored advisories, as an import does.
func (s *site) rematch() {
	s.t.Helper()
	library := advisory.NewLibrary(func(ecosystem string) advisory.Order { return version.OrderOf(ecosystem) })
	err := s.store.Update(s.t.Context(), s.org.ID, storetest.Actor, func(ctx context.Context, tx *store.Tx) error {
		refs, err := tx.HoldingRefs(ctx, nil)
		if err != nil {
			return err
		}
		for _, at := range refs {
			p, err := tx.Project(ctx, at.ProjectID)
			if err != nil {
				return err
			}
			advised, err := library.Match(ctx, tx, at.ProjectID, at.Ref, nil)
			if err != nil {
				return err
			}
			if _, err := ingest.Follow(ctx, tx, exceptions.ForImport{Store: tx}, p, advised, 0, tx.Now()); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		s.t.Fatal(err)
	}
}

// scores loads EPSS scores and the KEV catalog.
func (s *site) scores(epss map[string]float64, exploited ...model.KEV) {
	s.t.Helper()
	err := s.store.PutScores(s.t.Context(), func(put func(model.EPSSScore) error) error {
		for cve, score := range epss {
			if err := put(model.EPSSScore{CVE: cve, EPSS: model.EPSS{Score: score, Percentile: score}}); err != nil {
				return err
			}
		}
		return nil
	})
	if err == nil {
		err = s.store.PutExploited(s.t.Context(), exploited)
	}
	if err != nil {
		s.t.Fatal(err)
	}
	s.sweep()
}

// lockfile imports the only lockfile of a project's ref.
func (s *site) lockfile(project, ref, name, text string) {
	s.t.Helper()
	reading := &report.Reading{}
	if err := reading.Add(strings.NewReader(text), report.Options{Name: name, Key: []byte("a key of the tests")}); err != nil {
		s.t.Fatal(err)
	}
	s.upload(ingest.Upload{Project: model.Project{Name: project}, Ref: ref, Full: true, DeclaredFull: true, Whole: true}, reading)
}

const shopLock = `{"name":"shop","version":"1.0.0","lockfileVersion":3,"packages":{
	"":{"name":"shop","dependencies":{"express":"*","lodash":"*"}},
	"node_modules/express":{"version":"4.18.0","dependencies":{"body-parser":"1.20.0","qs":"6.5.0"}},
	"node_modules/body-parser":{"version":"1.20.0","dependencies":{"qs":"6.5.0"}},
	"node_modules/qs":{"version":"6.5.0"},
	"node_modules/lodash":{"version":"4.17.20"}}}`

// advisedSite returns a site with three vulnerabilities, two of which affect it: lodash, a direct
// dependency that is exploited, and qs, through express.
func advisedSite(t testing.TB) *site {
	t.Helper()
	s := newSite(t)
	s.lockfile("acme/shop", "main", "package-lock.json", shopLock)
	s.lockfile("acme/shop", "release/1", "package-lock.json", shopLock)
	s.advise(
		osv("GHSA-35jh-r3h4-6jhm", "lodash", "4.17.21", "HIGH", "CVE-2021-23337"),
		osv("GHSA-hrpp-h998-j3pp", "qs", "6.5.3", "MODERATE", "CVE-2022-24999"),
		osv("GHSA-0000-0000-0000", "left-pad", "1.3.1", "LOW"),
	)
	s.scores(map[string]float64{"CVE-2021-23337": 0.42, "CVE-2022-24999": 0.01},
		model.KEV{CVE: "CVE-2021-23337", Added: storetest.Epoch, Due: storetest.Epoch.AddDate(0, 0, 21), Ransomware: true, Action: "Apply updates per vendor instructions."})
	return s
}

// TestSearchFindsByEveryName checks that a search finds vulnerabilities by all names, in all
// fields, with exact counts.
func TestSearchFindsByEveryName(t *testing.T) {
	s := advisedSite(t)
	const page = "/supply-chain/vulnerabilities"
	for query, want := range map[string]string{
		"CVE-2021-23337": "1", "ghsa-35jh-r3h4-6jhm": "1", "cve-202": "2", "LODASH": "1", "package-lock": "2", "acme/sh": "2", "trouble+with+qs": "1", "cve-1999": "0",
	} {
		if got := total(t, s.page(page+"?q="+query)); got != want {
			t.Errorf("%s: %s findings, want %s", query, got, want)
		}
	}
	containsAll(t, s.page(page+"?q=ghsa-35jh-r3h4-6jhm"), "CVE-2021-23337", "lodash")
	demo := demoSite(t)
	for _, query := range []string{"sql", "src%2F"} {
		if got := total(t, demo.page("/findings?status=any&q="+query)); got == "0" {
			t.Errorf("%s returns no code findings", query)
		}
	}
	preview := s.post("/triage/preview", map[string][]string{"type": {"sca"}, "query": {"q=ghsa-35jh-r3h4-6jhm"}, "all": {"1"}})
	shows(t, preview.text, "input[name=type][value=sca]")
	if got := textAt(t, preview.text, "[data-selected]"); got != "1" {
		t.Errorf("%s are selected, want 1", got)
	}
}

// TestUpdateNoticeOfSearchedList checks that a page of one advisory, or of an alias, counts only changes
// of its own findings.
func TestUpdateNoticeOfSearchedList(t *testing.T) {
	s := advisedSite(t)
	for i, query := range []string{"?advisory=CVE-1999-0001", "?q=ghsa-35jh-r3h4-6jhm", "?advisory=CVE-2021-23337"} {
		pollAddress := pollURL(t, s.page("/supply-chain/vulnerabilities"+query))
		s.clock.Advance(time.Minute)
		u := branchReport(s, "main", true, strings.Repeat("x", i+1))
		u.Commit = strings.Repeat("c", i+1)
		s.build(u)
		if a := s.poll(pollAddress); document(t, a.text).Find("#news [data-new]").Length() > 0 || a.Header.Get("HX-Refresh") != "" {
			t.Errorf("%s shows an update notice of another list: %s %s", query, a.Status, a.text)
		}
	}
}

// TestExploitedFindingsAreShownAndCounted checks the filter and the counts of exploited
// vulnerabilities when the catalog adds and removes entries.
func TestExploitedFindingsAreShownAndCounted(t *testing.T) {
	s := advisedSite(t)
	const page = "/supply-chain/vulnerabilities"
	const exploited = "[data-row] [data-say=exploited]"
	list := s.page(page)
	shows(t, list, exploited, `a[href*="known_exploited=true"]`)
	containsAll(t, list, "4.17.21")
	containsAll(t, textAt(t, list, "[data-epss]"), "42")
	for query, want := range map[string]string{"known_exploited=true": "1", "known_exploited=false": "1"} {
		if got := total(t, s.page(page+"?"+query)); got != want {
			t.Errorf("%s: %s findings, want %s", query, got, want)
		}
	}
	if a := s.get(page + "?known_exploited=perhaps"); a.StatusCode != http.StatusBadRequest {
		t.Errorf("an invalid value returns %d", a.StatusCode)
	}
	s.scores(nil)
	if got := total(t, s.page(page+"?known_exploited=true")); got != "0" {
		t.Errorf("%s findings are exploited by an empty catalog", got)
	}
	hides(t, s.page(page), exploited)
}
