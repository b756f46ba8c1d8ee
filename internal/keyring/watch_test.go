package keyring

import (
	"bytes"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"
)

// TestWatchDetectsRotation checks that a rotation is detected, and that an invalid file is
// reported once and changes nothing.
func TestWatchDetectsRotation(t *testing.T) {
	path := filepath.Join(t.TempDir(), "key")
	now := start
	r := New(start)
	if err := r.Create(path); err != nil {
		t.Fatal(err)
	}
	var reported []error
	w := Watch(path, r, func() time.Time { return now }, func(err error) { reported = append(reported, err) })
	expect := func(what string, ring Ring, changes int) {
		t.Helper()
		now = now.Add(checkInterval)
		use, old := w.SigningKeys()
		wantUse, wantOld := ring.SigningKeys(now)
		if !bytes.Equal(use, wantUse) || len(old) != len(wantOld) || len(reported) != changes {
			t.Errorf("%s: another key is in use, or %d are believed, want %d; told %v", what, len(old), len(wantOld), reported)
		}
	}
	expect("at first", r, 0)
	rotated := r.Rotate(now)
	if err := rotated.Replace(path); err != nil {
		t.Fatal(err)
	}
	if use, _ := w.SigningKeys(); !bytes.Equal(use, r.Signing[0].Key) {
		t.Error("the file is read at each question")
	}
	expect("rotated", rotated, 1)
	now = now.Add(SigningFor)
	expect("once the key before is over", rotated, 1)
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	expect("without its file", rotated, 1)
	if err := New(start).Create(path); err != nil {
		t.Fatal(err)
	}
	expect("with another's file", rotated, 2)
	if err := os.WriteFile(path, []byte("{"), 0o600); err != nil {
		t.Fatal(err)
	}
	expect("with half a file", rotated, 3)
	expect("and still", rotated, 3)
	if reported[0] != nil || reported[1] == nil || reported[2] == nil {
		t.Errorf("told %v", reported)
	}
}

// TestWatchUpdatesPreviousKeys checks that shortened validity and replacement of previous keys
// take effect.
func TestWatchUpdatesPreviousKeys(t *testing.T) {
	path := filepath.Join(t.TempDir(), "key")
	now := start
	r := New(start).Rotate(start)
	if err := r.Create(path); err != nil {
		t.Fatal(err)
	}
	var reported int
	w := Watch(path, r, func() time.Time { return now }, func(err error) {
		if reported++; err != nil {
			t.Error(err)
		}
	})
	if _, old := w.SigningKeys(); len(old) != 1 {
		t.Fatalf("at first %d are believed", len(old))
	}
	expect := func(what string, change func(old *SigningKey), changes int) {
		t.Helper()
		r.Signing = slices.Clone(r.Signing)
		change(&r.Signing[1])
		if err := r.Replace(path); err != nil {
			t.Fatal(err)
		}
		now = now.Add(checkInterval)
		if err := os.Chtimes(path, now, now); err != nil {
			t.Fatal(err)
		}
		_, want := r.SigningKeys(now)
		if _, old := w.SigningKeys(); !slices.EqualFunc(old, want, bytes.Equal) || reported != changes {
			t.Errorf("%s: %d are believed, want %d; told %d times", what, len(old), len(want), reported)
		}
	}
	expect("as it was", func(*SigningKey) {}, 0)
	expect("another key", func(k *SigningKey) { k.Key = fresh() }, 1)
	expect("over at once", func(k *SigningKey) { k.Until = now }, 2)
}
