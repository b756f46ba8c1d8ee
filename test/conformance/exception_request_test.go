package conformance

import (
	"fmt"
	"maps"
	"net/url"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redoubt/redoubt/api"
	"github.com/redoubt/redoubt/internal/model"
)

// createdProjects counts the projects that newFinding creates.
var createdProjects atomic.Int64

// newFinding creates an open finding in a new project.
func (s *site) newFinding(t testing.TB) int64 {
	t.Helper()
	name := fmt.Sprint("acme/asked-", createdProjects.Add(1))
	w := &world{site: s, rules: map[string]scanRule{}}
	s.upload(t, name, "main", "full", semgrepReport(w.matches(1, 0, 1)...))
	list := get[api.ListFindingsResponse](t, s, "findings", url.Values{"issue_type": {"sast"}, "repos": {name}})
	return list.SASTFindings.Findings[0].ID
}

// newExceptionRequest creates a request for an exception for a finding.
func (s *site) newExceptionRequest(t testing.TB, finding int64) map[string]string {
	t.Helper()
	made := post[api.ExceptionChangeResponse](t, s, "exceptions/requests", object{"issue_ids": []int64{finding}, "reason": "only tests"})
	return map[string]string{"exceptionId": fmt.Sprint(made.Exception.ID)}
}

// exceptionRequestWrites adds the writes of exception requests, by operation.
func exceptionRequestWrites(t testing.TB, w *world, writes map[string]keyedWrite) {
	t.Helper()
	code := w.allCode(t)
	request := func(i int, verb string, body, other any) keyedWrite {
		return keyedWrite{request{method: "POST", path: "exceptions/" + w.newExceptionRequest(t, code[i].ID)["exceptionId"] + "/" + verb, body: body}, other}
	}
	requestBody := func(i int) object { return object{"issue_ids": []int64{code[i].ID}, "reason": "only tests"} }
	maps.Copy(writes, map[string]keyedWrite{
		"requestException":  {exceptionRequest(requestBody(3)), requestBody(4)},
		"approveException":  request(5, "approve", object{"forever": true}, object{"until": "2999-01-31"}),
		"refuseException":   request(6, "refuse", object{"answer": "no"}, object{"answer": "never"}),
		"withdrawException": request(7, "withdraw", nil, nil),
	})
}

func exceptionRequest(body object) request {
	return request{method: "POST", path: "exceptions/requests", body: body}
}

