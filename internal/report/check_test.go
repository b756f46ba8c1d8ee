package report

import (
	"bytes"
	"testing"

	"github.com/redoubt/redoubt/internal/model"
	"github.com/redoubt/redoubt/internal/report/format"
	"github.com/redoubt/redoubt/internal/testutil/reporttest"
)

// readText reads a text as a file with a name.
func readText(t testing.TB, name, text string) []*model.Report {
	t.Helper()
	reports, err := Read(bytes.NewReader([]byte(text)), format.Options{Name: name, Key: testKey})
	if err != nil {
		t.Fatalf("Read(%s): %v", name, err)
	}
	for _, r := range reports {
		reporttest.Check(t, r)
	}
	return reports
}

// readOne reads a text with one report.
func readOne(t testing.TB, name, text string) *model.Report {
	t.Helper()
	reports := readText(t, name, text)
	if len(reports) != 1 {
		t.Fatalf("%d reports, want 1", len(reports))
	}
	return reports[0]
}
