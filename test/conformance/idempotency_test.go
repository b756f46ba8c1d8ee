package conformance

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/redoubt/redoubt/api"
	"github.com/redoubt/redoubt/internal/apihttp"
	"github.com/redoubt/redoubt/internal/model"
	"github.com/redoubt/redoubt/internal/store"
	"github.com/redoubt/redoubt/internal/testutil/reporttest"
	"github.com/redoubt/redoubt/internal/testutil/storetest"
)

// keyedWrite is a write with an idempotency key, and another body that conflicts with the key.
type keyedWrite struct {
	request
	other any // nil if there is no body
}

func (k keyedWrite) with(key string) request {
	k.header = maps.Clone(k.header)
	if k.header == nil {
		k.header = map[string]string{}
	}
	k.header["Idempotency-Key"] = key
	return k.request
}

// keyedWrites returns every write by operation id, and an order in which they succeed.
func keyedWrites(t testing.TB, w *world, id int64) (ids []string, writes map[string]keyedWrite) {
	raw := map[string]string{"Content-Type": "application/octet-stream"}
	scan := all(t, w.api().Scans(t.Context(), w.deployment.Slug, api.SearchScansRequest{}))[0].ID
	snippet := object{"finding_id": 1, "path": "a.py", "line": 1, "first": 1, "lines": []string{"x"}}
	report := func(to int) []byte { return semgrepReport(w.matches(1, 0, to)...) }
	writes = map[string]keyedWrite{
		"triageFindings":    {request{method: "POST", path: "triage", body: object{"issue_type": "sast", "issue_ids": []int64{id}, "new_note": "once"}}, object{"issue_type": "sast", "issue_ids": []int64{id}, "new_note": "twice"}},
		"annotateFinding":   {request{method: "PATCH", path: "findings/" + itoa(id), body: object{"review_comments": []object{}, "external_ticket": object{"externalSlug": "T-1", "url": "https://t.example/1"}}}, object{"external_ticket": nil}},
		"importReports":     {request{method: "POST", path: "imports?project=acme/once&ref=main", body: report(4), header: raw}, report(5)},
		"putSnippets":       {request{method: "POST", path: "scans/" + scan + "/snippets", body: object{"snippets": []object{}}}, object{"snippets": []object{snippet}}},
		"createProject":     {request{method: "POST", path: "projects", body: object{"name": "acme/new"}}, object{"name": "acme/newer"}},
		"renameProject":     {request{method: "POST", path: "project-renames", body: object{"project": w.projectOnly(t, "acme/keyed"), "name": "acme/once-renamed"}}, object{"project": "acme/keyed", "name": "acme/twice-renamed"}},
		"mergeProject":      {request{method: "POST", path: "project-merges", body: object{"project": w.projectOnly(t, "acme/keyed-merge"), "into": "acme/payments"}}, object{"project": "acme/payments", "into": "acme/keyed-merge"}},
		"setTicketSettings": {request{method: "PUT", path: "ticket-settings", body: object{"issue_type": "Bug"}}, object{}},
		"updateProject":     {request{method: "PATCH", path: payments, body: object{"tags": "once"}}, object{"tags": "twice"}},
		"toggleManagedScan": {request{method: "PATCH", path: payments + "/managed-scan", body: object{"full_scan": object{"enabled": true}}}, object{"full_scan": object{"enabled": false}}},
		"addProjectTags":    {request{method: "PUT", path: payments + "/tags", body: object{"tags": "further"}}, object{"tags": "others"}},
		"removeProjectTags": {request{method: "DELETE", path: payments + "/tags", body: object{"tags": "further"}}, object{"tags": "others"}},
		"createSBOMExport":  {request{method: "POST", path: "sbom/export", body: object{}}, object{"ref": "other"}},
		"deleteRef":         {request: request{method: "DELETE", path: "refs?project=acme/payments&ref=feature/x"}},
		"deleteProject":     {request: request{method: "DELETE", path: "projects/acme/new"}},
	}
	conditions := "policies/" + w.policyID(t, "PRODUCT_TYPE_SCA") + "/conditions"
	rules := "policies/" + w.policyID(t, "PRODUCT_TYPE_SAST")
	writes["updatePolicy"] = keyedWrite{request{method: "PUT", path: rules, body: object{"rulePath": w.ruleOnly(t), "policyMode": "MODE_BLOCK"}}, object{"rulePath": w.ruleOnly(t), "policyMode": "MODE_COMMENT"}}
	accepted := object{"target": "no-such-rule", "reason": "once", "until": "2999-01-31"}
	writes["createPolicy"] = keyedWrite{request{method: "POST", path: "policies", body: object{"name": "once", "product": "sast"}}, object{"name": "twice", "product": "sast"}}
	writes["deletePolicy"] = keyedWrite{request: request{method: "DELETE", path: "policies/" + w.policyOnly(t)}}
	writes["setPolicySettings"] = keyedWrite{request{method: "PUT", path: rules + "/settings", body: object{"name": "Once"}}, object{"name": "Twice"}}
	writes["addPolicyRules"] = keyedWrite{request{method: "POST", path: rules + "/rules", body: object{"text": ruleText("once", "x")}}, object{"text": ruleText("once", "y")}}
	removed := w.policyRule(t, "keyed")
	writes["removePolicyRule"] = keyedWrite{request: request{method: "DELETE", path: "policies/" + removed["policyId"] + "/rules/" + removed["policyRuleId"]}}
	writes["setDueDays"] = keyedWrite{request{method: "PUT", path: rules + "/due-days", body: object{"critical": 7}}, object{"critical": 14}}
	writes["createPolicyCondition"] = keyedWrite{request{method: "POST", path: conditions, body: object{"mode": "block", "malicious": true}}, object{"mode": "block", "direct": true}}
	writes["deletePolicyCondition"] = keyedWrite{request: request{method: "DELETE", path: conditions + "/1"}}
	writes["createException"] = keyedWrite{request{method: "POST", path: "exceptions", body: accepted}, object{"target": "no-such-rule", "reason": "twice", "forever": true}}
	writes["importDocuments"] = keyedWrite{request{method: "POST", path: "exceptions/documents", body: vexDocument("urn:once")}, vexDocument("urn:twice")}
	ticket := func(address string) object { return object{"issue_ids": []int64{id}, "ticket_url": address} }
	writes["linkTicket"] = keyedWrite{request{method: "POST", path: "tickets/link", body: ticket("https://t.example/browse/SEC-2")}, ticket("https://t.example/browse/SEC-3")}
	writes["unlinkTicket"] = keyedWrite{request{method: "POST", path: "tickets/unlink", body: object{"issue_ids": []int64{id}}}, object{"issue_ids": []int64{id + 1}}}
	writes["createTickets"] = keyedWrite{request{method: "POST", path: "tickets", body: object{"issue_ids": []int64{id}}}, object{"issue_ids": []int64{id + 1}}}
	writes["deleteTicket"] = keyedWrite{request: request{method: "DELETE", path: "ticketing/v2/tickets/" + itoa(w.ticketOnly(t, w.allCode(t)[1].ID))}}
	writes["deleteException"] = keyedWrite{request: request{method: "DELETE", path: fmt.Sprint("exceptions/", w.exceptionOnly(t))}}
	managedWrites(t, w, writes)
	notificationWrites(t, w, writes)
	savedViewWrites(t, w, writes)
	exceptionRequestWrites(t, w, writes)
	commentWrites(t, w, writes)
	return []string{
		"linkTicket", "unlinkTicket", "createTickets", "deleteTicket",
		"triageFindings", "annotateFinding", "importReports", "putSnippets", "createProject", "renameProject", "mergeProject", "setTicketSettings", "updateProject", "toggleManagedScan", "addProjectTags", "removeProjectTags", "updatePolicy", "createSBOMExport", "deleteRef", "deleteProject",
		"createPolicy", "deletePolicy", "setPolicySettings", "addPolicyRules", "removePolicyRule",
		"setDueDays", "createPolicyCondition", "deletePolicyCondition", "createException", "importDocuments", "deleteException",
		"createConnection", "updateConnection", "testConnection", "makeWebhooks", "followRepositories", "unfollowRepositories", "startRun", "cancelRun", "retryRun", "revokeRunner", "deleteConnection",
		"createNotificationRule", "updateNotificationRule", "testNotificationRule", "rotateNotificationSecret", "resendNotification", "deleteNotificationRule",
		"createSavedView", "updateSavedView", "deleteSavedView", "requestException", "approveException", "refuseException", "withdrawException",
		"addFindingComment", "withdrawFindingComment",
	}, writes
}

