package command

import (
	"bytes"
	"testing"
)

// TestPrintablePreservesOtherCharacters checks characters that arrive in parts, line breaks and tabs.
func TestPrintablePreservesOtherCharacters(t *testing.T) {
	var out bytes.Buffer
	p := &Printable{To: &out}
	for _, b := range []byte("数\tZoë\n\x1b\u009b\x9b!") {
		if n, err := p.Write([]byte{b}); n != 1 || err != nil {
			t.Fatal(n, err)
		}
	}
	if want := "数\tZoë\n" + `\u001b\u009b\x9b!`; out.String() != want {
		t.Errorf("%q, want %q", out.String(), want)
	}
}
