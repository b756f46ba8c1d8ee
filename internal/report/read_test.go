package report

import (
	"bytes"
	"compress/gzip"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/google/go-cmp/cmp"

	"github.com/redoubt/redoubt/internal/model"
	"github.com/redoubt/redoubt/internal/report/format"
	"github.com/redoubt/redoubt/internal/report/read"
	"github.com/redoubt/redoubt/internal/testutil/reporttest"
)

func TestDetect(t *testing.T) {
	tests := []struct {
		name, head string
		want       format.Format
		hint       string // text in the error if there is no format
	}{
		{"x", `{"version":"2.1.0","runs":[{"tool":`, format.SARIF, ""},
		{"x", `{"$schema":"https://json.schemastore.org/sarif-2.1.0.json","versi`, format.SARIF, ""},
		{"package-lock.json", `{"runs":[]}`, format.SARIF, ""}, // content takes precedence over the name
		{"x", "\ufeff \n{\"results\":[{\"check_id\":\"a\"", format.SemgrepJSON, ""},
		{"x", `{"errors":[],"results":[],"skipped_rules":[]}`, format.SemgrepJSON, ""},
		{"x", `{"version":"1.0","results":[],"errors":[],"paths":{"scanned":[]},"interfile_languages_used":[]}`, format.SemgrepJSON, ""},
		{"x", `{"errors":[],"paths":{"scanned":["a.py"]},"results":[],"version":"0.90.0"}`, format.SemgrepJSON, ""},
		{"x", `{"scanned":1,"check_id":2}`, "", "sarif"},
		{"x", `{"$schema":"http://cyclonedx.org/schema/bom-1.6.schema.json","bom`, format.CycloneDXJSON, ""},
		{"x", `{"annotations":[{"runs":1}],"bomFormat":"CycloneDX"`, format.CycloneDXJSON, ""},
		{"x", `{"SPDXID":"SPDXRef-DOCUMENT","creationInfo":{`, format.SPDXJSON, ""},
		{"x", `<?xml version="1.0"?><!-- c --><bom xmlns="http://cyclonedx.org/schema/bom/1.4">`, format.CycloneDXXML, ""},
		{"a/pom.xml", `<project><modelVersion>`, format.Lockfile, ""},
		{`a\go.mod`, "module x\n", format.Lockfile, ""},
		{"requirements-dev.txt", "", format.Lockfile, ""},
		{"dev-requirements.txt", "", format.Lockfile, ""},
		{"x", `{"SchemaVersion":2,"Results":[]}`, format.TrivyJSON, ""},
		{"x", `[{"RuleID":"a"}]`, format.GitleaksJSON, ""},
		{"x", "{\"level\":\"info-0\",\"msg\":\"x\"}\n{\"SourceMetadata\":{}}", format.TruffleHogJSON, ""},
		{"x", `{"config":{"protocol_version":"v1.0.0"}}{"finding":{}}`, format.GovulncheckJSON, ""},
		{"x", `{"matches":[],"source":{},"descriptor":{"name":"grype"}}`, format.GrypeJSON, ""},
		{"x", `{"vulnerabilities":[],"bomFormat":"CycloneDX"}`, format.CycloneDXJSON, ""},
		{"package-lock.json", `{"lockfileVersion":1,"dependencies":{"analyzer":{},"identifiers":{},"packages":{},"check_id":{}}}`, format.Lockfile, ""},
		{"x", `{"results":[{"source":{},"packages":[]}]}`, format.OSVScannerJSON, ""},
		{"x", `{"dependencies":[{"name":"a","version":"1","vulns":[]}]}`, format.PipAuditJSON, ""},
		{"x", `{"auditReportVersion":2,"vulnerabilities":{}}`, format.NPMAuditJSON, ""},
		{"x", `{"actions":[],"advisories":{},"muted":[]}`, format.NPMAuditJSON, ""},
		{"x", "{\"type\":\"auditSummary\",\"data\":{}}", format.NPMAuditJSON, ""},
		{"x", `{"scan_info":{"app_path":"/a","brakeman_version":"7.1.0"},"warnings":[]}`, format.BrakemanJSON, ""},
		{"x", `{"version":"15.0.4","scan":{"analyzer":{}}}`, format.GitLabJSON, ""},
		{"x", `{"errors":[],"results":[{"test_id":"B1"}]}`, "", "bandit with -f sarif"},
		{"x", `{"@context":"x","@graph":[]}`, "", "SPDX 2.3"},
		{"x", `{"version":"15.0","vulnerabilities":[]}`, "", "gitlab-json"},
		{"x", `{"a":{"runs":[]},"b":[{"SPDXID":1}]}`, "", "sarif"},
		{"x", "", "", "empty"},
		{"x", "hello", "", "package-lock.json"},
	}
	for _, test := range tests {
		got, err := Detect(test.name, []byte(test.head))
		if got != test.want || (test.hint != "") != (err != nil) || err != nil && !strings.Contains(err.Error(), test.hint) {
			t.Errorf("Detect(%q, %.50q) = %q, %v; want %q or an error with %q", test.name, test.head, got, err, test.want, test.hint)
		}
	}
}

