package pages

import (
	"html"
	"net/url"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/redoubt/redoubt/internal/model"
)

// tags matches the tags of a page.
var tags = regexp.MustCompile(`<(?:[^>"']|"[^"]*"|'[^']*')*>`)

// TestHistoryShowsTriageAndUndo checks that the history contains a decision with its reason, and
// its undo.
func TestHistoryShowsTriageAndUndo(t *testing.T) {
	s := demoSite(t)
	s.as(model.RoleAdmin)
	s.crew()
	id := firstFinding(s)
	form := formOf(s.page("/findings/" + id))
	form.Set("state", "ignored")
	form.Set("reason", "no_time")
	form.Set("assignee", model.AssigneeMe)
	undo := formOf(s.follow("/triage", form))
	shows(t, s.follow("/triage/undo", undo), did(1, "undone"))
	shows(t, s.page("/findings/"+id), ".history [data-did='ignored:no_time']", ".history [data-did=undone]",
		"button[name=state][value=note]")
	shows(t, s.page("/findings?statuses=ignored&triage_reasons=no_time"), "#facet-triage_reasons a.take[aria-current=true]")
}

// TestFacetListsAllValues checks that a facet can list all its values with the counts of the API. The
// list stays open while a value is selected.
func TestFacetListsAllValues(t *testing.T) {
	s := demoSite(t)
	facet := func(page string) (values map[string]string, text string) {
		_, text, _ = strings.Cut(page, `id="facet-rules"`)
		text, _, _ = strings.Cut(text, "</details>")
		values = map[string]string{}
		for _, m := range regexp.MustCompile(`title="([^"]+)"(?: aria-current="true")?><span class="mid">.*?<span class="n">(\d+)</span>`).FindAllStringSubmatch(strings.ReplaceAll(text, "\n", ""), -1) {
			values[html.UnescapeString(m[1])] = m[2]
		}
		return values, text
	}
	few, text := facet(s.page("/findings"))
	more := regexp.MustCompile(`href="/orgs/acme([^"]+)#facet-rules" data-more="(\d+)"`).FindStringSubmatch(text)
	if len(few) != 8 || more == nil {
		t.Fatalf("%d rules and %v", len(few), more)
	}
	wide := html.UnescapeString(more[1])
	all, text := facet(s.page(wide))
	if strconv.Itoa(len(all)-len(few)) != more[2] || strings.Contains(text, "data-more") {
		t.Errorf("%d rules are listed, and there were %s more than %d", len(all), more[2], len(few))
	}
	for rule, n := range all {
		if got := s.View().Count(model.FindingFilter{IssueType: model.SAST, Dedup: true, Statuses: []model.Status{model.StatusOpen}, Rules: []string{rule}}); strconv.Itoa(got) != n {
			t.Errorf("%s has %s findings, by the API %d", rule, n, got)
		}
		if chosen, _ := facet(s.page(wide + "&rules=" + url.QueryEscape(rule))); len(chosen) != len(all) {
			t.Errorf("with %s selected %d rules are listed", rule, len(chosen))
		}
		break
	}
	containsAll(t, text, "data-fewer", "data-narrow")
}

// TestPreviewMatchesTriage checks that the counts of findings and of occurrences in a
// preview equal those of the decision.
func TestPreviewMatchesTriage(t *testing.T) {
	for _, query := range []string{"repos=acme%2Fpayments", "repos=acme%2Fpayments&branch=every", "repos=acme%2Fpayments&ref=release%2F1.3"} {
		s := demoSite(t)
		preview := s.previewOf(query)
		findings, occurrences := selected(t, preview), textAt(t, preview, "[data-touched]")
		severities := 0
		for _, m := range previewSeverity.FindAllStringSubmatch(preview, -1) {
			n, _ := strconv.Atoi(m[2])
			severities += n
		}
		ignored := func() int {
			return s.View().Count(model.FindingFilter{IssueType: model.SAST, Statuses: []model.Status{model.StatusIgnored}, TriageReasons: []model.TriageReason{model.NoTime}})
		}
		before := ignored()
		form := formOf(preview)
		form.Set("state", "ignored")
		form.Set("reason", "no_time")
		n, err := strconv.Atoi(findings)
		if err != nil {
			t.Fatal(err)
		}
		shows(t, s.follow("/triage", form), did(n, "ignored")) // count of the triage trail
		if severities != n {
			t.Errorf("%s: the preview shows %s findings, of severities %d", query, findings, severities)
		}
		if got := strconv.Itoa(ignored() - before); got != occurrences {
			t.Errorf("%s: the preview shows %s occurrences, %s are ignored now", query, occurrences, got)
		}
	}
}
