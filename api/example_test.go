package api_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"

	"github.com/redoubt/redoubt/api"
)

// server returns a fake server for the examples.
func server() *httptest.Server {
	mux := http.NewServeMux()
	handle := func(pattern, body string) {
		mux.HandleFunc(pattern, func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, body) })
	}
	handle("GET /api/v1/deployments", `{"deployments":[{"id":1,"name":"Acme","slug":"acme","findings":{"url":""}}]}`)
	mux.HandleFunc("GET /api/v1/deployments/acme/findings", func(w http.ResponseWriter, r *http.Request) {
		findings := `{"id":7,"severity":"high","rule_name":"eval-detected","location":{"filePath":"src/app.py","line":10}},
			{"id":5,"severity":"high","rule_name":"sql-injection","location":{"filePath":"src/db.py","line":3}}`
		if r.URL.Query().Get("page") != "0" && r.URL.Query().Has("page") { // past the end
			findings = ""
		}
		fmt.Fprintf(w, `{"sastFindings":{"findings":[%s]},"scaFindings":{"findings":[]}}`, findings)
	})
	handle("POST /api/v1/deployments/acme/triage", `{"num_triaged":1,"triaged_issues":[7]}`)
	mux.HandleFunc("GET /api/v1/deployments/acme/findings/4711", func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(http.StatusNotFound)
		fmt.Fprint(w, `{"status":404,"code":"not_found","detail":"Not found, or not visible to this token."}`)
	})
	return httptest.NewServer(mux)
}

// A token belongs to one deployment; all other calls need its slug. Iterators read all pages.
func Example() {
	s := server()
	defer s.Close()
	ctx, client := context.Background(), api.New(s.URL, "rdt_1_…")

	deployments, err := client.ListDeployments(ctx)
	if err != nil {
		fmt.Println(err)
		return
	}
	slug := deployments.Deployments[0].Slug
	for f, err := range client.Findings(ctx, slug, api.FindingsQuery{Status: []string{"open"}, Severities: []string{"high"}}) {
		if err != nil {
			fmt.Println(err)
			return
		}
		fmt.Printf("%d %s at %s:%d\n", f.ID, f.RuleName, f.Location.FilePath, f.Location.Line)
	}
	// Output:
	// 7 eval-detected at src/app.py:10
	// 5 sql-injection at src/db.py:3
}

// With a key, a call whose response was lost can be repeated and is done once.
func ExampleWithKey() {
	s := server()
	defer s.Close()
	client := api.New(s.URL, "rdt_1_…")

	done, err := client.TriageFindings(context.Background(), "acme", api.TriageRequest{
		IssueType: "sast", IssueIDs: []api.Int{7}, NewTriageState: "ignored", NewTriageReason: "false_positive", NewNote: "Only in tests.",
	}, api.WithKey("5f1d0c2e-9a7b-44c0-8d3e-6f2140c61b2a"))
	fmt.Println(done.NumTriaged, err)
	// Output: 1 <nil>
}

// An error response is a *Problem, with a code for programs and a text for people. Responses with a
// retry delay (429, 503) have been retried before.
func ExampleProblem() {
	s := server()
	defer s.Close()
	client := api.New(s.URL, "rdt_1_…")

	_, err := client.GetFinding(context.Background(), "acme", 4711)
	var p *api.Problem
	if errors.As(err, &p) && p.Code == api.CodeNotFound {
		fmt.Println(p.Status, p.Detail)
	}
	// Output: 404 Not found, or not visible to this token.
}
