package report

import (
	"fmt"
	"strings"
	"testing"

	"github.com/redoubt/redoubt/internal/report/format"
)

// TestTruncatedCodeHashCoversWholeCode checks that truncated code is distinguished by a hash of the whole
// code. The hash is independent of the layout.
func TestTruncatedCodeHashCoversWholeCode(t *testing.T) {
	for name, document := range map[string]string{
		"sarif":  `{"version":"2.1.0","runs":[{"tool":{"driver":{"name":"bandit","rules":[{"id":"r"}]}},"results":[{"ruleId":"r","message":{"text":"m"},"locations":[{"physicalLocation":{"artifactLocation":{"uri":"a.py"},"region":{"startLine":1,"snippet":{"text":%q}}}}]}]}]}`,
		"gitlab": `{"version":"15.0.7","scan":{"analyzer":{"id":"x","name":"x","version":"1","vendor":{"name":"x"}},"scanner":{"id":"x","name":"x","version":"1","vendor":{"name":"x"}},"type":"sast","status":"success","start_time":"2026-01-01T00:00:00","end_time":"2026-01-01T00:00:01"},"vulnerabilities":[{"id":"1","name":"n","message":"m","severity":"High","raw_source_code_extract":%q,"identifiers":[{"type":"x","name":"r","value":"r"}],"location":{"file":"a.py","start_line":1}}]}`,
		"trivy":  `{"SchemaVersion":2,"ArtifactName":"x","Results":[{"Target":"a.py","Class":"config","Type":"dockerfile","Misconfigurations":[{"ID":"r","Title":"t","Message":"m","Severity":"HIGH","Status":"FAIL","CauseMetadata":{"StartLine":1,"EndLine":1,"Code":{"Lines":[{"Number":1,"Content":%q,"IsCause":true}]}}}]}]}`,
	} {
		t.Run(name, func(t *testing.T) {
			read := func(code string) (string, string) {
				t.Helper()
				reports, err := Read(strings.NewReader(fmt.Sprintf(document, code)), format.Options{Key: []byte("k")})
				if err != nil || len(reports) != 1 || len(reports[0].Results) != 1 {
					t.Fatalf("%+v, %v", reports, err)
				}
				r := reports[0].Results[0]
				return r.Code, r.CodeHash
			}
			long := strings.Repeat("call(one, two, three) ", 4000)
			code, hash := read(long + "eval(a)")
			other, otherHash := read(long + "eval(b)")
			_, otherLayout := read("  " + strings.ReplaceAll(long, " ", "  ") + "eval(a)")
			if code != other || len(code) >= len(long) {
				t.Errorf("%d and %d bytes are kept of %d", len(code), len(other), len(long))
			}
			if hash == "" || hash == otherHash || hash != otherLayout {
				t.Errorf("hashes %q, of another end %q, of another layout %q", hash, otherHash, otherLayout)
			}
			if _, short := read("eval(a)"); short != "" {
				t.Errorf("code that is kept as a whole has the hash %q beside it", short)
			}
		})
	}
}
