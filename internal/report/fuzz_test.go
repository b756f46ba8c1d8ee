package report

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/redoubt/redoubt/internal/report/format"
	"github.com/redoubt/redoubt/internal/testutil/reporttest"
)

// small are low limits, so that fuzzing reaches them.
var small = format.Limits{Input: 1 << 20, Document: 1 << 20, Item: 64 << 10, Items: 1000}

// seed adds the files of testdata with a format.
func seed(f *testing.F, as format.Format) {
	f.Helper()
	for _, name := range inputs(f) {
		data, err := os.ReadFile(filepath.Join("testdata", name))
		if err != nil {
			f.Fatal(err)
		}
		if found, err := Detect(name, data); err == nil && found == as && len(data) < 8<<10 {
			f.Add(data)
		}
	}
}

// fuzzFormat reads arbitrary data as one format. It must not panic, and reports must satisfy their
// invariants. Truncated reports must be errors.
func fuzzFormat(f *testing.F, as format.Format) {
	f.Helper()
	seed(f, as)
	f.Fuzz(func(t *testing.T, data []byte) {
		o := format.Options{Name: "report", Format: as, Key: testKey, Limits: small}
		reports, err := Read(bytes.NewReader(data), o)
		if err != nil {
			return
		}
		for _, r := range reports {
			reporttest.Check(t, r)
		}
		short := bytes.TrimRight(data, " \t\r\n")
		if len(short) == 0 || bytes.HasPrefix(data, []byte{0x1f, 0x8b}) {
			return
		}
		if _, err := Read(bytes.NewReader(short[:len(short)-1]), o); err == nil && !strings.HasSuffix(string(short), "-->") {
			t.Errorf("the same without its last byte was taken too")
		}
	})
}

func FuzzSemgrep(f *testing.F)       { fuzzFormat(f, format.SemgrepJSON) }
func FuzzSARIF(f *testing.F)         { fuzzFormat(f, format.SARIF) }
func FuzzGitleaks(f *testing.F)      { fuzzFormat(f, format.GitleaksJSON) }
func FuzzGitLab(f *testing.F)        { fuzzFormat(f, format.GitLabJSON) }
func FuzzTrivy(f *testing.F)         { fuzzFormat(f, format.TrivyJSON) }
func FuzzGrype(f *testing.F)         { fuzzFormat(f, format.GrypeJSON) }
func FuzzGovulncheck(f *testing.F)   { fuzzFormat(f, format.GovulncheckJSON) }
func FuzzOSVScanner(f *testing.F)    { fuzzFormat(f, format.OSVScannerJSON) }
func FuzzOpenVEX(f *testing.F)       { fuzzFormat(f, format.OpenVEXJSON) }
func FuzzPipAudit(f *testing.F)      { fuzzFormat(f, format.PipAuditJSON) }
func FuzzNPMAudit(f *testing.F)      { fuzzFormat(f, format.NPMAuditJSON) }
func FuzzBrakeman(f *testing.F)      { fuzzFormat(f, format.BrakemanJSON) }
func FuzzTruffleHog(f *testing.F)    { fuzzFormat(f, format.TruffleHogJSON) }
func FuzzCycloneDXJSON(f *testing.F) { fuzzFormat(f, format.CycloneDXJSON) }
func FuzzCycloneDXXML(f *testing.F)  { fuzzFormat(f, format.CycloneDXXML) }
func FuzzSPDX(f *testing.F)          { fuzzFormat(f, format.SPDXJSON) }

// FuzzDetect checks that Detect does not panic and that each detected format has a reader.
func FuzzDetect(f *testing.F) {
	for _, folder := range []string{"testdata", "lockfile/testdata"} {
		for _, name := range reporttest.Inputs(f, folder) {
			data, err := os.ReadFile(filepath.Join(folder, name))
			if err != nil {
				f.Fatal(err)
			}
			f.Add(name, data[:min(len(data), 4<<10)])
		}
	}
	f.Fuzz(func(t *testing.T, name string, head []byte) {
		as, err := Detect(name, head)
		if err == nil && readers[as] == nil {
			t.Errorf("format %q has no reader", as)
		}
	})
}
