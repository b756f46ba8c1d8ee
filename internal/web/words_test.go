package web

import (
	"html"
	"net/url"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/redoubt/redoubt/internal/model"
)

// formerWords are what the pages said before they spoke as the trade does. None
// comes back.
var formerWords = regexp.MustCompile(`(?i)with the most to lose|each finding once, on|decide about|give it up|accept this here|\bnot told\b|as it is\b|\bno decision\b|note for those|\bno time\b|` +
	`take away|taken back|9 of 10 within|through another|\bmake it\b|made lately|before it holds|findings show|they hold for what|left the scope|\bsilenced\b|what it did not look at|` +
	`it may:|only read there|given to scanners|not served|asked for by the project|\buser:|could do nothing|what others made`)

var tags = regexp.MustCompile(`<(?:[^>"']|"[^"]*"|'[^']*')*>`)

// Every page that there is speaks the trade's words, in what is to be seen.
func TestPagesSpeakTheTradesWords(t *testing.T) {
	s := demoSite(t)
	s.as(model.RoleAdmin)
	s.crew()
	id := firstFinding(s)
	form := formOf(s.page("/findings/" + id))
	form.Set("state", "ignored")
	form.Set("reason", "no_time")
	form.Set("assignee", model.AssigneeMe)
	done := s.follow("/triage", form)
	undo := formOf(done)
	pages := append(pagesOf(s), "/findings/"+id, "/findings?statuses=ignored&triage_reasons=no_time", "/findings?statuses=any&finding="+id)
	said := map[string]string{"the preview": s.previewOf(""), "what was decided": done, "what was undone": s.follow("/triage/undo", undo)}
	for _, page := range pages {
		said[page] = s.page(page)
	}
	for page, text := range said {
		text = html.UnescapeString(tags.ReplaceAllString(text, " "))
		if word := formerWords.FindStringIndex(text); word != nil {
			t.Errorf("%s says %q", page, text[max(word[0]-60, 0):min(word[1]+30, len(text))])
		}
	}
	shows(t, said["/findings/"+id], ".history [data-did='ignored:no_time']", ".history [data-did=undone]", "button[name=state][value=note]")
	shows(t, said["what was undone"], did(1, "undone"))
	shows(t, said["/findings?statuses=ignored&triage_reasons=no_time"], "#facet-triage_reasons a.take[aria-current=true]")
}

// A facet with more values than it shows lists all of them when asked, each with
// as many findings as the API counts, and keeps them in sight while one is chosen.
func TestAllValuesOfAFacet(t *testing.T) {
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
		if got := s.view().Count(model.FindingFilter{IssueType: model.SAST, Dedup: true, Statuses: []model.Status{model.StatusOpen}, Rules: []string{rule}}); strconv.Itoa(got) != n {
			t.Errorf("%s has %s findings, by the API %d", rule, n, got)
		}
		if chosen, _ := facet(s.page(wide + "&rules=" + url.QueryEscape(rule))); len(chosen) != len(all) {
			t.Errorf("with %s chosen %d rules are listed", rule, len(chosen))
		}
		break
	}
	says(t, text, "data-fewer", "data-narrow")
}

// What a preview says is what the decision then does: so many findings, each
// once, and so many occurrences of them on all branches.
func TestThePreviewSaysWhatTheDecisionDoes(t *testing.T) {
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
			return s.view().Count(model.FindingFilter{IssueType: model.SAST, Statuses: []model.Status{model.StatusIgnored}, TriageReasons: []model.TriageReason{model.NoTime}})
		}
		before := ignored()
		form := formOf(preview)
		form.Set("state", "ignored")
		form.Set("reason", "no_time")
		n, err := strconv.Atoi(findings)
		if err != nil {
			t.Fatal(err)
		}
		shows(t, s.follow("/triage", form), did(n, "ignored")) // as the trail has it
		if severities != n {
			t.Errorf("%s: the preview says %s findings, of severities %d", query, findings, severities)
		}
		if got := strconv.Itoa(ignored() - before); got != occurrences {
			t.Errorf("%s: the preview says %s occurrences, %s are ignored now", query, occurrences, got)
		}
	}
}
