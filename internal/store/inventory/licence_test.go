package inventory

import (
	"slices"
	"strings"
	"testing"
	"unicode"
)

// hasLicence reports whether a search for a license finds an expression.
func hasLicence(expression, licence string) bool {
	return slices.Contains(licenceTerms([]string{expression}), licenceTerm(licence))
}

func TestHasLicense(t *testing.T) {
	tests := []struct {
		expression string
		has, lacks []string
	}{
		{"MIT", []string{"MIT", "mit"}, []string{"MIT-0", "M", "", "Apache-2.0"}},
		{"MIT-0", []string{"MIT-0"}, []string{"MIT"}},
		{"(MIT OR Apache-2.0)", []string{"MIT", "apache-2.0", "(MIT OR Apache-2.0)"}, []string{"OR", "(MIT", "BSD-3-Clause"}},
		{"MIT and (BSD-3-Clause or (ISC AND Zlib))", []string{"MIT", "BSD-3-Clause", "ISC", "Zlib"}, []string{"and"}},
		{"GPL-2.0-only WITH Classpath-exception-2.0 OR MIT", []string{"GPL-2.0-only", "MIT"}, []string{"Classpath-exception-2.0", "WITH"}},
		{"GPL-2.0+", []string{"GPL-2.0+", "GPL-2.0"}, []string{"GPL"}},
		{"LicenseRef-scancode-x AND DocumentRef-a:LicenseRef-b", []string{"LicenseRef-scancode-x", "DocumentRef-a:LicenseRef-b"}, nil},
		{"Apache License, Version 2.0", []string{"apache license, version 2.0"}, []string{"Apache", "2.0"}},
		{"MIT OR", []string{"MIT OR"}, []string{"MIT"}},
		{"(MIT", nil, []string{"MIT"}},
		{"MIT)", nil, []string{"MIT"}},
		{"MIT WITH", nil, []string{"MIT"}},
		{"", []string{""}, []string{"MIT"}},
		{"straße", []string{"STRAßE", "ſtraße"}, []string{"strasse"}},
	}
	for _, test := range tests {
		for _, licence := range test.has {
			if !hasLicence(test.expression, licence) {
				t.Errorf("%q has %q", test.expression, licence)
			}
		}
		for _, licence := range test.lacks {
			if hasLicence(test.expression, licence) {
				t.Errorf("%q has no %q", test.expression, licence)
			}
		}
	}
}

func FuzzLicenceIDs(f *testing.F) {
	f.Add("(MIT OR Apache-2.0) AND GPL-2.0+ WITH x")
	f.Fuzz(func(t *testing.T, expression string) {
		for _, id := range licenceIDs(expression) {
			if id != "" && !hasLicence(expression, id) {
				t.Errorf("%q does not have its own %q", expression, id)
			}
		}
	})
}

// FuzzLicenceTerm checks that terms are equal exactly if the names are equal under case folding.
func FuzzLicenceTerm(f *testing.F) {
	f.Add("MIT", "mit")
	f.Add("\u212a", "k")
	f.Add("\xff", "\ufffd")
	f.Fuzz(func(t *testing.T, a, b string) {
		for _, b := range []string{b, strings.ToUpper(a), strings.ToLower(a), strings.Map(unicode.SimpleFold, a)} {
			if (licenceTerm(a) == licenceTerm(b)) != strings.EqualFold(a, b) {
				t.Errorf("%q and %q: equal terms %v, equal in any case %v", a, b, licenceTerm(a) == licenceTerm(b), strings.EqualFold(a, b))
			}
		}
	})
}
