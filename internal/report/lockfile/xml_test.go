package lockfile_test

import (
	"strings"
	"testing"

	"github.com/redoubt/redoubt/internal/report"
)

// TestLockfileEncodings checks the encodings of XML that build tools use.
func TestLockfileEncodings(t *testing.T) {
	const pom = `<?xml version="1.0" encoding="%"?><project><artifactId>b</artifactId><dependencies><dependency>` +
		"<!-- gr\xfc\xdfe --><groupId>a</groupId><artifactId>caf\xe9</artifactId><version>1</version></dependency></dependencies></project>"
	for encoding, want := range map[string]string{
		"ISO-8859-1": "a:café", "iso-8859-15": "a:café", "windows-1252": "a:café", "us-ascii": "a:café", "utf-32": "",
	} {
		text := strings.Replace(pom, "%", encoding, 1)
		reports, err := report.Read(strings.NewReader(text), report.Options{Name: "pom.xml"})
		switch {
		case want == "" && err == nil:
			t.Errorf("%s was taken", encoding)
		case want == "":
		case err != nil:
			t.Errorf("%s: %v", encoding, err)
		case len(reports[0].Inventories[0].Dependencies) != 1 || reports[0].Inventories[0].Dependencies[0].Name != want:
			t.Errorf("%s: %+v", encoding, reports[0].Inventories[0].Dependencies)
		}
	}
}
