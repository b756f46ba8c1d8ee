package main

import (
	"context"
	"fmt"
	"html"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/url"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/redoubt/redoubt/api"
	"github.com/redoubt/redoubt/internal/apihttp"
	"github.com/redoubt/redoubt/internal/auth"
	"github.com/redoubt/redoubt/internal/httpx"
	"github.com/redoubt/redoubt/internal/index"
	"github.com/redoubt/redoubt/internal/model"
	"github.com/redoubt/redoubt/internal/store"
	"github.com/redoubt/redoubt/internal/web"
)

// fixedViewer returns the same viewer for every request.
type fixedViewer struct{ is web.Viewer }

func (s fixedViewer) Viewer(*http.Request) (web.Viewer, error) { return s.is, nil }

// testProjectPagesMatchCounts compares the numbers on project pages with the counts of the Web
// API, by product, severity, branch and package.
func testProjectPagesMatchCounts(t *testing.T, d model.Deployment, st *store.Store) {
	log, keys := slog.New(slog.DiscardHandler), httpx.OneKey([]byte("0123456789abcdef0123456789abcdef"))
	findings := index.New(st, index.Options{BodyCache: 64 << 20, Clock: time.Now, Logger: log})
	srv, err := apihttp.New(apihttp.Config{
		Store: st, Index: findings, Clock: time.Now, Logger: log, Version: "test", SigningKeys: keys, SecretKey: []byte("0123456789abcdef"), ReadQuery: web.FindingQuery,
	})
	if err != nil {
		t.Fatal(err)
	}
	site := httptest.NewServer(srv.Handler())
	defer site.Close()
	pages, err := web.New(web.Config{
		Store: st, Index: findings, Clock: time.Now, Logger: log, Version: "test", SigningKeys: keys,
		Viewers: fixedViewer{web.Viewer{UserID: 1, User: "ada", Role: model.RoleViewer, Deployment: d}},
	})
	if err != nil {
		t.Fatal(err)
	}
	secret := auth.NewSecret(d.ID)
	var projects []model.Project
	err = st.Update(t.Context(), d.ID, model.Actor{Kind: "cli", Name: "test"}, func(ctx context.Context, tx *store.Tx) error {
		if projects, err = tx.Projects(ctx, store.ProjectQuery{}); err != nil {
			return err
		}
		_, err := tx.CreateToken(ctx, model.Token{Name: "projects", PublicID: secret.PublicID, Scopes: []model.Scope{model.ScopeWebAPI}}, secret.Hash)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	client, packages := api.New(site.URL, secret.Text), 0
	for _, p := range projects {
		w := httptest.NewRecorder()
		pages.Handler().ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), http.MethodGet, fmt.Sprintf("/orgs/%s/projects/%d", d.Slug, p.ID), nil))
		if w.Code != http.StatusOK {
			t.Fatalf("%s: %d %s", p.Name, w.Code, w.Body)
		}
		counts := projectPageCounts(t, w.Body.String())
		for _, issueType := range []string{"sast", "sca", "secrets"} {
			packages += comparedWithCounts(t, counts, func(group string) string { return p.Name + " " + issueType + " " + group }, issueType, func(ref string) *api.CountFindingsResponse {
				counted, err := client.CountFindings(t.Context(), d.Slug, api.CountFindingsQuery{
					FindingsSelection: api.FindingsSelection{IssueType: []string{issueType}, Repos: []string{p.Name}, Status: []string{"open"}, Dedup: true, Ref: ref},
					GroupBy:           []string{"severity", "ref", "dependency"},
				})
				if err != nil {
					t.Fatal(err)
				}
				return counted
			})
		}
	}
	if packages < 5 {
		t.Errorf("only %d packages were compared", packages)
	}
}

// comparedWithCounts compares the numbers of a product with the counts, on all branches or on one.
// It returns the number of compared packages.
func comparedWithCounts(t *testing.T, counts map[string]string, what func(string) string, issueType string, count func(ref string) *api.CountFindingsResponse) (packages int) {
	all := count("")
	if got := counts[issueType+" open "]; got != fmt.Sprint(all.Total) {
		t.Errorf("%s open, the API counts %d", what(got), all.Total)
	}
	for _, group := range all.Groups {
		for _, v := range group.Values {
			if group.GroupBy == "ref" { // with dedup, a branch has more findings than are counted for it
				v.Count = count(v.Value).Total
			}
			got, shown := counts[issueType+" "+group.GroupBy+" "+v.Value]
			switch worst := group.GroupBy == "dependency"; {
			case shown && got != fmt.Sprint(v.Count):
				t.Errorf("%s %s: the page says %s, the API counts %d", what(group.GroupBy), v.Value, got, v.Count)
			case shown && worst:
				packages++
			case !shown && !worst:
				t.Errorf("%s %s: the page says nothing, the API counts %d", what(group.GroupBy), v.Value, v.Count)
			}
		}
	}
	return packages
}

var (
	countedLink = regexp.MustCompile(`(?s)<a ([^>]*data-count="(\w+)"[^>]*)>(.*?)</a>`)
	hrefOf      = regexp.MustCompile(`href="([^"]+)"`)
	tags        = regexp.MustCompile(`<[^>]*>`)
	lastNumber  = regexp.MustCompile(`(\d+)\D*$`)
)

// projectPageCounts returns the numbers on a project's page, by product, group and value of their
// links.
func projectPageCounts(t *testing.T, page string) map[string]string {
	counts := map[string]string{}
	products := map[string]string{"findings": "sast", "vulnerabilities": "sca", "secrets": "secrets"}
	for _, m := range countedLink.FindAllStringSubmatch(page, -1) {
		to, err := url.Parse(html.UnescapeString(hrefOf.FindStringSubmatch(m[1])[1]))
		if err != nil {
			t.Fatal(err)
		}
		product, q, n := products[to.Path[strings.LastIndex(to.Path, "/")+1:]], to.Query(), lastNumber.FindStringSubmatch(tags.ReplaceAllString(m[3], " "))
		if product == "" || n == nil {
			t.Fatalf("%s opens no list, or has no number", m[0])
		}
		switch kind := m[2]; kind {
		case "open":
			counts[product+" open "] = n[1]
		case "low", "medium", "high", "critical":
			counts[product+" severity "+kind] = n[1]
		case "ref":
			counts[product+" ref "+q.Get("ref")] = n[1]
		case "package":
			counts[product+" dependency "+q.Get("dependencies")] = n[1]
		}
	}
	return counts
}
