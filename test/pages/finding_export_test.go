package pages

import (
	"encoding/csv"
	"encoding/json"
	"html"
	"net/http"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

var exportLink = regexp.MustCompile(`<a href="([^"]*/export\?(?:[^"]*&amp;)?format=(\w+)[^"]*)" download>`)

// TestExportMatchesFilteredList checks that an export contains the findings that the list selects, for all
// filters.
func TestExportMatchesFilteredList(t *testing.T) {
	s := demoSite(t)
	for _, address := range []string{
		"/findings", "/findings?status=any&branch=every", "/findings?severities=high&-repos=acme/payments&sort=oldest", "/findings?q=eval&page=1",
		"/supply-chain/vulnerabilities", "/supply-chain/vulnerabilities?status=any", "/secrets?status=any&group=rule",
	} {
		page := s.page(address)
		links := exportLink.FindAllStringSubmatch(page, -1)
		if len(links) != 4 {
			t.Errorf("%s has %d links to exports", address, len(links))
			continue
		}
		want := strings.ReplaceAll(total(t, page), ",", "")
		for _, link := range links {
			a := s.get(strings.TrimPrefix(html.UnescapeString(link[1]), "/orgs/acme"))
			if a.StatusCode != http.StatusOK || !strings.HasPrefix(a.Header.Get("Content-Disposition"), "attachment; ") {
				t.Fatalf("%s returns %d %v", link[1], a.StatusCode, a.Header)
			}
			if got := exported(t, link[2], a.text); got >= 0 && strconv.Itoa(got) != want {
				t.Errorf("%s shows %s, its export as %s has %d", address, want, link[2], got)
			}
		}
	}
	if a := s.get("/findings/export?format=pdf"); a.StatusCode != http.StatusBadRequest {
		t.Errorf("an unknown format returns %d", a.StatusCode)
	}
}

// exported returns the number of findings in an export, or -1 for formats that this test does not
// parse.
func exported(t *testing.T, format, body string) int {
	t.Helper()
	switch format {
	case "csv":
		rows, err := csv.NewReader(strings.NewReader(body)).ReadAll()
		if err != nil {
			t.Fatal(err)
		}
		return len(rows) - 1
	case "jsonl":
		return strings.Count(body, "\n")
	case "sarif":
		var log struct{ Runs []struct{ Results []any } }
		if err := json.Unmarshal([]byte(body), &log); err != nil {
			t.Fatal(err)
		}
		n := 0
		for _, run := range log.Runs {
			n += len(run.Results)
		}
		return n
	}
	return -1
}
