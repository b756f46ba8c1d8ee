package sbom

import (
	"bytes"
	"fmt"
	"net/mail"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/redoubt/redoubt/internal/model"
)

// request returns the request for a format such as "cyclonedx 1.5 xml".
func request(name string) model.SBOMRequest {
	words := strings.Fields(name)
	r := model.SBOMRequest{Format: model.CycloneDX, Version: words[1], XML: words[2] == "xml", ProjectID: 7, ComponentType: "application"}
	switch words[0] {
	case "spdx":
		r.Format = model.SPDX
	case "openvex":
		r.Format = model.OpenVEX
	}
	return r
}

var (
	jsonOutputs = []string{"cyclonedx 1.4 json", "cyclonedx 1.5 json", "cyclonedx 1.6 json", "spdx 2.3 json"}
	vexOutput   = "openvex 0.2.0 json"
	xmlOutputs  = []string{"cyclonedx 1.4 xml", "cyclonedx 1.5 xml", "cyclonedx 1.6 xml"}
)

const schemas = "testdata/schemas"

// schemaFiles maps the addresses of the official JSON schemas to files.
var schemaFiles = map[string]string{
	"http://cyclonedx.org/schema/bom-1.4.schema.json":  schemas + "/bom-1.4.schema.json",
	"http://cyclonedx.org/schema/bom-1.5.schema.json":  schemas + "/bom-1.5.schema.json",
	"http://cyclonedx.org/schema/bom-1.6.schema.json":  schemas + "/bom-1.6.schema.json",
	"http://cyclonedx.org/schema/jsf-0.82.schema.json": schemas + "/jsf-0.82.schema.json",
	"http://cyclonedx.org/schema/spdx.schema.json":     "spdx.schema.json",
	"http://spdx.org/rdf/terms/2.3":                    schemas + "/spdx-2.3.schema.json",
	openVEXSchema:                                      schemas + "/openvex-0.2.0.schema.json",
}

const openVEXSchema = "https://github.com/openvex/spec/openvex_json_schema_0.2.0.json"

// compiled returns the schemas by output.
var compiled = sync.OnceValues(func() (map[string]*jsonschema.Schema, error) {
	c := jsonschema.NewCompiler()
	c.RegisterFormat(&jsonschema.Format{Name: "idn-email", Validate: func(v any) error {
		if s, ok := v.(string); ok {
			_, err := mail.ParseAddress(s)
			return err
		}
		return nil
	}})
	c.AssertFormat()
	for address, path := range schemaFiles {
		content, err := os.ReadFile(path)
		if err != nil {
			return nil, err
		}
		doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(content))
		if err != nil {
			return nil, fmt.Errorf("%s: %w", path, err)
		}
		if err := c.AddResource(address, doc); err != nil {
			return nil, err
		}
	}
	out := map[string]*jsonschema.Schema{}
	for _, name := range append([]string{vexOutput}, jsonOutputs...) {
		address := "http://spdx.org/rdf/terms/2.3"
		switch r := request(name); r.Format {
		case model.CycloneDX:
			address = "http://cyclonedx.org/schema/bom-" + r.Version + ".schema.json"
		case model.OpenVEX:
			address = openVEXSchema
		}
		schema, err := c.Compile(address)
		if err != nil {
			return nil, err
		}
		out[name] = schema
	}
	return out, nil
})

// checkJSON validates a document against the official schema.
func checkJSON(output string, doc []byte) error {
	all, err := compiled()
	if err != nil {
		return err
	}
	value, err := jsonschema.UnmarshalJSON(bytes.NewReader(doc))
	if err != nil {
		return err
	}
	return all[output].Validate(value)
}

// checkXML validates documents against the official schema with xmllint.
func checkXML(t *testing.T, output string, docs ...[]byte) {
	t.Helper()
	xmllint, err := exec.LookPath("xmllint")
	if err != nil {
		t.Skip("no xmllint here (Debian: libxml2-utils), so nothing to hold XML against its schema")
	}
	catalog, err := filepath.Abs(schemas + "/xmlcatalog.xml")
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	args := []string{"--nonet", "--noout", "--schema", schemas + "/bom-" + request(output).Version + ".xsd"}
	for i, doc := range docs {
		path := filepath.Join(dir, fmt.Sprintf("%d.xml", i))
		if err := os.WriteFile(path, doc, 0o600); err != nil {
			t.Fatal(err)
		}
		args = append(args, path)
	}
	cmd := exec.CommandContext(t.Context(), xmllint, args...)
	cmd.Env = append(os.Environ(), "XML_CATALOG_FILES="+catalog)
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("xmllint: %v\n%s", err, out[:min(len(out), 4000)])
	}
}

func write(t interface {
	Helper()
	Fatalf(format string, args ...any)
}, r model.SBOMRequest, c Content,
) []byte {
	t.Helper()
	var buf bytes.Buffer
	if _, err := Write(&buf, r, c); err != nil {
		t.Fatalf("Write %s %s: %v", r.Format, r.Version, err)
	}
	return buf.Bytes()
}

// TestValidatorsRejectInvalidDocuments checks that the validators reject invalid documents.
func TestValidatorsRejectInvalidDocuments(t *testing.T) {
	for _, output := range jsonOutputs {
		if err := checkJSON(output, []byte(`{"bomFormat":"Cyclone","specVersion":"1.5","version":1}`)); err == nil {
			t.Errorf("%s: a wrong document is taken for valid", output)
		}
		doc := write(t, request(output), sample())
		bad := bytes.Replace(doc, []byte(`"MIT"`), []byte(`17`), 1)
		if err := checkJSON(output, bad); bytes.Equal(doc, bad) || err == nil {
			t.Errorf("%s: a number for a licence is taken for valid", output)
		}
	}
}
