package pages

import (
	"bytes"
	"html"
	"mime/multipart"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/redoubt/redoubt/internal/model"
)

const ownRule = "rules:\n- id: own\n  message: Do **not** do it.\n  severity: ERROR\n  languages: [go]\n  pattern: $X.first\n"

// submitFiles submits a form with files.
func (s *site) submitFiles(path string, fields, files map[string]string) answer {
	s.t.Helper()
	var body bytes.Buffer
	form := multipart.NewWriter(&body)
	for name, value := range fields {
		if err := form.WriteField(name, value); err != nil {
			s.t.Fatal(err)
		}
	}
	for name, text := range files {
		part, err := form.CreateFormFile("files", name)
		if err == nil {
			_, err = part.Write([]byte(text))
		}
		if err != nil {
			s.t.Fatal(err)
		}
	}
	if err := form.Close(); err != nil {
		s.t.Fatal(err)
	}
	r := httptest.NewRequestWithContext(s.t.Context(), http.MethodPost, "/orgs/"+s.org.Slug+path, &body)
	r.Header.Set("Content-Type", form.FormDataContentType())
	return s.send(r)
}

// TestRulesAreAddedShownAndRemoved adds rules with the form, reads their current and earlier texts,
// and removes one.
func TestRulesAreAddedShownAndRemoved(t *testing.T) {
	s := newSite(t)
	s.as(model.RoleAdmin)
	policy := "/policies/" + policyOf(s, "code")
	containsAll(t, s.page(policy), policy+"/add-rules")
	containsAll(t, s.page(policy+"/add-rules"), `enctype="multipart/form-data"`)
	a := s.submitFiles(policy+"/add-rules", map[string]string{"mode": "block"}, map[string]string{"own.yaml": ownRule})
	if a.StatusCode != http.StatusSeeOther {
		t.Fatalf("%s\n%s", a.Status, a.text)
	}
	added := s.page(strings.TrimPrefix(a.Header.Get("Location"), "/orgs/acme"))
	shows(t, added, "[data-say=rules-added][data-count='1']")
	containsAll(t, added, ">own</a>")
	rule := policy + "/rules/" + first(s, policy+"?q=own", policy+"/rules/")
	if a := s.submitFiles(policy+"/add-rules", map[string]string{"text": strings.Replace(ownRule, "first", "second", 1)}, nil); a.StatusCode != http.StatusSeeOther {
		t.Fatalf("%s\n%s", a.Status, a.text)
	}
	shown := func(page string) string { return html.UnescapeString(tags.ReplaceAllString(page, "")) }
	page := s.page(rule)
	containsAll(t, page, "<strong>not</strong>", "?version=1")
	shows(t, page, ".part[data-mode=block]", "[data-say=unchecked]", "h2[data-version='2']")
	containsAll(t, shown(page), "pattern: $X.second")
	containsAll(t, shown(s.page(rule+"?version=1")), "pattern: $X.first")
	if a := s.get(rule + "?version=3"); a.StatusCode != http.StatusNotFound {
		t.Errorf("an unknown version: %s", a.Status)
	}
	other := "/policies/" + policyOf(s, "secrets") + "/rules/" + rule[strings.LastIndex(rule, "/")+1:]
	if a := s.get(other); a.StatusCode != http.StatusNotFound {
		t.Errorf("the rule of another policy: %s", a.Status)
	}

	s.as(model.RoleTriager)
	if page := s.page(rule); strings.Contains(page, "/remove") {
		t.Error("the remove button is shown to a triager")
	}
	for _, a := range []answer{s.post(rule+"/remove", nil), s.submitFiles(policy+"/add-rules", nil, map[string]string{"a.yaml": ownRule}), s.get(policy + "/add-rules")} {
		if a.StatusCode != http.StatusForbidden {
			t.Errorf("a triager: %s", a.Status)
		}
	}
	s.as(model.RoleAdmin)
	shows(t, s.follow(rule+"/remove", nil), "[data-say=rule-removed]")
	if a := s.get(rule); a.StatusCode != http.StatusNotFound {
		t.Errorf("a removed rule: %s", a.Status)
	}
}

// TestRuleConflictErrorNamesPolicy checks the error about an id that another product uses: it names the
// policy, and the input is preserved.
func TestRuleConflictErrorNamesPolicy(t *testing.T) {
	s := newSite(t)
	s.as(model.RoleAdmin)
	typed := strings.Replace(ownRule, "  pattern:", "  metadata: {product: secrets, note: a-note}\n  pattern:", 1)
	if a := s.submitFiles("/policies/"+policyOf(s, "code")+"/add-rules", map[string]string{"text": ownRule}, nil); a.StatusCode != http.StatusSeeOther {
		t.Fatalf("%s\n%s", a.Status, a.text)
	}
	secrets := "/policies/" + policyOf(s, "secrets")
	fine := strings.ReplaceAll(typed, "own", "fine")
	a := s.submitFiles(secrets+"/add-rules", map[string]string{"mode": "comment", "text": fine + strings.TrimPrefix(typed, "rules:\n")}, nil)
	if a.StatusCode != http.StatusConflict {
		t.Errorf("a clash: %s", a.Status)
	}
	containsAll(t, textAt(t, a.text, "main [role=alert] li"), " code ", " own ")
	containsAll(t, a.text, "note: a-note", `value="comment" selected`)
	if page := s.page(secrets); strings.Contains(page, ">fine</a>") {
		t.Error("the rule before it was stored")
	}
}

// TestAllRuleErrorsAreReported checks that files with faults are rejected completely, with each
// fault and its file, and that the input is preserved.
func TestAllRuleErrorsAreReported(t *testing.T) {
	s := newSite(t)
	s.as(model.RoleAdmin)
	policy := "/policies/" + policyOf(s, "code")
	for name, c := range map[string]struct {
		fields, files map[string]string
		status        int
		want          []string
	}{
		"several": {
			map[string]string{"text": "rules:\n- id: typed-one\n"},
			map[string]string{"a.yaml": ownRule, "b.yaml": "rules: [", "c.yaml": "rules: [{id: 'x y', severity: LOUD}]"},
			http.StatusBadRequest,
			[]string{"b.yaml: rules", "c.yaml: rules[0].id", "c.yaml: rules[0].severity", "c.yaml: rules[0].message", "typed: rules[0].message", "- id: typed-one", `data-say="files-again"`},
		},
		"nothing":    {nil, nil, http.StatusBadRequest, []string{"<li><code>files</code>"}},
		"a bad mode": {map[string]string{"mode": "explode", "text": ownRule}, nil, http.StatusBadRequest, []string{"<li><code>mode</code>", "Do **not** do it."}},
		"too large":  {nil, map[string]string{"a.yaml": strings.Repeat("#", 4<<20+1)}, http.StatusRequestEntityTooLarge, []string{"<li><code>files</code>"}},
	} {
		a := s.submitFiles(policy+"/add-rules", c.fields, c.files)
		if a.StatusCode != c.status {
			t.Errorf("%s: %s", name, a.Status)
		}
		shows(t, a.text, "main [role=alert]")
		containsAll(t, html.UnescapeString(a.text), c.want...)
	}
	if a := s.post(policy+"/add-rules", nil); a.StatusCode != http.StatusBadRequest {
		t.Errorf("a form without files: %s", a.Status)
	}
	if strings.Contains(s.page(policy), ">own</a>") {
		t.Error("a rule of an invalid form is stored")
	}
}
