package report

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/redoubt/redoubt/internal/model"
	"github.com/redoubt/redoubt/internal/report/format"
	"github.com/redoubt/redoubt/internal/report/read"
	"github.com/redoubt/redoubt/internal/report/secrets"
	"github.com/redoubt/redoubt/internal/report/vex"
)

// openVEXOf returns a document with one statement about products, with a text.
func openVEXOf(products []string, impact string) string {
	return `{"@context":"https://openvex.dev/ns/v0.2.0","@id":"urn:d","author":"a","version":1,"statements":[{"vulnerability":{"name":"CVE-1"},
		"status":"not_affected","impact_statement":"` + impact + `","products":[` + strings.Join(products, ",") + `]}]}`
}

// cycloneDXOf returns a document with one analysis. With components it is an SBOM, otherwise a VEX
// document.
func cycloneDXOf(components string, ids, refs []string, detail string) string {
	var references, affects []string
	for _, id := range ids {
		references = append(references, `{"id":"`+id+`","source":{"name":"s"}}`)
	}
	for _, ref := range refs {
		affects = append(affects, `{"ref":"`+ref+`"}`)
	}
	return `{"bomFormat":"CycloneDX","specVersion":"1.6","serialNumber":"urn:uuid:3e671687-395b-41f5-a30f-a58921a69b79","version":1,
		"components":[` + components + `],"vulnerabilities":[{"id":"CVE-1","references":[` + strings.Join(references, ",") + `],
		"analysis":{"state":"not_affected","detail":"` + detail + `"},"affects":[` + strings.Join(affects, ",") + `]}]}`
}

const libP = `{"type":"library","bom-ref":"p","name":"p","version":"1","purl":"pkg:npm/p@1"}`

func numbered(n int, format string) (list []string) {
	for i := range n {
		list = append(list, fmt.Sprintf(format, i))
	}
	return list
}

func repeated(n int, list ...string) (all []string) {
	for range n {
		all = append(all, list...)
	}
	return all
}

// TestVEXTimesOutOfRangeAreIgnored checks that times outside of the years 1 to 9999 are ignored.
func TestVEXTimesOutOfRangeAreIgnored(t *testing.T) {
	for _, at := range []string{"9999-12-31T23:59:59-14:00", "0000-06-01T00:00:00Z", "0001-01-01T00:00:00+14:00"} {
		text := strings.Replace(openVEXOf([]string{`"pkg:npm/p"`}, "x"), `"version":1`, `"version":1,"timestamp":"`+at+`"`, 1)
		if d := readText(t, "x.json", text)[0].VEX[0]; !d.IssuedAt.IsZero() {
			t.Errorf("%s is read as %s", at, d.IssuedAt)
		}
	}
}

func TestDuplicateVEXProductsAreMerged(t *testing.T) {
	inside := `{"@id":"urn:x","subcomponents":[{"@id":"pkg:npm/p"},{"@id":"pkg:npm/p"}]}`
	other := `{"@id":"urn:x","subcomponents":[{"@id":"pkg:npm/q"}]}`
	for name, test := range map[string]struct {
		text string
		want []string
	}{
		"products":      {openVEXOf(repeated(500, `"urn:x"`, `"urn:y"`), "x"), []string{`["urn:x"] []`, `["urn:y"] []`}},
		"packages":      {openVEXOf(repeated(500, `"pkg:npm/p"`, `"pkg:npm/p@1"`), "x"), []string{`[] [{"npm/p" ""} {"npm/p" "1"}]`}},
		"subcomponents": {openVEXOf(repeated(500, inside, other), "x"), []string{`["urn:x"] [{"npm/p" ""}]`, `["urn:x"] [{"npm/q" ""}]`}},
		"alone":         {cycloneDXOf("", nil, repeated(500, "pkg:npm/p@1", "pkg:npm/q"), "x"), []string{`[] [{"npm/p" "1"}]`, `[] [{"npm/q" ""}]`}},
		"of an SBOM":    {cycloneDXOf(libP, nil, repeated(500, "p"), "x"), []string{`[] [{"npm/p" "1"}]`}},
	} {
		t.Run(name, func(t *testing.T) {
			reports := readText(t, "x.json", test.text)
			var got []string
			for i := range reports[0].VEX[0].Statements {
				got = append(got, vex.About(&reports[0].VEX[0].Statements[i]))
			}
			if len(reports[0].Refused) > 0 || strings.Join(got, "\n") != strings.Join(test.want, "\n") {
				t.Errorf("statements are about %q, refused %v, want %q", got, reports[0].Refused, test.want)
			}
		})
	}
}