func TestEveryReaderHasFormat(t *testing.T) {
	seen := map[format.Format]bool{}
	for _, f := range Formats() {
		seen[f.Format] = true
		if readers[f.Format] == nil || f.Title == "" || f.From == "" {
			t.Errorf("format %q is not whole", f.Format)
		}
	}
	if len(seen) != len(readers) {
		t.Errorf("%d formats for %d readers", len(seen), len(readers))
	}
}

// validFiles returns the valid files of testdata, including lockfiles, by name.
func validFiles(t *testing.T) map[string][]byte {
	t.Helper()
	files := map[string][]byte{}
	for _, folder := range []string{"testdata", "lockfile/testdata"} {
		for _, name := range reporttest.Inputs(t, folder) {
			data, err := os.ReadFile(filepath.Join(folder, name))
			if err != nil {
				t.Fatal(err)
			}
			if _, err := Read(bytes.NewReader(data), format.Options{Name: name}); err == nil {
				files[folder+"/"+name] = data
			}
		}
	}
	return files
}

// TestTruncatedReports checks that truncated reports are errors. Lockfiles in a line format are excluded,
// because truncation cannot be detected.
func TestTruncatedReports(t *testing.T) {
	for name, data := range validFiles(t) {
		as, err := Detect(name, data)
		if err != nil || as == format.Lockfile && !strings.HasSuffix(name, ".json") {
			continue
		}
		data = bytes.TrimRight(data, " \r\n")
		for i := 1; i <= 40; i++ {
			short := data[:len(data)*i/41]
			_, err := Read(bytes.NewReader(short), format.Options{Name: name, Format: as})
			var broken *format.FileError
			if !errors.As(err, &broken) {
				t.Fatalf("%s: the first %d of %d bytes gave %v", name, len(short), len(data), err)
			}
			if len(short) > 100 && broken.Offset <= 0 && broken.Where == "" {
				t.Errorf("%s: cut at %d: %v does not say where", name, len(short), err)
			}
		}
	}
}

// TestInputEncodings checks that compression, short reads and byte order marks do not change the report.
func TestInputEncodings(t *testing.T) {
	for name, data := range validFiles(t) {
		if len(data) > 20<<10 {
			continue
		}
		want, err := Read(bytes.NewReader(data), format.Options{Name: name, Key: testKey})
		if err != nil {
			t.Fatal(err)
		}
		var packed bytes.Buffer
		z := gzip.NewWriter(&packed)
		z.Write(data)
		z.Close()
		for how, r := range map[string]io.Reader{
			"gzip":         &packed,
			"byte by byte": iotest.OneByteReader(bytes.NewReader(data)),
			"with a mark":  io.MultiReader(strings.NewReader("\ufeff"), bytes.NewReader(data)),
		} {
			got, err := Read(r, format.Options{Name: name, Key: testKey})
			if err != nil {
				t.Errorf("%s, %s: %v", name, how, err)
			} else if diff := cmp.Diff(reporttest.Dump(want), reporttest.Dump(got)); diff != "" {
				t.Errorf("%s, %s: differs\n%s", name, how, diff)
			}
		}
	}
}

