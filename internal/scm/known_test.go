package scm_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"path"
	"strings"
	"testing"

	"github.com/redoubt/redoubt/internal/model"
	"github.com/redoubt/redoubt/internal/scm"
)

// TestHostsConditionalRequests checks that requests contain the ETag of the cached response of the
// same credential.
func TestHostsConditionalRequests(t *testing.T) {
	tag, title := `"1"`, "first"
	var answers []string
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("If-None-Match") == tag {
			answers = append(answers, "unchanged")
			w.WriteHeader(http.StatusNotModified)
			return
		}
		answers = append(answers, "told")
		w.Header().Set("ETag", tag)
		fmt.Fprintf(w, `[{"number":9,"title":%q,"head":{"sha":%q},"base":{"repo":{"id":3}}}]`, title, head)
	}))
	t.Cleanup(s.Close)
	c := config(loopback)
	c.Known = scm.NewKnown()
	titles := func(secret string) string {
		t.Helper()
		h, err := c.Open(model.Connection{Kind: model.HostGitHub, BaseURL: s.URL}, model.HostCredential{Kind: model.CredentialToken, Secret: secret})
		if err != nil {
			t.Fatal(err)
		}
		list, err := h.ChangeRequests(t.Context(), model.Repository{HostID: "3", FullName: "acme/payments"})
		if err != nil || len(list) != 1 {
			t.Fatalf("%+v, %v", list, err)
		}
		return list[0].Title
	}
	equal(t, "at first", nil, titles("a"), "first")
	equal(t, "again", nil, titles("a"), "first")
	equal(t, "another user", nil, titles("b"), "first")
	tag, title = `"2"`, "second"
	equal(t, "once it changed", nil, titles("a"), "second")
	equal(t, "how it was answered", nil, strings.Join(answers, " "), "told unchanged told told")
}

// TestNewListPageIsRead checks that a new page of a list is read. GitHub announces it only
// in a header and reports the page before it as unchanged.
func TestNewListPageIsRead(t *testing.T) {
	const page = 50
	requests := page
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		first, size := 1, min(requests, page)
		if r.URL.Query().Get("page") == "2" {
			first, size = page+1, requests-page
		} else if requests > page {
			w.Header().Set("Link", fmt.Sprintf(`<http://%s%s?page=2>; rel="next"`, r.Host, r.URL.Path))
		}
		tag := fmt.Sprintf(`"%d %d"`, first, size) // of the body, without the headers
		if w.Header().Set("ETag", tag); r.Header.Get("If-None-Match") == tag {
			w.WriteHeader(http.StatusNotModified)
			return
		}
		var list []string
		for i := range size {
			list = append(list, fmt.Sprintf(`{"number":%d,"head":{"sha":%q},"base":{"repo":{"id":3}}}`, first+i, head))
		}
		fmt.Fprintf(w, "[%s]", strings.Join(list, ","))
	}))
	t.Cleanup(s.Close)
	c := config(loopback)
	c.Known = scm.NewKnown()
	for _, requests = range []int{page, page + 1, page + 2, page, page - 1, page, page + 1} {
		h, err := c.Open(model.Connection{Kind: model.HostGitHub, BaseURL: s.URL}, model.HostCredential{Kind: model.CredentialToken, Secret: "t"})
		if err != nil {
			t.Fatal(err)
		}
		list, err := h.ChangeRequests(t.Context(), model.Repository{HostID: "3", FullName: "acme/payments"})
		equal(t, fmt.Sprint("change requests, of ", requests), err, len(list), requests)
	}
}

// TestLargeConnectionEvictsOwnResponses checks that a connection that fills the cache replaces
// its own oldest responses.
func TestLargeConnectionEvictsOwnResponses(t *testing.T) {
	answers := map[string]string{}
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		name := strings.TrimPrefix(r.Header.Get("Authorization"), "Bearer ") + path.Base(r.URL.Path)
		if answers[name] = "told"; r.Header.Get("If-None-Match") != "" {
			answers[name] = "unchanged"
			w.WriteHeader(http.StatusNotModified)
			return
		}
		w.Header().Set("ETag", `"1"`)
		fmt.Fprintf(w, `{"number":%s,"head":{"sha":%q},"base":{"repo":{"id":3}},"body":%q}`, path.Base(r.URL.Path), head, strings.Repeat("x", 400<<10))
	}))
	t.Cleanup(s.Close)
	c := config(loopback)
	c.Known = scm.NewKnown()
	request := func(who string, number int64) string {
		t.Helper()
		h, err := c.Open(model.Connection{Kind: model.HostGitHub, BaseURL: s.URL}, model.HostCredential{Kind: model.CredentialToken, Secret: who})
		if err == nil {
			_, err = h.ChangeRequest(t.Context(), model.Repository{HostID: "3", FullName: "acme/payments"}, number)
		}
		if err != nil {
			t.Fatal(err)
		}
		return answers[who+fmt.Sprint(number)]
	}
	const most = 16 << 20 / (400 << 10)
	for n := range int64(5) {
		request("small", n+1)
	}
	for n := range int64(3 * most) {
		request("large", n+1)
	}
	for n := range int64(5) {
		equal(t, fmt.Sprint("of the small one ", n+1), nil, request("small", n+1), "unchanged")
	}
	equal(t, "the large one's newest", nil, request("large", 3*most), "unchanged")
	equal(t, "its oldest that fits beside the small one", nil, request("large", 2*most+7), "unchanged")
	equal(t, "one that made room", nil, request("large", 2*most-1), "told")
	for n := range int64(3 * most) {
		request("second", n+1)
	}
	equal(t, "of the small one in the end", nil, request("small", 1), "unchanged")
	equal(t, "the newest of the first that was large", nil, request("large", 2*most-1), "unchanged")
	equal(t, "its oldest then", nil, request("large", 2*most+8), "told")
}

// TestLongResponsesAreNotCached checks that long responses are returned in full but not cached.
func TestLongResponsesAreNotCached(t *testing.T) {
	requests := 0
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if requests++; r.Header.Get("If-None-Match") != "" {
			t.Error("a long answer was kept")
		}
		w.Header().Set("ETag", `"1"`)
		fmt.Fprintf(w, `{"id":7,"login":"bot","more":%q}`, strings.Repeat("x", 1<<20))
	}))
	t.Cleanup(s.Close)
	c := config(loopback)
	c.Known = scm.NewKnown()
	for range 2 {
		h, err := c.Open(model.Connection{Kind: model.HostGitea, BaseURL: s.URL}, model.HostCredential{Kind: model.CredentialToken, Secret: "t"})
		if err != nil {
			t.Fatal(err)
		}
		who, err := h.Who(t.Context())
		equal(t, "who", err, who, scm.Account{ID: "7", Login: "bot"})
	}
	equal(t, "how often it was asked", nil, requests, 2)
}
