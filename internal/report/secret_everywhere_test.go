package report_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/redoubt/redoubt/internal/report"
	"github.com/redoubt/redoubt/internal/report/semgrep"
	"github.com/redoubt/redoubt/internal/testutil/reporttest"
)

// samples returns one small file of each format and lockfile.
func samples(t *testing.T) map[string][]byte {
	t.Helper()
	out := map[string][]byte{}
	for _, root := range []string{"testdata", "lockfile/testdata"} {
		err := filepath.WalkDir(root, func(path string, d os.DirEntry, err error) error {
			if err != nil || d.IsDir() || strings.Contains(path, "golden") {
				return err
			}
			data, err := os.ReadFile(path)
			if err != nil || len(data) > 200<<10 {
				return err
			}
			format, err := report.Detect(path, data)
			if err != nil {
				return nil //nolint:nilerr // what is no report is no sample
			}
			key := string(format)
			if format == report.Lockfile {
				key = filepath.Base(path)
			}
			if old, ok := out[key]; !ok || len(old) < 600 && len(data) > len(old) && len(data) < 60<<10 {
				out[key] = data
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	return out
}

// TestCredentialsRemovedFromAllFormats inserts an address with a password into each string of
// each format. Neither reports nor errors may contain it.
func TestCredentialsRemovedFromAllFormats(t *testing.T) {
	for name, doc := range samples(t) {
		copies := reporttest.MarkedWords(doc)
		if json.Valid(doc) {
			copies = reporttest.Marked(t, doc)
		}
		tried, read := 0, 0
		for _, text := range copies {
			tried++
			reports, err := report.Read(bytes.NewReader(text), report.Options{Name: name, Key: []byte("k")})
			if err != nil {
				if strings.Contains(err.Error(), reporttest.Mark) {
					t.Errorf("%s: the error tells it: %v", name, err)
				}
				continue
			}
			read++
			for _, rep := range reports {
				if all := fmt.Sprintf("%+v", everything(rep)); strings.Contains(all, reporttest.Mark) {
					at := strings.Index(all, reporttest.Mark)
					t.Errorf("%s: it is left in …%s…", name, all[max(0, at-120):min(len(all), at+60)])
				}
			}
		}
		if read == 0 {
			t.Errorf("%s: none of %d was read", name, tried)
		}
	}
}

// everything returns all content of a value as JSON.
func everything(v any) string {
	data, err := json.Marshal(v)
	if err != nil {
		return fmt.Sprintf("%+v", v)
	}
	return string(data)
}

// TestCredentialsRemovedFromSemgrepCIUploads does the same for the uploads of `semgrep ci`.
func TestCredentialsRemovedFromSemgrepCIUploads(t *testing.T) {
	const results = `{"findings":[{"check_id":"a","path":"a.py","line":1,"column":1,"end_line":1,"end_column":2,"message":"m","severity":2,"index":0,"commit_date":"1",
		"syntactic_id":"s","match_based_id":"m","hashes":{"start_line_hash":"a","end_line_hash":"b","code_hash":"c","pattern_hash":"d"},
		"metadata":{"source":"s","references":["r"],"category":"security"},"is_blocking":true,"fixed_lines":["f"],
		"sca_info":{"reachable":true,"reachability_rule":true,"sca_finding_schema":1,"dependency_match":{"dependency_pattern":{"ecosystem":"npm","package":"p","semver_range":"<2"},
		"found_dependency":{"package":"p","version":"1.0.0","ecosystem":"npm","allowed_hashes":{},"resolved_url":"u","transitivity":"direct","lockfile_path":"yarn.lock"},"lockfile":"yarn.lock"}}}],
		"ignores":[],"searched_paths":["a.py"],"skipped_paths":["b.py"],"renamed_paths":["c.py"],"rule_ids":["a"]}`
	const done = `{"exit_code":0,"stats":{"findings":1,"errors":[],"total_time":1.5,"unsupported_exts":{},"lockfile_scan_info":{},"parse_rate":{}},
		"dependencies":{"yarn.lock":[{"package":"left","version":"1.0.0","ecosystem":"npm","allowed_hashes":{},"resolved_url":"u","transitivity":"direct","line_number":3,
		"children":[{"package":"b","version":"1.0.0"}]},{"package":"b","version":"1.0.0","ecosystem":"npm","allowed_hashes":{},"transitivity":"transitive"}]},
		"dependency_parser_errors":[{"path":"x/package.json","parser":"p","reason":"r","line":1,"col":1,"text":"t"}],"task_id":"t"}`
	check := func(value any, err error) {
		t.Helper()
		if err != nil {
			value = err.Error()
		}
		if all := everything(value); strings.Contains(all, reporttest.Mark) {
			at := strings.Index(all, reporttest.Mark)
			t.Errorf("it is left in …%s…", all[max(0, at-120):min(len(all), at+60)])
		}
	}
	for _, text := range reporttest.Marked(t, []byte(results)) {
		reading, err := report.ReadCIResults(bytes.NewReader(text), report.Options{Key: []byte("k")})
		if err != nil {
			check(nil, err)
			continue
		}
		check(reading.Reports(nil), nil)
	}
	for _, text := range reporttest.Marked(t, []byte(done)) {
		completion, err := semgrep.ReadCICompletion(bytes.NewReader(text), report.Options{})
		check(completion, err)
	}
}