func TestFileErrors(t *testing.T) {
	var packed bytes.Buffer
	z := gzip.NewWriter(&packed)
	io.WriteString(z, `{"runs":[]}`+strings.Repeat(" ", 1<<20))
	z.Close()
	damaged := bytes.Clone(packed.Bytes())
	damaged[len(damaged)-6] ^= 1
	result := `{"ruleId":"r","message":{"text":"m"},"locations":[{"physicalLocation":{"artifactLocation":{"uri":"a"}}}]}`
	tests := []struct {
		name   string
		data   string
		limits format.Limits
		want   []string // all in the message
		cause  error
	}{
		{"cut", `{"runs":[{"results":[` + result, format.Limits{}, []string{"ends too early", "byte", "runs[0].results", "complete file"}, read.ErrTruncated},
		{"two reports", `{"runs":[]}{"runs":[]}`, format.Limits{}, []string{"followed by more text", "one report per file"}, read.ErrTrailing},
		{"garbage after", `{"runs":[]} x`, format.Limits{}, []string{"followed by more text"}, read.ErrTrailing},
		{"not JSON", `{"runs":[{"results":[{"ruleId" 7}]}]}`, format.Limits{}, []string{"invalid character", "runs[0].results[0]", "byte"}, nil},
		{"wrong shape", `{"runs":{}}`, format.Limits{}, []string{"expected a list", "runs"}, nil},
		{"UTF-16", "\xff\xfe{\x00}\x00", format.Limits{}, []string{"UTF-16", "PowerShell"}, format.ErrUTF16},
		{"damaged gzip", string(damaged), format.Limits{}, []string{"gzip stream is damaged"}, gzip.ErrChecksum},
		{"cut gzip", packed.String()[:packed.Len()-3], format.Limits{}, []string{"ends too early"}, read.ErrTruncated},
		{"inflated over the limit", packed.String(), format.Limits{Input: 1 << 16}, []string{"the file is too large", "65536"}, model.ErrTooLarge},
		{
			"item over the limit", `{"runs":[{"results":[{"x":"` + strings.Repeat("x", 1<<20) + `"}]}]}`,
			format.Limits{Item: 1 << 10},
			[]string{"one item of the file is too large", "runs[0].results[0]"},
			model.ErrTooLarge,
		},
		{"too many", `{"runs":[{"results":[` + result + "," + result + `]}]}`, format.Limits{Items: 1}, []string{"runs[0].results", "limit 1"}, model.ErrTooLarge},
		{"unknown", "???", format.Limits{}, []string{"unknown file format", "--format", "sarif"}, nil},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			reports, err := Read(strings.NewReader(test.data), format.Options{Name: "dir/x.sarif", Limits: test.limits})
			var broken *format.FileError
			if !errors.As(err, &broken) || reports != nil {
				t.Fatalf("Read = %v, %v; want only an error", reports, err)
			}
			for _, want := range append(test.want, "dir/x.sarif") {
				if !strings.Contains(err.Error(), want) {
					t.Errorf("%q does not say %q", err, want)
				}
			}
			if test.cause != nil && !errors.Is(err, test.cause) {
				t.Errorf("%v is not a %v", err, test.cause)
			}
		})
	}
}

func TestDocumentLimit(t *testing.T) {
	_, err := Read(strings.NewReader("module x\n"+strings.Repeat("// x\n", 100)), format.Options{Name: "go.mod", Limits: format.Limits{Document: 100}})
	if !errors.Is(err, model.ErrTooLarge) {
		t.Errorf("a lockfile over the limit gave %v", err)
	}
	_, err = Read(strings.NewReader("a==1\nb==1\nc==1\n"), format.Options{Name: "requirements.txt", Limits: format.Limits{Items: 2}})
	if !errors.Is(err, model.ErrTooLarge) {
		t.Errorf("a lockfile with too many dependencies gave %v", err)
	}
}

