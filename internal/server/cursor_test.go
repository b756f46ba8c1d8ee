package server

import (
	"errors"
	"testing"

	"github.com/redoubt/redoubt/api"

	"pgregory.net/rapid"
)

var testCursors = cursors{key: []byte("a key")}

func drawList(t *rapid.T) list {
	return list{
		operation:  rapid.SampledFrom([]string{"scans", "secrets"}).Draw(t, "operation"),
		deployment: rapid.Int64Range(1, 3).Draw(t, "deployment"),
		filter:     rapid.StringN(0, 5, 20).Draw(t, "filter"),
	}
}

func TestCursorRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		l := drawList(t)
		position := rapid.SliceOfN(rapid.Int64(), 1, 3).Draw(t, "position")
		text, err := testCursors.encode(l, position...)
		if err != nil {
			t.Fatal(err)
		}
		got, err := testCursors.decode(l, text, len(position))
		if err != nil || len(got) != len(position) {
			t.Fatalf("decode: %v, %v", got, err)
		}
		for i := range got {
			if got[i] != position[i] {
				t.Fatalf("got %v, want %v", got, position)
			}
		}
		if other := drawList(t); other != l {
			if _, err := testCursors.decode(other, text, len(position)); !errors.Is(err, errCursor) {
				t.Fatalf("a cursor of %v was taken for %v", l, other)
			}
		}
		at := rapid.IntRange(0, len(text)-1).Draw(t, "at")
		letter := rapid.SampledFrom([]byte("AZaz09-_=")).Draw(t, "letter")
		if altered := text[:at] + string(letter) + text[at+1:]; altered != text {
			if _, err := testCursors.decode(l, altered, len(position)); !errors.Is(err, errCursor) {
				t.Fatalf("altered cursor %q was taken", altered)
			}
		}
	})
}

func TestNumericCursorRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		l := drawList(t)
		position := rapid.Int64Range(0, 1<<asText.positionBits-1).Draw(t, "position")
		text, err := testCursors.encodeNumber(asText, l, position)
		if err != nil {
			t.Fatal(err)
		}
		got, err := testCursors.decodeNumber(asText, l, text)
		if err != nil || got != position {
			t.Fatalf("%d became %q and then %d, %v", position, text, got, err)
		}
	})
}

// A numeric cursor has 23 bits of checksum, so that fixed cases stand in for
// random ones here.
func TestNumericCursorIsChecked(t *testing.T) {
	l := list{"dependencies", 1, "a"}
	text, err := testCursors.encodeNumber(asText, l, 4711)
	if err != nil {
		t.Fatal(err)
	}
	for _, bad := range []string{"4711", "00", text + "0", "0" + text, "-" + text, "+" + text, " " + text, "x", "18446744073709551615", text[:len(text)-1] + "x"} {
		if _, err := testCursors.decodeNumber(asText, l, bad); !errors.Is(err, errCursor) {
			t.Errorf("%q was taken: %v", bad, err)
		}
	}
	for _, other := range []list{{"dependencies", 2, "a"}, {"dependencies", 1, "b"}, {"other", 1, "a"}} {
		if _, err := testCursors.decodeNumber(asText, other, text); !errors.Is(err, errCursor) {
			t.Errorf("taken for %v", other)
		}
	}
	for i := range text {
		for digit := '0'; digit <= '9'; digit++ {
			altered := text[:i] + string(digit) + text[i+1:]
			if _, err := testCursors.decodeNumber(asText, l, altered); altered != text && err == nil {
				t.Errorf("altered %q was taken", altered)
			}
		}
	}
	if _, err := testCursors.encodeNumber(asText, l, 1<<asText.positionBits); err == nil {
		t.Error("a position without room was taken")
	}
}

func FuzzCursor(f *testing.F) {
	l := list{"scans", 1, nil}
	good, err := testCursors.encode(l, 1, 2)
	if err != nil {
		f.Fatal(err)
	}
	f.Add(good)
	f.Add("AQ")
	f.Add("9223372036854775807")
	f.Fuzz(func(t *testing.T, text string) {
		if p, err := testCursors.decode(l, text, 2); err == nil && p != nil && text != good {
			t.Errorf("%q was taken as %v", text, p)
		}
		if n, err := testCursors.decodeNumber(asText, l, text); err == nil && !starts(text) {
			if again, err := testCursors.encodeNumber(asText, l, n); err != nil || again != text {
				t.Errorf("%q was taken as %d, which is %q", text, n, again)
			}
		}
	})
}

func TestCursorsThatBegin(t *testing.T) {
	l := list{"dependencies", 1, "a"}
	for _, begin := range []string{"", "0"} {
		if n, err := testCursors.decodeNumber(asText, l, begin); n != 0 || err != nil {
			t.Errorf("%q is position %d, %v", begin, n, err)
		}
		if position, err := testCursors.decode(l, begin, 2); position != nil || err != nil {
			t.Errorf("%q is position %v, %v", begin, position, err)
		}
	}
}

// After a rotation, what the key before it signed is still believed, and nothing else.
func TestCursorsOfTheKeyBeforeAreBelieved(t *testing.T) {
	before, use, other := cursors{key: []byte("before")}, cursors{key: []byte("use"), old: [][]byte{[]byte("before")}}, cursors{key: []byte("other")}
	l := list{operation: "x", deployment: 1, filter: "f"}
	for _, c := range []struct {
		by   cursors
		want bool
	}{{before, true}, {use, true}, {other, false}} {
		text, err := c.by.encode(l, 7)
		if err != nil {
			t.Fatal(err)
		}
		number, err := c.by.encodeNumber(asText, l, 7)
		if err != nil {
			t.Fatal(err)
		}
		position, err := use.decode(l, text, 1)
		if believed := err == nil && position[0] == 7; believed != c.want {
			t.Errorf("a cursor of %q: %v, %v", c.by.key, position, err)
		}
		n, err := use.decodeNumber(asText, l, number)
		if believed := err == nil && n == 7; believed != c.want {
			t.Errorf("a number of %q: %v, %v", c.by.key, n, err)
		}
	}
}

func TestDownloadsOfTheKeyBeforeAreBelieved(t *testing.T) {
	s := &Server{Config: Config{SigningKeys: func() ([]byte, [][]byte) { return []byte("use"), [][]byte{[]byte("before")} }}}
	for key, want := range map[string]bool{"use": true, "before": true, "other": false} {
		in := &api.DownloadQuery{Expires: 9, Signature: signature([]byte(key), "1", "task", 9)}
		if signed(s, "1", "task", in) != want || signed(s, "2", "task", in) {
			t.Errorf("an address signed with %q is believed: %v, want %v", key, !want, want)
		}
	}
}
