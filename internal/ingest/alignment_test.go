package ingest

import (
	"testing"
	"time"

	"github.com/redoubt/redoubt/internal/model"
	"github.com/redoubt/redoubt/internal/redact"
)

// TestRedactionPreservesIDAndTriage checks that a finding stored before a credential pattern existed
// keeps its id and triage after redaction.
func TestRedactionPreservesIDAndTriage(t *testing.T) {
	const secret = "k3y.Qw8zRt5yUi2oPa7s"
	was := model.Result{
		Rule: &model.Rule{Name: "r", IssueType: model.SAST, Severity: model.SeverityHigh}, Path: "a.py", Location: model.Location{Line: 3, EndLine: 3},
		Message: "calls out", Code: `get(h, "Authorization: Bearer ` + secret + `")`,
	}
	for name, change := range map[string]func(was, is *model.Result){
		"code": func(_, is *model.Result) { is.Code = redact.Text(is.Code) },
		"message": func(was, is *model.Result) {
			was.Message += " Authorization: Bearer " + secret
			is.Message = redact.Text(was.Message)
			is.Code, was.Code = "", ""
		},
	} {
		t.Run(name, func(t *testing.T) {
			m, old := newMemory(), was
			is := old
			change(&old, &is)
			is.Location.Line, is.Location.EndLine = 5, 5
			for _, r := range []*model.Result{&old, &is} {
				r.MatchBasedID, r.CodeHash = "r_0", "c0de"
			}
			is.CodeHash, is.CodeKey = "", model.Digest{9}
			apply(t, m, full(old))
			for _, l := range m.lineages {
				l.Triage = model.Triage{State: model.TriageIgnored, Reason: model.FalsePositive}
			}
			m.tick(time.Minute)
			apply(t, m, upload(full(is), func(u *Upload) { u.Commit = "c2" }))
			if len(m.rows) != 1 {
				t.Fatalf("there are %d findings", len(m.rows))
			}
			for _, f := range m.rows {
				if f.Line != 5 || f.CodeHash != is.CodeKey || m.lineages[f.LineageID].Triage.State != model.TriageIgnored {
					t.Errorf("it is %+v", f)
				}
			}
		})
	}
}