// TestDeepNesting checks that deeply nested input is rejected quickly in every format.
func TestDeepNesting(t *testing.T) {
	const n = 1 << 20
	deep := func(begin, unit, end string) string { return begin + strings.Repeat(unit, n) + end }
	for name, text := range map[string]string{
		"poetry.lock":       deep("x = ", "[", ""),
		"Cargo.lock":        deep("", "a.", "a = 1"),
		"x.sarif":           deep(`{"runs":[],"x":`, "[", ""),
		"y.sarif":           deep(`{"runs":[{"results":[`, "[", ""),
		"x.cdx.json":        deep(`{"bomFormat":"CycloneDX","metadata":`, `{"a":`, ""),
		"bom.xml":           deep(`<bom xmlns="http://cyclonedx.org/schema/bom/1.4">`, "<components>", ""),
		"pom.xml":           deep("<project>", "<a>", ""),
		"pnpm-lock.yaml":    deep("a: ", "{a: ", ""),
		"package-lock.json": deep(`{"dependencies":`, `{"a":{"dependencies":`, ""),
		"bun.lock":          deep(`{"packages":`, `{"a":`, ""),
	} {
		if _, err := Read(strings.NewReader(text), format.Options{Name: name}); err == nil {
			t.Errorf("%s was taken", name)
		}
	}
}

// TestLongStrings checks that strings are truncated and long paths refused.
func TestLongStrings(t *testing.T) {
	long := strings.Repeat("é", read.MaxBlock)
	r := readOne(t, "x", `{"results":[{"check_id":"`+long+`","path":"a.py","extra":{"message":"`+long+`","lines":"`+long+`","metadata":{}}},
		{"check_id":"a","path":"`+long+`","extra":{"metadata":{}}}],"skipped_rules":[]}`)
	if len(r.Results) != 1 || len(r.Refused) != 1 {
		t.Fatalf("%d results, %d refused", len(r.Results), len(r.Refused))
	}
	if got := r.Results[0]; len(got.Message) != read.MaxBlock || len(got.Code) != read.MaxBlock || len(got.Rule.Name) != read.MaxName {
		t.Errorf("message %d, code %d, name %d bytes", len(got.Message), len(got.Code), len(got.Rule.Name))
	}
}

func TestNameOutsideTheRepository(t *testing.T) {
	for name, want := range map[string]string{
		"web/package-lock.json":                  "web/package-lock.json",
		"./package-lock.json":                    "package-lock.json",
		"/home/dev/shop/package-lock.json":       "package-lock.json",
		"../shop/package-lock.json":              "package-lock.json",
		`C:\shop\package-lock.json`:              "package-lock.json",
		"/home/dev/repo/web/npm-shrinkwrap.json": "web/npm-shrinkwrap.json",
	} {
		reports, err := Read(strings.NewReader(`{"lockfileVersion":3,"packages":{}}`), format.Options{Name: name, Root: "/home/dev/repo"})
		if err != nil {
			t.Fatal(err)
		}
		if got := reports[0].Inventories[0].Lockfile; got != want {
			t.Errorf("%s is the lockfile %q, want %q", name, got, want)
		}
	}
}

// TestMerge checks that runs of one tool and category become one report. It contains searched paths
// only if all of the runs do.
func TestMerge(t *testing.T) {
	run := func(tool, rest string) string {
		return `{"tool":{"driver":{"name":"` + tool + `"}},"results":[{"ruleId":"r","locations":[{"physicalLocation":{"artifactLocation":{"uri":"a"}}}]}]` + rest + `}`
	}
	looked := `,"artifacts":[{"location":{"uri":"a"},"roles":["analysisTarget"]}]`
	reports := readText(t, "x.sarif", `{"runs":[`+strings.Join([]string{
		run("One", looked), run("Two", looked), run("one", looked), run("Two", ""),
		run("Two", `,"automationDetails":{"id":"nightly/1"}`),
	}, ",")+`]}`)
	var got []string
	for _, r := range reports {
		got = append(got, strings.Join([]string{r.Tool, r.Category, strings.Repeat("x", len(r.Results)), strings.Join(r.Searched, " ")}, "|"))
	}
	if diff := cmp.Diff([]string{"one||xx|a", "two||xx|", "two|nightly|x|"}, got); diff != "" {
		t.Errorf("reports (-want +got)\n%s", diff)
	}
	reports, err := Read(strings.NewReader(`{"runs":[`+run("Two", `,"automationDetails":{"id":"nightly/1"}`)+`]}`), format.Options{Category: "mine"})
	if err != nil || reports[0].Category != "mine" {
		t.Errorf("a category that is given does not beat the report's: %v, %v", reports, err)
	}
}
