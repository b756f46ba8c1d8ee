package lockfile_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/rogpeppe/go-internal/txtar"

	"github.com/redoubt/redoubt/internal/model"
	"github.com/redoubt/redoubt/internal/report"
	"github.com/redoubt/redoubt/internal/report/lockfile"
)

// readAll reads the files of one upload in order. It returns dependencies as path:line name
// version, and refusals.
func readAll(t *testing.T, files *txtar.Archive) (deps, refused []string) {
	t.Helper()
	var reading report.Reading
	for _, f := range files.Files {
		if err := reading.Add(strings.NewReader(string(f.Data)), report.Options{Name: f.Name}); err != nil {
			t.Fatal(err)
		}
	}
	for _, rep := range reading.Reports(nil) {
		for _, i := range rep.Inventories {
			for _, d := range i.Dependencies {
				deps = append(deps, fmt.Sprintf("%s:%d %s %s", i.Lockfile, d.Line, d.Name, d.Version))
			}
		}
		for _, r := range rep.Refused {
			refused = append(refused, r.Item+": "+r.Reason)
		}
	}
	return deps, refused
}

func TestPipIncludes(t *testing.T) {
	for name, test := range map[string]struct {
		files         string
		deps, refused []string
	}{
		"relative to the file, through each other": {
			"-- requirements.txt --\n-r deps/base.txt\nflask==3.0.0\n-- deps/base.txt --\n# of all\n-rmore/web.txt\nrequests==2.31.0\n-- deps/more/web.txt --\n--requirement ../../last.txt\naiohttp==3.9.0\n-- last.txt --\n--requirement=\"deps/base.txt\"\nattrs==23.1.0\n",
			[]string{"requirements.txt:2 flask 3.0.0", "deps/base.txt:3 requests 2.31.0", "deps/more/web.txt:2 aiohttp 3.9.0", "last.txt:2 attrs 23.1.0"},
			nil,
		},
		"a cycle": {
			"-- requirements.txt --\n-r requirements.txt\n-r b.txt\na==1\n-- b.txt --\n-r requirements.txt\nb==2\n",
			[]string{"requirements.txt:3 a 1", "b.txt:2 b 2"},
			nil,
		},
		"constraints tell versions, and bring nothing": {
			"-- requirements.txt --\n-c constraints.txt\nFlask\nrequests>=2\nown==1\n-r base.txt\n-- base.txt --\nclick\n-- constraints.txt --\n-r more.txt\nflask==3.0.0\nunused==9\nown==2\n-- more.txt --\nrequests==2.31.0\nclick == 8.1.7\n",
			[]string{"requirements.txt:4 own 1", "constraints.txt:2 flask 3.0.0", "more.txt:1 requests 2.31.0", "more.txt:2 click 8.1.7"},
			nil,
		},
		"constraints of others do not count": {
			"-- a/requirements.txt --\n-c ../c.txt\nflask\n-- b/requirements.txt --\nflask\n-- c.txt --\nflask==3.0.0\n",
			[]string{"c.txt:1 flask 3.0.0"},
			[]string{"b/requirements.txt: line 1: flask: its version is unknown: it is not pinned with =="},
		},
		"a file that is both": {
			"-- requirements.txt --\n-c both.txt\n-r both.txt\n-- both.txt --\nflask==3.0.0\n",
			[]string{"both.txt:1 flask 3.0.0"},
			nil,
		},
		"unsupported lines": {
			"-- sub/requirements.txt --\n-r https://e.example/r.txt\n-c file:///etc/passwd\n-r ../../out.txt\n-r /etc/passwd\n-r ${HOME}/x.txt\n-r gone.txt\n-c ~/c.txt\n-r ..\\x.txt\nflask==3.0.0 # -r no.txt\n",
			[]string{"sub/requirements.txt:9 flask 3.0.0"},
			[]string{
				"line 1: -r https://e.example/r.txt: URLs are not fetched", "line 2: -c file:///etc/passwd: URLs are not fetched",
				"line 3: -r ../../out.txt: it is outside of the checkout", "line 4: -r /etc/passwd: it is not in the checkout", "line 5: -r ${HOME}/x.txt: it depends on the environment",
				"line 6: -r gone.txt: it is not among the uploaded files", "line 7: -c ~/c.txt: it is not in the checkout", `line 8: -r ..\x.txt: it is not in the checkout`,
			},
		},
		"a lockfile of another kind": {
			"-- requirements.txt --\n-r uv.lock\nflask==3.0.0\n-- uv.lock --\nversion = 1\nrequires-python = \">=3.12\"\n\n[[package]]\nname = \"urllib3\"\nversion = \"1.24.1\"\nsource = { registry = \"https://pypi.org/simple\" }\n",
			[]string{"requirements.txt:2 flask 3.0.0", "uv.lock:5 urllib3 1.24.1"},
			[]string{"requirements.txt: line 1: -r uv.lock: it is not among the uploaded files"},
		},
	} {
		deps, refused := readAll(t, txtar.Parse([]byte(test.files)))
		if diff := cmp.Diff(test.deps, deps); diff != "" {
			t.Errorf("%s: dependencies (-want +got):\n%s", name, diff)
		}
		if diff := cmp.Diff(test.refused, refused); diff != "" {
			t.Errorf("%s: refused (-want +got):\n%s", name, diff)
		}
	}
}

