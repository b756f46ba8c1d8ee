package agent

import (
	"testing"

	"github.com/redoubt/redoubt/internal/model"
)

// TestPackedResultsRetainRule checks that results retain their rule, including one that the
// report does not list.
func TestPackedResultsRetainRule(t *testing.T) {
	listed, other := &model.Rule{Name: "listed"}, &model.Rule{Name: "other"}
	text, err := pack(&model.Report{
		Tool: "semgrep", Rules: []*model.Rule{listed},
		Results: []model.Result{{Rule: listed, Path: "a"}, {Rule: other, Path: "b"}, {Rule: other, Path: "c"}},
	}, nil)
	if err != nil {
		t.Fatal(err)
	}
	reading, err := unpack(text, []byte("key"))
	if err != nil {
		t.Fatal(err)
	}
	report := reading.Reports(func(string, string) bool { return false })[0]
	for i, want := range []string{"listed", "other", "other"} {
		if got := report.Results[i]; got.Rule == nil || got.Rule.Name != want {
			t.Errorf("the result in %s is of %+v, want %s", got.Path, got.Rule, want)
		}
	}
}

// TestFaultsOfStartRequestAreOrdered checks that equal requests get equal responses.
func TestFaultsOfStartRequestAreOrdered(t *testing.T) {
	for range 20 {
		var b beginRequest
		b.Scan.UniqueID = "u"
		b.Project = projectMetadata{Repository: "a/b", Branch: "\x01", Commit: "\x01", RepoID: "\x01"}
		_, err := b.begun(nil)
		invalid, ok := err.(*model.InvalidError) //nolint:errorlint // as begun returns it
		if !ok || len(invalid.Fields) != 3 {
			t.Fatal(err)
		}
		for i, want := range []string{"branch", "commit", "repo_id"} {
			if got := invalid.Fields[i].Location; got != "project_metadata."+want {
				t.Fatalf("fault %d is of %s, want %s", i, got, want)
			}
		}
	}
}
