package sbom

import (
	"bytes"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/redoubt/redoubt/internal/model"
)

func TestCheck(t *testing.T) {
	tests := []struct {
		name string
		edit func(*model.SBOMRequest)
		want []string // locations
	}{
		{name: "as it is", edit: func(*model.SBOMRequest) {}},
		{name: "an unknown format", edit: func(r *model.SBOMRequest) { r.Format = "SBOM_FORMAT_SWID" }, want: []string{"body.formatVersion.format"}},
		{name: "a version to come", edit: func(r *model.SBOMRequest) { r.Version = "1.7" }, want: []string{"body.formatVersion.version"}},
		{name: "the other format's version", edit: func(r *model.SBOMRequest) { r.Format = model.SPDX }, want: []string{"body.formatVersion.version"}},
		{
			name: "SPDX as XML", edit: func(r *model.SBOMRequest) { r.Format, r.Version, r.XML = model.SPDX, "2.3", true },
			want: []string{"body.sbomOutputFormat"},
		},
		{name: "no component type", edit: func(r *model.SBOMRequest) { r.ComponentType = "" }, want: []string{"body.metadataComponentType"}},
		{name: "a relative address", edit: func(r *model.SBOMRequest) { r.Supplier.URL = "acme.example.com" }, want: []string{"body.metadataSupplier.url"}},
		{name: "another scheme", edit: func(r *model.SBOMRequest) { r.Supplier.URL = "javascript:alert(1)" }, want: []string{"body.metadataSupplier.url"}},
		{name: "no address", edit: func(r *model.SBOMRequest) { r.Supplier.Contact.Email = "Jane <jane@example.com>" }, want: []string{"body.metadataSupplier.contact.email"}},
		{
			name: "all at once",
			edit: func(r *model.SBOMRequest) {
				r.Version, r.ComponentType, r.Supplier.URL, r.Supplier.Contact.Email = "9", "car", "x", "x"
			},
			want: []string{"body.formatVersion.version", "body.metadataComponentType", "body.metadataSupplier.url", "body.metadataSupplier.contact.email"},
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			r := sampleRequest("cyclonedx 1.5 json")
			tt.edit(&r)
			var got []string
			if err := Check(r); err != nil {
				var invalid *model.InvalidError
				if !errors.As(err, &invalid) {
					t.Fatalf("%v is no InvalidError", err)
				}
				for _, f := range invalid.Fields {
					got = append(got, f.Location)
				}
			}
			if !slices.Equal(got, tt.want) {
				t.Errorf("bad members = %v, want %v", got, tt.want)
			}
			if _, err := Write(&bytes.Buffer{}, r, sample()); (err == nil) != (tt.want == nil) {
				t.Errorf("Write says %v", err)
			}
		})
	}
}

func TestEveryFormatIsWritten(t *testing.T) {
	want := map[string]string{
		"1.4 json": "application/vnd.cyclonedx+json; version=1.4", "1.4 xml": "application/vnd.cyclonedx+xml; version=1.4",
		"1.5 json": "application/vnd.cyclonedx+json; version=1.5", "1.5 xml": "application/vnd.cyclonedx+xml; version=1.5",
		"1.6 json": "application/vnd.cyclonedx+json; version=1.6", "1.6 xml": "application/vnd.cyclonedx+xml; version=1.6",
		"2.3 json": "application/spdx+json", "0.2.0 json": "application/json",
	}
	got := map[string]string{}
	for _, f := range Formats() {
		for _, version := range f.Versions {
			outputs := []string{"json"}
			if f.XML {
				outputs = append(outputs, "xml")
			}
			for _, output := range outputs {
				r := model.SBOMRequest{Format: f.Name, Version: version, XML: output == "xml", ProjectID: 1, ComponentType: "library"}
				media, err := Write(&bytes.Buffer{}, r, sample())
				if err != nil {
					t.Fatal(err)
				}
				got[version+" "+output] = media
			}
		}
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("media types (-want +got):\n%s", diff)
	}
}

func TestWriteErrors(t *testing.T) {
	r := request("cyclonedx 1.5 json")
	c := sample()
	c.Serial = "urn:uuid:X"
	if _, err := Write(&bytes.Buffer{}, r, c); err == nil || !strings.Contains(err.Error(), "serial") {
		t.Errorf("a wrong serial number: %v", err)
	}
	c = sample()
	c.Projects = append(c.Projects, Project{Name: "acme/other"})
	if _, err := Write(&bytes.Buffer{}, r, c); err == nil || !strings.Contains(err.Error(), "2 projects") {
		t.Errorf("two projects for the export of one: %v", err)
	}
	if _, err := Write(fullDisk{}, r, sample()); !errors.Is(err, errFull) {
		t.Errorf("a writer that fails: %v", err)
	}
}

var errFull = errors.New("no space left")

type fullDisk struct{}

func (fullDisk) Write([]byte) (int, error) { return 0, errFull }

// TestComponentTypesOfCycloneDX14 checks the replacements of types that CycloneDX 1.4 lacks.
func TestComponentTypesOfCycloneDX14(t *testing.T) {
	changed := map[string]string{"platform": "application", "device-driver": "firmware", "machine-learning-model": "file", "data": "file"}
	for _, kind := range ComponentTypes() {
		for _, version := range []string{"1.4", "1.5", "1.6"} {
			r := request("cyclonedx " + version + " json")
			r.ComponentType = kind
			want := kind
			if to, ok := changed[kind]; ok && version == "1.4" {
				want = to
			}
			if got := string(cdxType(r)); got != want {
				t.Errorf("%s in %s is %q, want %q", kind, version, got, want)
			}
			if err := checkJSON("cyclonedx "+version+" json", write(t, r, sample())); err != nil {
				t.Errorf("%s in %s: %v", kind, version, err)
			}
		}
	}
}

func TestWebAddress(t *testing.T) {
	tests := map[string]string{
		"https://example.com":               "https://example.com",
		" http://Example.com:80/a b?c=d e ": "http://Example.com:80/a%20b?c=d%20e",
		"https://user:secret@example.com/x": "https://example.com/x",
		"https://example.com/?a=<b>&c=%41":  "https://example.com/?a=%3Cb%3E&c=%41",
		"https://example.com/?a=%zz":        "https://example.com/?a=%25zz",
		"https://example.com/a#b":           "https://example.com/a#b",
		"ftp://example.com/":                "",
		"javascript:alert(1)":               "",
		"//example.com":                     "",
		"https:///a":                        "",
		"https://exa mple.com":              "",
		"":                                  "",
	}
	for in, want := range tests {
		if got := webAddress(in); got != want {
			t.Errorf("webAddress(%q) = %q, want %q", in, got, want)
		}
	}
}