// TestVEXSizeLimit checks the limit, which is reached by a text of 64 KiB about a thousand
// products.
func TestVEXSizeLimit(t *testing.T) {
	long := strings.Repeat("x ", read.MaxBlock/2-1)
	for name, text := range map[string]string{
		"OpenVEX": openVEXOf(numbered(1100, `"urn:x:%d"`), long),
		"an SBOM": cycloneDXOf(libP, nil, numbered(1100, "pkg:npm/p%d"), long),
	} {
		_, err := Read(strings.NewReader(text), format.Options{Name: "x.json"})
		if !errors.Is(err, model.ErrTooLarge) || !strings.Contains(fmt.Sprint(err), "the content of the statements") {
			t.Errorf("%s: the error is %v", name, err)
		}
	}
	alone := readText(t, "x.json", cycloneDXOf("", nil, numbered(1100, "pkg:npm/p%d"), long))[0]
	if len(alone.VEX) != 0 || len(alone.Refused) != 1 || !strings.Contains(alone.Refused[0].Reason, "the content of the statements") {
		t.Errorf("a document alone has %d documents, refused %v", len(alone.VEX), alone.Refused)
	}
	for name, text := range map[string]string{
		"OpenVEX": openVEXOf(numbered(900, `"urn:x:%d"`), long), "alone": cycloneDXOf("", nil, numbered(900, "pkg:npm/p%d"), long),
	} {
		if got := readText(t, "x.json", text)[0]; len(got.VEX) != 1 || len(got.VEX[0].Statements) != 900 {
			t.Errorf("%s: 900 products were not read", name)
		}
	}
}

func TestCycloneDXAffectsLimit(t *testing.T) {
	o := format.Options{Name: "x.json", Limits: format.Limits{Items: 10}}
	if _, err := Read(strings.NewReader(cycloneDXOf(libP, nil, numbered(9, "pkg:npm/p%d"), "x")), o); !errors.Is(err, model.ErrTooLarge) {
		t.Errorf("the error of an SBOM is %v", err)
	}
	reports, err := Read(strings.NewReader(cycloneDXOf("", nil, numbered(9, "pkg:npm/p%d"), "x")), o)
	if err != nil || len(reports[0].VEX) != 0 || len(reports[0].Refused) != 1 || !strings.Contains(reports[0].Refused[0].Reason, "limit 10") {
		t.Errorf("a document alone is %+v, %v", reports, err)
	}
}

func TestVulnerabilityNameLimit(t *testing.T) {
	rep := readText(t, "x.json", cycloneDXOf("", append([]string{"cve-1", "ghsa-1"}, numbered(20_000, "GHSA-%d")...), []string{"pkg:npm/p"}, "x"))[0]
	names := rep.VEX[0].Statements[0].Names
	if len(names) < read.MaxList-5 || len(names) > read.MaxList || names[0] != "CVE-1" || names[1] != "GHSA-1" {
		t.Errorf("it has %d names, %q first", len(names), names[:2])
	}
}

