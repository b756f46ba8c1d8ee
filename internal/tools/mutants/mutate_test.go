package main

import (
	"go/token"
	"strings"
	"testing"
)

// TestMutate: which places are broken, and that the rest stays as it is.
func TestMutate(t *testing.T) {
	next := 0
	m := mutator{fset: token.NewFileSet(), file: "a.go", next: &next, src: `package a

const c = 1 < 2

func f(a, b int) int {
	if a < b && a != 0 {
		a = b
		g()
	}
	for a == b {
		continue
	}
	d := 1
	panic(d)
}
`}
	out, err := m.mutate()
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, found := range m.found {
		got = append(got, found.what)
	}
	want := "condition turned around, && made ||, < made <=, != made ==, left out, left out, == made !=, left out"
	if strings.Join(got, ", ") != want {
		t.Errorf("broken are %s,\nwant       %s", strings.Join(got, ", "), want)
	}
	for _, part := range []string{"const c = 1 < 2", "if !isMutant(", "{ a = b }", "mutated(", "d := 1\n\tpanic(d)"} {
		if !strings.Contains(out, part) {
			t.Errorf("%q is not in\n%s", part, out)
		}
	}
	if strings.Count(out, "\n") != strings.Count(m.src, "\n") {
		t.Error("lines moved")
	}
}
