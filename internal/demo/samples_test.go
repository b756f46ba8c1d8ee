package demo

import (
	"io/fs"
	"regexp"
	"strings"
	"testing"
	"time"
)

func TestTimelineFilesAreEmbedded(t *testing.T) {
	for i, step := range Timeline() {
		if len(step.Files) == 0 {
			t.Errorf("step %d (%s %s) has no files", i, step.Project, step.Ref)
		}
		for _, file := range step.Files {
			text, err := Samples.ReadFile(file.Path)
			if err != nil {
				t.Errorf("step %d: %v", i, err)
			} else if len(text) == 0 {
				t.Errorf("step %d: %s is empty", i, file.Path)
			}
		}
	}
}

func TestTimelineIsInOrderAndComplete(t *testing.T) {
	commit := regexp.MustCompile(`^[0-9a-f]{40}$`)
	last := 160 * day
	for i, step := range Timeline() {
		if step.Age >= last || step.Age < time.Hour {
			t.Errorf("step %d is %v old, after one that is %v old", i, step.Age, last)
		}
		last = step.Age
		if !commit.MatchString(step.Commit) {
			t.Errorf("step %d: %s %s has no commit (%q)", i, step.Project, step.Ref, step.Commit)
		}
		if strings.Count(step.Project, "/") < 1 || len(step.Tags) == 0 || !strings.HasSuffix(step.RepoURL, step.Project) {
			t.Errorf("step %d: bad project, tags or URL: %+v", i, step)
		}
	}
}

// TestVersionsHaveDistinctCommits checks that each version has its own commit, so that steps with
// the same commit scan the same code.
func TestVersionsHaveDistinctCommits(t *testing.T) {
	versionOf := map[string]string{}
	for version, commit := range commits {
		if other, exists := versionOf[commit]; exists {
			t.Errorf("%s and %s have the same commit %s", version, other, commit)
		}
		versionOf[commit] = version
	}
	if want := 14; len(commits) != want {
		t.Errorf("%d commits, want %d", len(commits), want)
	}
}

// TestEveryReportIsInTheTimeline checks that each embedded report is used.
func TestEveryReportIsInTheTimeline(t *testing.T) {
	listed := map[string]bool{"samples/reports/commits.txt": true}
	for _, step := range Timeline() {
		for _, file := range step.Files {
			listed[file.Path] = true
		}
	}
	eachFile(t, "samples/reports", func(path string, _ []byte) {
		if !listed[path] {
			t.Errorf("%s is in no step of the timeline", path)
		}
	})
}

func TestNoMachinePaths(t *testing.T) {
	machine := regexp.MustCompile(`(^|[^A-Za-z0-9._-])/(tmp|root|home|work|Users|private|var/folders)/[^"\s]*|/\.cache/[^"\s]*|127\.0\.0\.1`)
	eachFile(t, "samples", func(path string, text []byte) {
		if found := machine.Find(text); found != nil {
			t.Errorf("%s holds the machine path %q: run the tool from inside the project", path, found)
		}
	})
}

func TestSamplesStaySmall(t *testing.T) {
	const perFile, inAll = 200 << 10, 3 << 20
	total := 0
	eachFile(t, "samples", func(path string, text []byte) {
		total += len(text)
		if len(text) > perFile {
			t.Errorf("%s has %d bytes, more than %d", path, len(text), perFile)
		}
	})
	if total > inAll {
		t.Errorf("the samples have %d bytes, more than %d", total, inAll)
	}
}

// eachFile calls visit for every embedded file below root.
func eachFile(t *testing.T, root string, visit func(path string, text []byte)) {
	t.Helper()
	err := fs.WalkDir(Samples, root, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		text, err := Samples.ReadFile(path)
		visit(path, text)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}