// TestSecretsRemovedFromVEX checks that secrets are removed from VEX documents
// (docs/reference/secrets.md).
func TestSecretsRemovedFromVEX(t *testing.T) {
	secret := "gh" + "p_" + strings.Repeat("a1B2c3", 6)
	own := `"status_notes":"Redoubt triage: ignored, false_positive. see ` + secret + `",`
	text := openVEXOf([]string{`"urn:x"`, `"urn:y"`}, "test with "+secret)
	for name, text := range map[string]string{
		"detail":     text,
		"author":     strings.Replace(text, `"author":"a"`, `"author":"`+secret+`"`, 1),
		"own":        strings.Replace(text, `"status":`, own+`"status":`, 1),
		"CycloneDX":  cycloneDXOf("", nil, []string{"pkg:npm/p"}, "test with "+secret),
		"of an SBOM": cycloneDXOf(libP, nil, []string{"p"}, "test with "+secret),
	} {
		d := readText(t, "x.json", text)[0].VEX[0]
		if name == "own" && d.Statements[0].Own == nil {
			t.Error("own: the triage was not read")
		}
		if got := fmt.Sprintf("%+v %+v", d, d.Statements[0].Triage()); strings.Contains(got, secret) || !strings.Contains(got, secrets.Redacted) {
			t.Errorf("%s: the document is %s", name, got)
		}
	}
}

// TestVEXDetection checks that a document is not an SBOM if it lists only the components
// it makes statements about.
func TestVEXDetection(t *testing.T) {
	const (
		libQ      = `{"type":"library","bom-ref":"q","name":"q","version":"1","purl":"pkg:npm/q@1"}`
		product   = `{"type":"application","bom-ref":"app","name":"acme/pay","version":"1","purl":"pkg:github/acme/pay@1"}`
		statement = `{"id":"CVE-1","analysis":{"state":"not_affected"},"affects":[{"ref":"p"},{"ref":"pkg:npm/other@2"}]}`
		open      = `{"id":"CVE-2","affects":[{"ref":"p"}]}`
		noted     = `{"type":"library","bom-ref":"p","name":"p","version":"1","purl":"pkg:npm/p@1","properties":[{"name":"redoubt:lockfile","value":"yarn.lock"}]}`
	)
	for name, test := range map[string]struct {
		components, vulnerabilities, more string
		vex                               bool
	}{
		"nothing but statements":              {"", strings.Replace(statement, `"p"`, `"pkg:npm/p@1"`, 1), "", true},
		"the component it speaks of":          {libP, statement, "", true},
		"the product too":                     {libP + "," + product, statement, "", true},
		"another component":                   {libP + "," + libQ, statement, "", false},
		"a vulnerability without an analysis": {libP, statement + "," + open, "", false},
		"which component needs which":         {libP, statement, `,"dependencies":[{"ref":"p"}]`, false},
		"no statement":                        {libP, open, "", false},
		"a component of Redoubt's":            {noted, statement, "", false},
	} {
		text := `{"bomFormat":"CycloneDX","specVersion":"1.6","version":1,"components":[` + test.components + `],"vulnerabilities":[` + test.vulnerabilities + `]` + test.more + `}`
		reports, err := Read(strings.NewReader(text), format.Options{Name: "x.cdx.json"})
		if err != nil || len(reports) != 1 {
			t.Fatalf("%s: %v, %d reports", name, err, len(reports))
		}
		r := reports[0]
		if vex := r.Tool == model.ToolVEX; vex != test.vex || vex != (len(r.Inventories) == 0) || vex && len(r.Results) > 0 {
			t.Errorf("%s: a VEX %v, with %d inventories and %d findings", name, vex, len(r.Inventories), len(r.Results))
		}
		if len(r.Refused) > 0 {
			t.Errorf("%s: refused %v, though the package URL has an effect", name, r.Refused)
		}
		if strings.Contains(test.vulnerabilities, "analysis") && (len(r.VEX) != 1 || len(r.VEX[0].Statements) != 2) {
			t.Errorf("%s: the statements are %+v", name, r.VEX)
		}
	}
}
