package sbom

import (
	"bytes"
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/redoubt/redoubt/internal/model"
)

func TestAnyOpenVEXIsValid(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		r := request(vexOutput)
		if rapid.Bool().Draw(t, "all projects") {
			r.ProjectID = 0
		}
		r.Supplier.Name, r.Ref = anyText.Draw(t, "supplier"), anyText.Draw(t, "ref")
		c := contents(r.ProjectID != 0).Draw(t, "content")
		var doc, other bytes.Buffer
		_, err := Write(&doc, r, c)
		if nothing := (*model.InvalidError)(nil); errors.As(err, &nothing) && doc.Len() == 0 {
			return
		}
		if err != nil {
			t.Fatal(err)
		}
		if err := checkJSON(vexOutput, doc.Bytes()); err != nil {
			t.Fatalf("%v\n%s", err, doc.Bytes())
		}
		if _, err := Write(&other, r, shuffled(c, rapid.Uint64().Draw(t, "seed"))); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(doc.String(), other.String()); diff != "" {
			t.Fatalf("another order gives another document (-first +other):\n%s", diff)
		}
	})
}

func TestOpenVEXRequiresStatements(t *testing.T) {
	c := sample()
	c.Projects[0].Vulnerabilities = []Vulnerability{{ID: "CVE-2024-1", Ecosystem: "npm", Package: "a", Version: "1"}}
	var doc bytes.Buffer
	_, err := Write(&doc, request(vexOutput), c)
	if bad := (*model.InvalidError)(nil); !errors.As(err, &bad) || doc.Len() > 0 {
		t.Errorf("%v and %q", err, doc.String())
	}
}

func TestProductURL(t *testing.T) {
	tests := []struct{ name, url, want string }{
		{"acme/pay", "https://github.com/acme/pay", "pkg:github/acme/pay"},
		{"Acme/Pay", "https://bitbucket.org/acme/pay", "pkg:bitbucket/acme/pay"},
		{"group/sub/repo", "https://gitlab.com/group/sub/repo", "pkg:generic/group/sub/repo"},
		{"acme/a b", "", "pkg:generic/acme/a%20b"},
	}
	for _, tt := range tests {
		got := productURL(Project{Name: tt.name, URL: tt.url})
		if got != tt.want {
			t.Errorf("productURL(%s) = %q, want %q", tt.name, got, tt.want)
		}
		if p := (model.Project{Name: tt.name}); !p.IsCalled(got) {
			t.Errorf("%s does not answer to %s", tt.name, got)
		}
	}
}
