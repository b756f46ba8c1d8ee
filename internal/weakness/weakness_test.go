package weakness

import (
	"slices"
	"strings"
	"testing"
)

func TestName(t *testing.T) {
	const xss = "CWE-79: Improper Neutralization of Input During Web Page Generation ('Cross-site Scripting')"
	tests := []struct{ list, want []string }{
		{nil, nil},
		{[]string{"CWE-79"}, []string{xss}},
		{[]string{"cwe-079"}, []string{xss}},
		{[]string{"CWE-79:"}, []string{xss}},
		{[]string{"CWE-79: what the tool calls it"}, []string{"CWE-79: what the tool calls it"}},
		{[]string{"CWE-79", "CWE-79: what the tool calls it", "CWE-89"}, []string{
			"CWE-79: what the tool calls it",
			"CWE-89: Improper Neutralization of Special Elements used in an SQL Command ('SQL Injection')",
		}},
		{[]string{"CWE-79", "CWE-079"}, []string{xss}},
		{[]string{"CWE-310"}, []string{"CWE-310: Cryptographic Issues"}}, // a category, which advisories use as well
		{[]string{"CWE-9999999"}, []string{"CWE-9999999"}},
		{[]string{"NVD-CWE-noinfo", "weak", ""}, []string{"NVD-CWE-noinfo", "weak", ""}},
	}
	for _, test := range tests {
		if got := Name(test.list); !slices.Equal(got, test.want) {
			t.Errorf("Name(%q) = %q, want %q", test.list, got, test.want)
		}
	}
}

// TestWeaknessList checks that the list is complete and contains MITRE's copyright and license, as
// the license requires.
func TestWeaknessList(t *testing.T) {
	for _, line := range []string{"The MITRE Corporation", "non-exclusive, royalty-free license", "version 4."} {
		if !strings.Contains(catalogue, line) {
			t.Errorf("the list does not say %q", line)
		}
	}
	if got := len(names()); got < 1300 {
		t.Errorf("%d weaknesses have names, want all of some 1,370", got)
	}
}
