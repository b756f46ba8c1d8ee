package sbom

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/redoubt/redoubt/internal/model"
)

func TestAnyContentIsValidJSON(t *testing.T) {
	for _, output := range jsonOutputs {
		t.Run(output, func(t *testing.T) {
			rapid.Check(t, func(t *rapid.T) {
				r := requests(output).Draw(t, "request")
				doc := write(t, r, contents(r.ProjectID != 0).Draw(t, "content"))
				if err := checkJSON(output, doc); err != nil {
					t.Fatalf("%v\n%s", err, doc)
				}
			})
		})
	}
}

// TestAnyContentIsValidXML checks all documents in one run of xmllint, because loading the schema
// is slow.
func TestAnyContentIsValidXML(t *testing.T) {
	for _, output := range xmlOutputs {
		t.Run(output, func(t *testing.T) {
			var docs [][]byte
			rapid.Check(t, func(t *rapid.T) {
				r := requests(output).Draw(t, "request")
				docs = append(docs, write(t, r, contents(r.ProjectID != 0).Draw(t, "content")))
			})
			checkXML(t, output, docs...)
		})
	}
}

func TestOrderDoesNotMatter(t *testing.T) {
	for _, output := range append(jsonOutputs, xmlOutputs...) {
		t.Run(output, func(t *testing.T) {
			rapid.Check(t, func(t *rapid.T) {
				r := requests(output).Draw(t, "request")
				c := contents(r.ProjectID != 0).Draw(t, "content")
				other := shuffled(c, rapid.Uint64().Draw(t, "seed"))
				if diff := cmp.Diff(string(write(t, r, c)), string(write(t, r, other))); diff != "" {
					t.Fatalf("another order gives another document (-first +other):\n%s", diff)
				}
			})
		})
	}
}

// TestReferencesResolve checks that refs are unique and every reference has a target.
func TestReferencesResolve(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		deployment := rapid.Bool().Draw(t, "whole deployment")
		doc := build(contents(!deployment).Draw(t, "content"), deployment)
		known := map[string]bool{doc.root.ref: true}
		add := func(ref string) {
			if known[ref] {
				t.Fatalf("the ref %q stands twice", ref)
			}
			known[ref] = true
		}
		for _, p := range doc.parts {
			add(p.ref)
		}
		for _, c := range doc.components {
			add(c.ref)
		}
		used := map[string]bool{}
		for _, p := range append([]part{doc.root}, doc.parts...) {
			for _, ref := range p.uses {
				used[ref] = true
			}
		}
		for ref := range used {
			if !known[ref] {
				t.Fatalf("a project uses %q, which is no component", ref)
			}
		}
		for _, c := range doc.components {
			if c.direct == model.Direct && !used[c.ref] {
				t.Fatalf("nothing uses the direct component %q", c.ref)
			}
			if len(c.needs) > 0 && !c.known {
				t.Fatalf("%q asks for something, and it is not known what", c.ref)
			}
			for i, n := range c.needs {
				if !known[n] || n == c.ref || i > 0 && n <= c.needs[i-1] {
					t.Fatalf("%q asks for %q", c.ref, n)
				}
			}
		}
		for _, v := range doc.vulnerabilities {
			if len(v.affects) == 0 {
				t.Fatalf("%q affects nothing", v.id)
			}
			for a := range v.affects {
				if !known[a.ref] {
					t.Fatalf("%q affects %q, which is not in the document", v.id, a.ref)
				}
			}
		}
	})
}