// TestPipReferences checks the paths that a client with a checkout uploads.
func TestPipReferences(t *testing.T) {
	text := "-r base.txt\r\n  -c ../constraints.txt # why\n--requirement=x/y.txt\n-rbase.txt\n--requirements no.txt\n--require-hashes\n-r https://e.example/r.txt\n-r ../../out.txt\n# -r no.txt\nflask==1 -r\n"
	got := lockfile.PipReferences("sub/requirements.txt", []byte(text))
	if want := []string{"sub/base.txt", "constraints.txt", "sub/x/y.txt"}; !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
}

// TestPipIncludesRequireIncluder checks that a file with any name is a lockfile only if a
// requirements file includes it.
func TestPipIncludesRequireIncluder(t *testing.T) {
	var reading report.Reading
	if err := reading.Add(strings.NewReader("flask==3.0.0\n"), report.Options{Name: "base.txt"}); err == nil {
		t.Error("base.txt is read as a lockfile")
	}
	if _, ok := reading.Unread(report.Options{Name: "base.txt"}, "why"); ok {
		t.Error("base.txt is taken for a lockfile")
	}
	if err := reading.Add(strings.NewReader("-r base.txt\n"), report.Options{Name: "requirements.txt"}); err != nil {
		t.Fatal(err)
	}
	if name, ok := reading.Unread(report.Options{Name: "base.txt"}, "why"); !ok || name != "base.txt" {
		t.Error("base.txt is not taken for a lockfile")
	}
}

// TestPipReferencesAreBounded checks that mutual references are limited, and that unprocessed
// requirements are refused.
func TestPipReferencesAreBounded(t *testing.T) {
	const files, lines = 1500, 2000
	var upload lockfile.Upload
	add := func(name, text string) *model.Report {
		rep, err := upload.Read(lockfile.File{Name: name, Path: name, Data: []byte(text), Limit: 10 * lines})
		if err != nil {
			t.Fatal(err)
		}
		return rep
	}
	for i := range files {
		add(fmt.Sprintf("%d/requirements.txt", i), "-r ../all.txt\n-c ../pins.txt\n")
	}
	late := add("late/requirements.txt", "-c ../pins.txt\np0\n")
	var all, pins strings.Builder
	for i := range lines {
		fmt.Fprintf(&all, "p%d\n", i)
		fmt.Fprintf(&pins, "p%d==1.%d\n", i, i)
	}
	included := add("all.txt", all.String())
	pinned := add("pins.txt", pins.String())
	upload.Resolve()
	if most := lockfile.MaxPipSteps + 2*lines + 10; upload.PipSteps() > most {
		t.Errorf("%d lines were looked at, more than %d", upload.PipSteps(), most)
	}
	if got := len(pinned.Inventories[0].Dependencies); got != lines || len(included.Refused) > 0 {
		t.Errorf("%d of %d pins are meant, %d requirements are refused", got, lines, len(included.Refused))
	}
	want := []model.Refusal{{Item: "line 2", Reason: "p0: its version is unknown: the files have too many references"}}
	if diff := cmp.Diff(want, late.Refused); diff != "" {
		t.Errorf("unsupported lines (-want +got):\n%s", diff)
	}
}

// TestUnreadableRequirementsFile checks that a truncated or too large file does not affect other
// files. Some of them refer to it, or it refers to them.
func TestUnreadableRequirementsFile(t *testing.T) {
	var reading report.Reading
	add := func(name, text string, limits report.Limits) error {
		return reading.Add(strings.NewReader(text), report.Options{Name: name, Limits: limits})
	}
	if err := add("requirements.txt", "-r base.txt\nflask==3.0.0\n", report.Limits{}); err != nil {
		t.Fatal(err)
	}
	if err := add("base.txt", "-r more.txt\nrequests==2.31.0 \\\n", report.Limits{}); err == nil {
		t.Error("a file that says it goes on is read")
	}
	if err := add("dev-requirements.txt", "a==1\nb==2\n", report.Limits{Items: 1}); err == nil {
		t.Error("a file over the limit is read")
	}
	if err := add("more.txt", "attrs==23.1.0\n", report.Limits{}); err != nil {
		t.Fatal(err)
	}
	var found []string
	for _, rep := range reading.Reports(nil) {
		for _, i := range rep.Inventories {
			found = append(found, fmt.Sprint(i.Lockfile, len(i.Dependencies)))
		}
	}
	if diff := cmp.Diff([]string{"requirements.txt1", "more.txt1"}, found); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
