package sbom

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

func TestReadLicense(t *testing.T) {
	tests := []struct {
		in   string
		want license
	}{
		{"MIT", license{id: "MIT"}},
		{" apache-2.0 ", license{id: "Apache-2.0"}},
		{"((ISC))", license{id: "ISC"}},
		{"GPL-2.0+", license{id: "GPL-2.0+"}}, // on the list with the +
		{"MPL-2.0+", license{expression: "MPL-2.0+"}},
		{"(mit or Apache-2.0)", license{expression: "MIT OR Apache-2.0"}},
		{"MIT AND (ISC OR (0BSD AND Zlib))", license{expression: "MIT AND (ISC OR 0BSD AND Zlib)"}},
		{"GPL-2.0-only with classpath-exception-2.0", license{expression: "GPL-2.0-only WITH Classpath-exception-2.0"}},
		{"LicenseRef-acme", license{expression: "LicenseRef-acme"}},
		{"MIT/Apache-2.0", license{name: "MIT/Apache-2.0"}},
		{"MIT OR Acme", license{name: "MIT OR Acme"}},
		{"MIT OR", license{name: "MIT OR"}},
		{"(MIT", license{name: "(MIT"}},
		{"MIT)", license{name: "MIT)"}},
		{"MIT ISC", license{name: "MIT ISC"}},
		{"GPL-2.0-only WITH", license{name: "GPL-2.0-only WITH"}},
		{"Acme+", license{name: "Acme+"}},
		{"See\nLICENSE", license{name: "See LICENSE"}},
		{strings.Repeat("(", maxExpression) + "MIT", license{name: strings.Repeat("(", maxExpression) + "MIT"}},
	}
	for _, tt := range tests {
		got, ok := readLicense(tt.in)
		if diff := cmp.Diff(tt.want, got, cmp.AllowUnexported(license{})); !ok || diff != "" {
			t.Errorf("readLicense(%.60q) (-want +got):\n%s", tt.in, diff)
		}
	}
	for _, nothing := range []string{"", "\t", "NOASSERTION", "none", "Unknown"} {
		if got, ok := readLicense(nothing); ok {
			t.Errorf("readLicense(%q) = %+v, want none", nothing, got)
		}
	}
}

// TestLicenseList checks that the embedded list can be parsed: otherwise the first license would
// cause a panic.
func TestLicenseList(t *testing.T) {
	if n := len(licenseIDs()); n < 600 {
		t.Errorf("the embedded list names %d licences", n)
	}
}

func TestSeveralLicenses(t *testing.T) {
	tests := []struct {
		name       string
		in         []string
		ids, names []string
		expression string // in CycloneDX
		declared   string // in SPDX
	}{
		{name: "none", declared: "NOASSERTION"},
		{name: "ids are a list", in: []string{"MIT", "ISC"}, ids: []string{"ISC", "MIT"}, declared: "ISC AND MIT"},
		{name: "an expression takes all in", in: []string{"MIT OR ISC", "Zlib"}, expression: "Zlib AND (MIT OR ISC)", declared: "Zlib AND (MIT OR ISC)"},
		{
			name: "an expression beside a name is one", in: []string{"MIT OR ISC", "Own"}, names: []string{"MIT OR ISC", "Own"},
			declared: "(MIT OR ISC) AND LicenseRef-81b34dba3d5d07dd",
		},
		{name: "the same twice", in: []string{"MIT", "mit"}, ids: []string{"MIT"}, declared: "MIT"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			var licenses []license
			for _, text := range tt.in {
				l, _ := readLicense(text)
				licenses = append(licenses, l)
			}
			licenses = sortLicenses(licenses)
			others := extractedLicenses{}
			if got := others.declared(licenses); got != tt.declared {
				t.Errorf("SPDX declares %q, want %q", got, tt.declared)
			}
			var ids, names []string
			expression := ""
			if list := cdxLicenses(licenses); list != nil {
				for _, choice := range *list {
					expression += choice.Expression
					if choice.License != nil && choice.License.ID != "" {
						ids = append(ids, choice.License.ID)
					}
					if choice.License != nil && choice.License.Name != "" {
						names = append(names, choice.License.Name)
					}
				}
			}
			got, want := [][]string{ids, names, {expression}}, [][]string{tt.ids, tt.names, {tt.expression}}
			if diff := cmp.Diff(want, got, cmpopts.SortSlices(strings.Compare)); diff != "" {
				t.Errorf("CycloneDX lists (-want +got):\n%s", diff)
			}
		})
	}
}