// TestRepeatedIdempotencyKey sends every write twice with one key. It must be done once and return the same
// response, also after a restart, and another request with the key is a conflict
// (docs/reference/requests.md).
func TestRepeatedIdempotencyKey(t *testing.T) {
	each(t, func(t *testing.T, s *site) {
		code := smallSite(t, s)
		w := &world{site: s, rules: map[string]scanRule{}}
		ids, writes := keyedWrites(t, w, code[0].ID)
		for _, r := range apihttp.Routes() {
			if r.Writes && !slices.Contains(ids, r.ID) {
				t.Errorf("no case for %s", r.ID)
			}
		}
		for i, id := range ids {
			k := writes[id]
			first := s.send(t, k.with("key-"+id))
			if first.status != 200 || first.header.Get("Idempotency-Replayed") != "" {
				t.Fatalf("%s returns %d: %s", id, first.status, first.body)
			}
			before := s.trace(t)
			for _, server := range []*site{s, s.another(t)} {
				second := server.send(t, k.with("key-"+id))
				if second.status != 200 || !bytes.Equal(first.body, second.body) || second.header.Get("Idempotency-Replayed") != "true" || second.header.Get("ETag") != first.header.Get("ETag") {
					t.Errorf("%s returns %s, and the second time %d %v %s", id, first.body, second.status, second.header, second.body)
				}
			}
			if after := s.trace(t); after != before {
				t.Errorf("%s with the same key was executed twice: %s, then %s", id, before, after)
			}
			if k.other != nil {
				other := k
				other.body = k.other
				refused(t, s.send(t, other.with("key-"+id)), 409, api.CodeConflict)
			}
			refused(t, s.send(t, writes[ids[(i+1)%len(ids)]].with("key-"+id)), 409, api.CodeConflict)
			if after := s.trace(t); after != before {
				t.Errorf("%s: a conflict wrote: %s, then %s", id, before, after)
			}
		}
		// A key expires after a day.
		s.clock.Advance(model.AnswerRetention + time.Second)
		before := s.trace(t)
		repeated := s.send(t, writes["createProject"].with("key-createProject"))
		if after := s.trace(t); repeated.status != 200 || repeated.header.Get("Idempotency-Replayed") != "" || after == before {
			t.Errorf("after a day: %d %v, %s then %s", repeated.status, repeated.header, before, after)
		}
	})
}

