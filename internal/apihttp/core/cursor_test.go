package core

import (
	"errors"
	"testing"

	"pgregory.net/rapid"
)

var testCursors = Cursors{Key: []byte("a key")}

func drawList(t *rapid.T) List {
	return List{
		Operation:  rapid.SampledFrom([]string{"scans", "secrets"}).Draw(t, "operation"),
		Deployment: rapid.Int64Range(1, 3).Draw(t, "deployment"),
		Filter:     rapid.StringN(0, 5, 20).Draw(t, "filter"),
	}
}

func TestCursorRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		l := drawList(t)
		position := rapid.SliceOfN(rapid.Int64(), 1, 3).Draw(t, "position")
		text, err := testCursors.Encode(l, position...)
		if err != nil {
			t.Fatal(err)
		}
		got, err := testCursors.Decode(l, text, len(position))
		if err != nil || len(got) != len(position) {
			t.Fatalf("decode: %v, %v", got, err)
		}
		for i := range got {
			if got[i] != position[i] {
				t.Fatalf("got %v, want %v", got, position)
			}
		}
		if other := drawList(t); other != l {
			if _, err := testCursors.Decode(other, text, len(position)); !errors.Is(err, errCursor) {
				t.Fatalf("a cursor of %v was accepted as %v", l, other)
			}
		}
		at := rapid.IntRange(0, len(text)-1).Draw(t, "at")
		letter := rapid.SampledFrom([]byte("AZaz09-_=")).Draw(t, "letter")
		if altered := text[:at] + string(letter) + text[at+1:]; altered != text {
			if _, err := testCursors.Decode(l, altered, len(position)); !errors.Is(err, errCursor) {
				t.Fatalf("altered cursor %q was accepted", altered)
			}
		}
	})
}

func TestNumericCursorRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		l := drawList(t)
		position := rapid.Int64Range(0, 1<<AsText.PositionBits-1).Draw(t, "position")
		text, err := testCursors.EncodeNumber(AsText, l, position)
		if err != nil {
			t.Fatal(err)
		}
		got, err := testCursors.DecodeNumber(AsText, l, text)
		if err != nil || got != position {
			t.Fatalf("%d became %q and then %d, %v", position, text, got, err)
		}
	})
}

// TestNumericCursorIsChecked uses fixed cases. A numeric cursor has 23 bits of checksum, which
// random cases could match by chance.
func TestNumericCursorIsChecked(t *testing.T) {
	l := List{Operation: "dependencies", Deployment: 1, Filter: "a"}
	text, err := testCursors.EncodeNumber(AsText, l, 4711)
	if err != nil {
		t.Fatal(err)
	}
	for _, bad := range []string{"4711", "00", text + "0", "0" + text, "-" + text, "+" + text, " " + text, "x", "18446744073709551615", text[:len(text)-1] + "x"} {
		if _, err := testCursors.DecodeNumber(AsText, l, bad); !errors.Is(err, errCursor) {
			t.Errorf("%q was accepted: %v", bad, err)
		}
	}
	for _, other := range []List{{Operation: "dependencies", Deployment: 2, Filter: "a"}, {Operation: "dependencies", Deployment: 1, Filter: "b"}, {Operation: "other", Deployment: 1, Filter: "a"}} {
		if _, err := testCursors.DecodeNumber(AsText, other, text); !errors.Is(err, errCursor) {
			t.Errorf("accepted for %v", other)
		}
	}
	for i := range text {
		for digit := '0'; digit <= '9'; digit++ {
			altered := text[:i] + string(digit) + text[i+1:]
			if _, err := testCursors.DecodeNumber(AsText, l, altered); altered != text && err == nil {
				t.Errorf("altered %q was accepted", altered)
			}
		}
	}
	if _, err := testCursors.EncodeNumber(AsText, l, 1<<AsText.PositionBits); err == nil {
		t.Error("a position that is too large was accepted")
	}
}

func FuzzCursor(f *testing.F) {
	l := List{Operation: "scans", Deployment: 1, Filter: nil}
	good, err := testCursors.Encode(l, 1, 2)
	if err != nil {
		f.Fatal(err)
	}
	f.Add(good)
	f.Add("AQ")
	f.Add("9223372036854775807")
	f.Fuzz(func(t *testing.T, text string) {
		if p, err := testCursors.Decode(l, text, 2); err == nil && p != nil && text != good {
			t.Errorf("%q was accepted as %v", text, p)
		}
		if n, err := testCursors.DecodeNumber(AsText, l, text); err == nil && !starts(text) {
			if encoded, err := testCursors.EncodeNumber(AsText, l, n); err != nil || encoded != text {
				t.Errorf("%q was accepted as %d, which is %q", text, n, encoded)
			}
		}
	})
}

func TestStartCursors(t *testing.T) {
	l := List{Operation: "dependencies", Deployment: 1, Filter: "a"}
	for _, begin := range []string{"", "0"} {
		if n, err := testCursors.DecodeNumber(AsText, l, begin); n != 0 || err != nil {
			t.Errorf("%q is position %d, %v", begin, n, err)
		}
		if position, err := testCursors.Decode(l, begin, 2); position != nil || err != nil {
			t.Errorf("%q is position %v, %v", begin, position, err)
		}
	}
}

// TestCursorsOfThePreviousKeyAreValid checks that cursors of the current and the previous key are
// accepted, and no others.
func TestCursorsOfThePreviousKeyAreValid(t *testing.T) {
	before, use, other := Cursors{Key: []byte("before")}, Cursors{Key: []byte("use"), Old: [][]byte{[]byte("before")}}, Cursors{Key: []byte("other")}
	l := List{Operation: "x", Deployment: 1, Filter: "f"}
	for _, c := range []struct {
		by   Cursors
		want bool
	}{{before, true}, {use, true}, {other, false}} {
		text, err := c.by.Encode(l, 7)
		if err != nil {
			t.Fatal(err)
		}
		number, err := c.by.EncodeNumber(AsText, l, 7)
		if err != nil {
			t.Fatal(err)
		}
		position, err := use.Decode(l, text, 1)
		if believed := err == nil && position[0] == 7; believed != c.want {
			t.Errorf("a cursor of %q: %v, %v", c.by.Key, position, err)
		}
		n, err := use.DecodeNumber(AsText, l, number)
		if believed := err == nil && n == 7; believed != c.want {
			t.Errorf("a number of %q: %v, %v", c.by.Key, n, err)
		}
	}
}
