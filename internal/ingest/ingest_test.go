package ingest

import (
	"testing"
	"time"

	"github.com/redoubt/redoubt/internal/model"
)

var eqeq = &model.Rule{Name: "eqeq", Message: "m $X", IssueType: model.SAST, Severity: model.SeverityHigh, Confidence: model.ConfidenceHigh}

// result returns a code result whose scanner provides no identity.
func result(rule *model.Rule, path string, line int, code string) model.Result {
	return model.Result{Item: "results[0]", Rule: rule, Path: path, Location: model.Location{Line: line, Column: 1, EndLine: line, EndColumn: 9}, Message: "m", Code: code}
}

// full returns a declared full upload.
func full(results ...model.Result) Upload {
	return Upload{
		Project: model.Project{Name: "acme/payments"}, Ref: "main", Full: true, DeclaredFull: true,
		Report: &model.Report{Tool: "semgrep", Products: model.Products(0).With(model.SAST), Results: results},
	}
}

// apply applies the upload a minute later.
func apply(t *testing.T, m *memory, u Upload) Summary {
	t.Helper()
	m.tick(time.Minute)
	sum, err := Apply(t.Context(), m, m, u)
	if err != nil {
		t.Fatal(err)
	}
	return sum
}

func TestNewClosedUnchanged(t *testing.T) {
	m := newMemory()
	a, b := result(eqeq, "a.py", 3, "x == x"), result(eqeq, "b.py", 5, "y == y")
	if sum := apply(t, m, full(a, b)); sum.New != 2 || len(sum.Items) != 2 || sum.Counts.Code != 2 {
		t.Fatalf("first: %+v", sum)
	}
	if sum := apply(t, m, full(a)); sum.Closed != 1 || sum.Unchanged != 1 || sum.Items[0].Path != "b.py" {
		t.Fatalf("second: %+v", sum)
	}
	if sum := apply(t, m, full(a)); sum.ScanID == 0 || sum.Unchanged != 1 || len(sum.Items) > 0 {
		t.Fatalf("repeat: %+v", sum)
	}
	if sum := apply(t, m, full(a, b)); sum.Returned != 1 || len(m.rows) != 2 {
		t.Fatalf("back: %+v", sum)
	}
}