// trace returns the effects of writes: the version and the numbers of audit events and scans.
func (s *site) trace(t testing.TB) string {
	t.Helper()
	scans := all(t, s.api().Scans(t.Context(), s.deployment.Slug, api.SearchScansRequest{}))
	var events []model.AuditEvent
	err := s.store.View(t.Context(), s.deployment.ID, func(ctx context.Context, tx *store.Tx) (err error) {
		events, err = tx.AuditEvents(ctx, 0, 10_000)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return fmt.Sprint("version ", s.version(t), ", ", len(events), " events, ", len(scans), " scans")
}

// TestIdempotencyKeyOfUpload checks that the key of an upload covers its files and fields, independent of
// the encoding.
func TestIdempotencyKeyOfUpload(t *testing.T) {
	each(t, func(t *testing.T, s *site) {
		w := &world{site: s, rules: map[string]scanRule{}}
		text := semgrepReport(w.matches(1, 0, 6)...)
		fields := map[string]string{"project": "acme/form", "ref": "main"}
		send := func(fields map[string]string, headers []string, files ...file) answer {
			body, contentType := form(t, fields, files...) // with a new boundary
			if len(headers) > 0 {
				body = reporttest.Gzip(t, body)
			}
			return s.importing(t, "", body, append(headers, "Content-Type", contentType, "Idempotency-Key", "form")...)
		}
		first := send(fields, nil, file{"a.json", text})
		if got := read[api.ImportResponse](t, first); got.Imports[0].New != 6 {
			t.Fatalf("%s", first.body)
		}
		for what, a := range map[string]answer{
			"another boundary": send(fields, nil, file{"a.json", text}), "gzip": send(fields, []string{"Content-Encoding", "gzip"}, file{"a.json", text}),
		} {
			if !bytes.Equal(a.body, first.body) || a.header.Get("Idempotency-Replayed") != "true" {
				t.Errorf("with %s: %s", what, a.body)
			}
		}
		refused(t, send(fields, nil, file{"b.json", text}), 409, api.CodeConflict)
		refused(t, send(fields, nil, file{"a.json", append(text, '\n')}), 409, api.CodeConflict)
		refused(t, send(fields, nil, file{"a.json", text}, file{"b.json", text}), 409, api.CodeConflict)
		refused(t, send(map[string]string{"project": "acme/form", "ref": "main", "commit": "c"}, nil, file{"a.json", text}), 409, api.CodeConflict)
	})
}

// TestInvalidIdempotencyKeys checks that an invalid key is reported and a rejected request stores nothing. A
// token that sees fewer projects must not get the stored response.
func TestInvalidIdempotencyKeys(t *testing.T) {
	each(t, func(t *testing.T, s *site) {
		smallSite(t, s)
		tags := func(key, tag string) request {
			return request{method: "PATCH", path: payments, body: object{"tags": tag}, header: map[string]string{"Idempotency-Key": key}}
		}
		for _, key := range []string{"", strings.Repeat("k", 201), "two words", "ключ"} {
			invalid(t, s.send(t, tags(key, "a")), "header.Idempotency-Key")
		}
		for _, key := range []string{"k", strings.Repeat("k", 200), "!~"} {
			if a := s.send(t, tags(key, "a")); a.status != 200 {
				t.Errorf("the key %q: %s", key, a.body)
			}
		}
		invalid(t, s.send(t, tags("later", strings.Repeat("x", 65))), "body.tags")
		if a := s.send(t, tags("later", "right")); a.status != 200 {
			t.Errorf("after a refusal: %s", a.body)
		}
		narrow := tags("later", "right")
		narrow.token = s.newToken(t, model.Token{Name: "narrow", Scopes: []model.Scope{model.ScopeWebAPI}, ProjectGlobs: []string{"other/*"}})
		refused(t, s.send(t, narrow), 409, api.CodeConflict)
		listing := request{method: "GET", path: "projects", header: map[string]string{"Idempotency-Key": "not a key"}}
		if a := s.send(t, listing); a.status != 200 {
			t.Errorf("a read with a key: %s", a.body)
		}
	})
}

// TestConcurrentIdempotentRequests sends many concurrent copies of a request through two servers. It must be done
// once, and all copies get its response.
func TestConcurrentIdempotentRequests(t *testing.T) {
	each(t, func(t *testing.T, s *site) {
		w := &world{site: s, rules: map[string]scanRule{}}
		text := semgrepReport(w.matches(1, 0, 30)...)
		servers := []*site{s, s.another(t)}
		for what, k := range map[string]keyedWrite{
			"project": {request: request{method: "POST", path: "projects", body: object{"name": "acme/new"}}},
			"export":  {request: request{method: "POST", path: "sbom/export", body: object{}}},
			"import": {request: request{
				method: "POST", path: "imports?project=acme/payments&ref=main&full=true", body: text, header: map[string]string{"Content-Type": "application/octet-stream"},
			}},
		} {
			answers := make([]answer, 12)
			var busy sync.WaitGroup
			for i := range answers {
				busy.Go(func() { answers[i] = servers[i%2].send(t, k.with("at-once-"+what)) })
			}
			busy.Wait()
			done := 0
			for _, a := range answers {
				if a.status != 200 || !bytes.Equal(a.body, answers[0].body) {
					t.Errorf("%s: %d %s, another got %s", what, a.status, a.body, answers[0].body)
				}
				if a.header.Get("Idempotency-Replayed") == "" {
					done++
				}
			}
			if done != 1 {
				t.Errorf("%s was executed %d times", what, done)
			}
		}
		if scans := all(t, s.api().Scans(t.Context(), s.deployment.Slug, api.SearchScansRequest{})); len(scans) != 1 {
			t.Errorf("%d scans", len(scans))
		}
	})
}

// TestClientKeys checks that the client sends keys and tags, and retries a call whose response was
// lost.
func TestClientKeys(t *testing.T) {
	s := newSite(t, storetest.Engines[0])
	smallSite(t, s)
	ctx, slug, c := t.Context(), s.deployment.Slug, s.api()
	lost := &losing{RoundTripper: s.client.Transport, answers: 1}
	c.HTTP, c.Retries = &http.Client{Transport: lost}, 2
	p, err := c.CreateProject(ctx, slug, api.CreateProjectRequest{Name: "acme/lost"}, api.WithKey("lost"))
	if err != nil || p.Project.Name != "acme/lost" || lost.sent != 2 {
		t.Fatalf("%+v, %v after %d requests", p, err, lost.sent)
	}
	lost.answers = 1
	if p, err := c.CreateProject(ctx, slug, api.CreateProjectRequest{Name: "acme/lost-too"}); err != nil || p.Project.Name != "acme/lost-too" || lost.sent != 4 {
		t.Errorf("with the client's own key: %v after %d requests", err, lost.sent)
	}
	if _, err := c.CreateProject(ctx, slug, api.CreateProjectRequest{Name: "acme/lost-too"}); err == nil {
		t.Error("another call has the key of the one before")
	}
	changed, err := c.UpdateProject(ctx, slug, "acme/lost", api.UpdateProjectRequest{Visibility: "private"}, api.IfMatch(p.ETag))
	if err != nil || changed.ETag == p.ETag || changed.ETag == "" {
		t.Fatalf("%+v after %+v: %v", changed, p, err)
	}
	_, err = c.UpdateProject(ctx, slug, "acme/lost", api.UpdateProjectRequest{Visibility: "public"}, api.IfMatch(p.ETag))
	if problem := new(api.Problem); !errors.As(err, &problem) || problem.Code != api.CodeConflict {
		t.Errorf("a stale change: %v", err)
	}
	if got, err := c.GetProject(ctx, slug, "acme/lost"); err != nil || got.ETag != changed.ETag || got.Project.Visibility != "private" {
		t.Errorf("%+v, %v", got, err)
	}
}

// losing is a transport that loses the next responses.
type losing struct {
	http.RoundTripper
	answers, sent int
}

// RoundTrip implements http.RoundTripper.
func (l *losing) RoundTrip(r *http.Request) (*http.Response, error) {
	l.sent++
	resp, err := l.RoundTripper.RoundTrip(r)
	if err == nil && l.answers > 0 {
		l.answers--
		resp.Body.Close()
		return nil, fmt.Errorf("the connection was lost after %s", time.Second)
	}
	return resp, err
}