// TestExceptionRequestsByAPI requests exceptions as a viewer, decides them as a triager, and checks
// the gate before and after.
func TestExceptionRequestsByAPI(t *testing.T) {
	each(t, func(t *testing.T, s *site) {
		code := smallSite(t, s)
		viewer, triager, other := s.as(t, "dev", model.RoleViewer), s.as(t, "sec", model.RoleTriager), s.as(t, "eve", model.RoleViewer)
		last := s.clock.Now().UTC().AddDate(0, 0, 30).Format(time.DateOnly)
		requestBody := object{"issue_ids": []int64{code[0].ID, code[1].ID}, "reason": "only our tests call it", "until": last, "triage_reason": "false_positive"}
		r := post[api.ExceptionChangeResponse](t, viewer, "exceptions/requests", requestBody).Exception
		if r.State != "requested" || r.Project != "acme/payments" || len(r.IssueIDs) != 2 || r.Until == nil || r.DecidedAt != nil || r.CreatedBy != "token:dev" {
			t.Errorf("requested: %+v", r)
		}
		at := "exceptions/" + fmt.Sprint(r.ID)
		refused(t, viewer.send(t, exceptionRequest(requestBody)), 409, api.CodeConflict)
		refused(t, other.send(t, exceptionRequest(requestBody)), 409, api.CodeConflict)
		refused(t, viewer.send(t, request{method: "POST", path: at + "/approve", body: object{}}), 403, api.CodePermissionDenied)
		refused(t, viewer.send(t, request{method: "POST", path: at + "/refuse", body: object{"answer": "x"}}), 403, api.CodePermissionDenied)
		refused(t, other.send(t, request{method: "POST", path: at + "/withdraw"}), 400, api.CodeInvalidArgument)
		for what, body := range map[string]object{
			"no such finding":   {"issue_ids": []int64{4000000000}, "reason": "x"},
			"an expired day":    {"issue_ids": []int64{code[2].ID}, "reason": "x", "until": "2001-01-31"},
			"no day":            {"issue_ids": []int64{code[2].ID}, "reason": "x", "until": "2099-02-30"},
			"no reason":         {"issue_ids": []int64{code[2].ID}, "reason": " "},
			"an unknown member": {"issue_ids": []int64{code[2].ID}, "reason": "x", "ends": last},
		} {
			if a := viewer.send(t, exceptionRequest(body)); a.status != 400 && a.status != 404 {
				t.Errorf("%s: %d %s", what, a.status, a.body)
			}
		}
		for _, body := range []object{{"until": last, "forever": true}, {"until": "2001-01-31"}, {"until": last, "statements": []string{"x"}}} {
			refused(t, triager.send(t, request{method: "POST", path: at + "/approve", body: body}), 400, api.CodeInvalidArgument)
		}
		state := func(state string) (ids []int64) {
			for _, r := range get[api.ListExceptionsResponse](t, triager, "exceptions", url.Values{"state": {state}}).Exceptions {
				ids = append(ids, r.ID)
			}
			return ids
		}
		if got := state("requested"); !slices.Equal(got, []int64{r.ID}) {
			t.Errorf("requested are %v", got)
		}
		approved := post[api.ExceptionChangeResponse](t, triager, at+"/approve", object{"answer": "until the upgrade"})
		if approved.Changed != 2 || approved.Exception.State != "active" || approved.Exception.Until == nil || approved.Exception.Answer != "until the upgrade" {
			t.Errorf("approved: %+v", approved)
		}
		refused(t, triager.send(t, request{method: "POST", path: at + "/approve", body: object{}}), 409, api.CodeConflict)
		f := get[api.FindingResponse](t, s, "findings/"+fmt.Sprint(code[0].ID)).Finding
		if f.Status != "ignored" || f.TriageReason == nil || *f.TriageReason != "false_positive" {
			t.Errorf("the finding is %s %v", f.Status, f.TriageReason)
		}
		kinds := []string{}
		for _, e := range get[api.FindingHistoryResponse](t, s, "findings/"+fmt.Sprint(code[0].ID)+"/history").Events {
			kinds = append(kinds, e.Kind)
		}
		if want := []string{"found", "exception_asked", "triaged", "exception_approved"}; !slices.Equal(kinds, want) {
			t.Errorf("the history is %q, not %q", kinds, want)
		}
		second := viewer.newExceptionRequest(t, code[2].ID)["exceptionId"]
		mine := get[api.ListExceptionsResponse](t, viewer, "exceptions", url.Values{"mine": {"true"}, "limit": {"1"}})
		if len(mine.Exceptions) != 1 || fmt.Sprint(mine.Exceptions[0].ID) != second || mine.Cursor == "" {
			t.Errorf("mine are %+v", mine)
		}
		more := get[api.ListExceptionsResponse](t, viewer, "exceptions", url.Values{"mine": {"true"}, "limit": {"1"}, "cursor": {mine.Cursor}})
		if len(more.Exceptions) != 1 || more.Exceptions[0].ID != r.ID || more.Cursor != "" {
			t.Errorf("and then %+v", more)
		}
		if got := post[api.ExceptionChangeResponse](t, viewer, "exceptions/"+second+"/withdraw", nil).Exception.State; got != "withdrawn" {
			t.Errorf("withdrawn is %s", got)
		}
		third := viewer.newExceptionRequest(t, code[2].ID)["exceptionId"]
		refused(t, triager.send(t, request{method: "POST", path: "exceptions/" + third + "/approve", body: object{}}), 400, api.CodeInvalidArgument) // the request has no end, and neither does the approval
		if got := post[api.ExceptionChangeResponse](t, triager, "exceptions/"+third+"/refuse", object{"answer": "it is reachable"}).Exception; got.State != "refused" || got.Answer != "it is reachable" {
			t.Errorf("refused is %+v", got)
		}
	})
}
