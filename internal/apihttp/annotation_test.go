package apihttp

import (
	"fmt"
	"net/http"
	"testing"

	"github.com/redoubt/redoubt/api"
)

func TestAnnotations(t *testing.T) {
	h := newHarness(t)
	id := h.importFindings().Imports[0].Items[0].FindingID
	target := fmt.Sprintf("%s/%d", findingsPath, id)
	for _, test := range []struct{ body, has, lacks string }{
		{`{"assistant":{"component":{"tag":"payments","risk":"high"}}}`, `"component":{"risk":"high","tag":"payments"}`, `autotriage`},
		{`{"assistant":{"autotriage":{"verdict":"false_positive","reason":"a test"}}}`, `"component"`, `nothing`},
		{`{"externalTicket":{"external_slug":"SEC-1","url":"https://t"}}`, `"externalSlug":"SEC-1"`, `"linkedIssueIds":null`},
		{`{"external_ticket":null}`, `"external_ticket":null`, `SEC-1`},
		{`{"click_to_fix_prs":[{"created_at":"2024-01-02T03:04:05+01:00","url":"https://p"}]}`, `{"created_at":"2024-01-02T02:04:05.000000Z","url":"https://p","state":"open"}`, `nothing`},
		{`{"review_comments":[{"externalDiscussionId":"d","externalNoteId":7}]}`, `"externalNoteId":7`, `nothing`},
		{`{"assistant":null,"review_comments":[]}`, `"review_comments":[]`, `"assistant"`},
	} {
		a := h.send(http.MethodPatch, target, test.body)
		if a.status != http.StatusOK || !contains(a.body, test.has) || contains(a.body, test.lacks) {
			t.Errorf("%s: %d %s", test.body, a.status, a.body)
		}
	}
	for _, body := range []string{
		``, `{}`, `{"epss_score":{"score":0.5,"percentile":0.5}}`, `{"reachability":"reachable"}`, `{"severity":"low"}`, `{"assistant":{"autotriage":{"verdict":"maybe"}}}`,
		`{"external_ticket":{"externalSlug":"S","url":"javascript:alert(1)"}}`, `{"click_to_fix_prs":[{"created_at":"2024-01-02T03:04:05Z","url":"data:text/html,x"}]}`,
	} {
		h.wantProblem(h.send(http.MethodPatch, target, body), api.CodeInvalidArgument)
	}
	h.wantProblem(h.send(http.MethodPatch, findingsPath+"/999", `{"external_ticket":null}`), api.CodeNotFound)
}

func TestFindingsFilterByAnnotation(t *testing.T) {
	h := newHarness(t)
	ctx := t.Context()
	id := h.importFindings().Imports[0].Items[0].FindingID
	_, err := h.client.AnnotateFinding(ctx, "acme", id, api.AnnotateRequest{Assistant: &api.Assistant{
		Component: &api.Component{Tag: "payments"}, Autotriage: &api.Autotriage{Verdict: "true_positive"},
	}})
	if err != nil {
		t.Fatal(err)
	}
	for _, q := range []api.FindingsQuery{{ComponentTags: []string{"payments"}}, {AutotriageVerdict: "true_positive"}} {
		got, err := h.client.ListFindings(ctx, "acme", q)
		if err != nil || len(got.SASTFindings.Findings) != 1 || got.SASTFindings.Findings[0].ID != id {
			t.Errorf("%+v: %+v, %v", q, got, err)
		}
	}
}
