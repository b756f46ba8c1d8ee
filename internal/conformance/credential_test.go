package conformance

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/redoubt/redoubt/internal/report"
	"github.com/redoubt/redoubt/internal/report/reporttest"
)

// smallest is the smallest sample of each format that is JSON, but of those without
// anything in them, by its format or the name of its lockfile.
func smallest(t *testing.T) map[string][]byte {
	t.Helper()
	out := map[string][]byte{}
	for _, root := range []string{"../report/testdata", "../report/lockfile/testdata"} {
		err := filepath.WalkDir(root, func(path string, d os.DirEntry, err error) error {
			if err != nil || d.IsDir() || strings.Contains(path, "golden") {
				return err
			}
			data, err := os.ReadFile(path)
			if err != nil || len(data) < 700 || !json.Valid(data) {
				return err
			}
			format, err := report.Detect(path, data)
			name := string(format)
			if format == report.Lockfile {
				name = filepath.Base(path)
			}
			if old, known := out[name]; err == nil && (!known || len(data) < len(old)) {
				out[name] = data
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	return out
}

var policyIDs = regexp.MustCompile(`"id":"(\d+)"`)

// TestNoCredentialIsKept imports files of each format with an address that signs in
// as one of their texts, every fourth text of each, and looks for it in the answers,
// the log, the exports and the files of the database. What readers make of each
// single text is for the tests of report.
func TestNoCredentialIsKept(t *testing.T) {
	s := newSite(t, "sqlite")
	nowhere := func(where string, text []byte) {
		if at := bytes.Index(text, []byte(reporttest.Mark)); at >= 0 {
			t.Errorf("%s: …%s…", where, text[max(0, at-100):min(len(text), at+60)])
		}
	}
	taken := 0
	for name, doc := range smallest(t) {
		for i, text := range reporttest.Marked(t, doc) {
			if i%4 != len(name)%4 {
				continue
			}
			body, media := form(t, map[string]string{"project": "acme/app", "ref": "main", "category": fmt.Sprint(name, i)}, file{name, text})
			a := s.send(t, request{method: "POST", path: "imports", body: body, header: map[string]string{"Content-Type": media}})
			nowhere("import of "+name, a.body)
			if a.status == 200 {
				taken++
			}
		}
	}
	if taken < 50 {
		t.Fatalf("only %d files were taken", taken)
	}
	lists := []request{
		{method: "GET", path: "findings?issue_type=sast&page_size=3000"},
		{method: "GET", path: "findings?issue_type=sca&page_size=3000"},
		{method: "GET", path: "secrets"},
		{method: "POST", path: "dependencies", body: object{"pageSize": 10000}},
		{method: "POST", path: "scans/search", body: object{}},
		{method: "GET", path: "policies"},
	}
	for _, id := range policyIDs.FindAllSubmatch(s.send(t, lists[len(lists)-1]).body, -1) {
		lists = append(lists, request{method: "GET", path: "policies/" + string(id[1])})
	}
	for _, list := range lists {
		a := s.send(t, list)
		if a.status != 200 {
			t.Errorf("%s: %d %s", list.path, a.status, a.body)
		}
		nowhere(list.path, a.body)
	}
	for _, format := range []object{{"format": "SBOM_FORMAT_CYCLONEDX", "version": "1.6"}, {"format": "SBOM_FORMAT_SPDX", "version": "2.3"}, {"format": "SBOM_FORMAT_OPENVEX"}} {
		doc, _, err := s.api().DownloadSBOM(t.Context(), s.exported(t, object{"formatVersion": format}))
		if err != nil {
			t.Fatal(err)
		}
		nowhere("the export as "+fmt.Sprint(format["format"]), doc)
	}
	nowhere("the log", []byte(s.log.String()))
	files, err := filepath.Glob(filepath.Join(s.config.Dir, "*"))
	if err != nil || len(files) == 0 {
		t.Fatalf("%d files in %s, %v", len(files), s.config.Dir, err)
	}
	for _, name := range files {
		data, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		nowhere("the database", data)
	}
}
