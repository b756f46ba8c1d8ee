package main

import (
	"strings"
	"testing"
)

func TestConvert(t *testing.T) {
	const head = `<Weakness_Catalog xmlns="http://cwe.mitre.org/cwe-7" Version="4.15" Date="2024-07-16">`
	tests := []struct{ name, in, want, err string }{
		{
			"in the order of numbers", head +
				`<Weaknesses><Weakness ID="79" Name="B &amp;  'c'"/><Weakness ID="5" Name="A"/></Weaknesses>` +
				`<Categories><Category ID="16" Name="Configuration"/></Categories><Views><View ID="1" Name="no"/></Views></Weakness_Catalog>`,
			"5\tA\n16\tConfiguration\n79\tB & 'c'\n", "",
		},
		{"nothing in it", head + `</Weakness_Catalog>`, "", "no weaknesses"},
		{"without a name", head + `<Weaknesses><Weakness ID="7"/></Weaknesses><Categories><Category ID="1" Name="a"/></Categories></Weakness_Catalog>`, "", "entry 7"},
		{"another document", `<bom/>`, "", "Weakness_Catalog"},
		{"cut off", head, "", "EOF"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			var b strings.Builder
			err := convert(strings.NewReader(test.in), &b)
			if (test.err == "") != (err == nil) || err != nil && !strings.Contains(err.Error(), test.err) {
				t.Fatalf("error %v, want %q", err, test.err)
			}
			if err != nil {
				return
			}
			terms, list, _ := strings.Cut(b.String(), "# CWE.\n")
			if list != test.want || !strings.Contains(terms, "version 4.15 of 2024-07-16") || !strings.Contains(terms, "2006–2024") {
				t.Errorf("got %q below %q, want %q", list, terms, test.want)
			}
		})
	}
}
