package keyring

import (
	"bytes"
	"crypto/cipher"
	"encoding/hex"
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"sync"
	"testing"
	"time"
)

var start = time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)

func TestRingRoundTrip(t *testing.T) {
	path := filepath.Join(t.TempDir(), "data", "redoubt.db.key")
	if _, err := Read(path); !errors.Is(err, fs.ErrNotExist) {
		t.Fatalf("a file that is not there: %v", err)
	}
	r := New(start)
	if err := r.Create(path); err != nil {
		t.Fatal(err)
	}
	if err := New(start).Create(path); !errors.Is(err, fs.ErrExist) {
		t.Errorf("a second one: %v", err)
	}
	info, err := os.Stat(path)
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("the file is %v, %v", info.Mode(), err)
	}
	got, err := Read(path)
	if err != nil || !bytes.Equal(got.Secret, r.Secret) || !got.Matches(r.Check()) || got.Matches(New(start).Check()) {
		t.Errorf("read back: %v", err)
	}
	left, err := os.ReadDir(filepath.Dir(path))
	if err != nil || len(left) != 1 {
		t.Errorf("the folder holds %v, %v", left, err)
	}
}

func TestConcurrentCreateSucceedsOnce(t *testing.T) {
	path := filepath.Join(t.TempDir(), "key")
	var group sync.WaitGroup
	made := make(chan Ring, 8)
	for range 8 {
		group.Go(func() {
			r := New(start)
			if err := r.Create(path); err == nil {
				made <- r
			} else if !errors.Is(err, fs.ErrExist) {
				t.Error(err)
			}
		})
	}
	group.Wait()
	if got, err := Read(path); err != nil || len(made) != 1 || !got.Matches((<-made).Check()) {
		t.Errorf("%d made it; %v", len(made), err)
	}
}

func TestPreviousKeyRemainsValidUntilExpiry(t *testing.T) {
	first := New(start)
	before, _ := first.SigningKeys(start)
	path := filepath.Join(t.TempDir(), "key")
	if err := first.Create(path); err != nil {
		t.Fatal(err)
	}
	if err := first.Rotate(start).Replace(path); err != nil {
		t.Fatal(err)
	}
	second, err := Read(path)
	if err != nil || !bytes.Equal(second.Secret, first.Secret) || !second.Matches(first.Check()) {
		t.Fatalf("the identity of secrets changed: %v", err)
	}
	use, old := second.SigningKeys(start.Add(SigningFor - time.Second))
	if bytes.Equal(use, before) || len(old) != 1 || !bytes.Equal(old[0], before) {
		t.Error("the key from before is not believed, or goes on signing")
	}
	if _, old := second.SigningKeys(start.Add(SigningFor)); len(old) != 0 {
		t.Error("the key from before is believed for ever")
	}
	if third := second.Rotate(start.Add(SigningFor)); len(third.Signing) != 2 {
		t.Errorf("after another there are %d", len(third.Signing))
	}
}

func TestInvalidKeyFileIsReported(t *testing.T) {
	path := filepath.Join(t.TempDir(), "key")
	for text, want := range map[string]string{
		"": "damaged", "{}": "damaged", `{"format":1,"secret":"AAAA","signing":[]}`: "damaged",
		`{"format":9,"secret":"MDEyMzQ1Njc4OTAxMjM0NTY3ODkwMTIzNDU2Nzg5MDE=","signing":[{"key":"MDEyMzQ1Njc4OTAxMjM0NTY3ODkwMTIzNDU2Nzg5MDE="}]}`: "newer",
	} {
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := Read(path); err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "MDEy") {
			t.Errorf("%q: %v", text, err)
		}
	}
	if err := os.Chmod(path, 0o644); err != nil {
		t.Fatal(err)
	}
	if _, err := Read(path); err == nil || !strings.Contains(err.Error(), "chmod 600") {
		t.Errorf("open to everybody: %v", err)
	}
	folder := t.TempDir()
	if err := os.Chmod(folder, 0o755); err != nil {
		t.Fatal(err)
	}
	if _, err := Read(folder); err == nil || strings.Contains(err.Error(), "chmod") || !strings.Contains(err.Error(), folder) {
		t.Errorf("a folder in place of the key file: %v", err)
	}
}

// TestEachBitOfAKeyFileCounts flips every bit of a file in turn. The file must be rejected with its
// name and advice, or contain the same ring. The file must not be changed.
func TestEachBitOfAKeyFileCounts(t *testing.T) {
	ring := New(time.Now()).Rotate(time.Now())
	path := filepath.Join(t.TempDir(), "key")
	if err := ring.Create(path); err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	refused := 0
	for bit := range 8 * len(text) {
		text[bit/8] ^= 1 << (bit % 8)
		if err := os.WriteFile(path, text, 0o600); err != nil {
			t.Fatal(err)
		}
		read, err := Read(path)
		switch {
		case err == nil && !reflect.DeepEqual(read, ring):
			t.Errorf("bit %d of %q makes another ring", bit, text)
		case err != nil && (!strings.Contains(err.Error(), path) || !strings.Contains(err.Error(), "backup")):
			t.Errorf("bit %d: %v", bit, err)
		case err != nil:
			refused++
		}
		if after, err := os.ReadFile(path); err != nil || !bytes.Equal(after, text) {
			t.Fatalf("reading changed the file: %v", err)
		}
		text[bit/8] ^= 1 << (bit % 8)
	}
	if refused < 6*len(text) { // names are case-insensitive, and other white space is valid
		t.Errorf("of %d bits %d were refused", 8*len(text), refused)
	}
}

// TestKeyFileWithoutChecksum reads a file of an older version.
func TestKeyFileWithoutChecksum(t *testing.T) {
	ring := New(time.Now())
	text, err := json.Marshal(ring)
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "key")
	if err := os.WriteFile(path, text, 0o600); err != nil {
		t.Fatal(err)
	}
	if read, err := Read(path); err != nil || !reflect.DeepEqual(read, ring) {
		t.Errorf("it is read as another: %v", err)
	}
}

// TestSealedSecretsAreBound checks that sealed secrets can be read after a rotation, but with no
// other ring, purpose or additional data.
func TestSealedSecretsAreBound(t *testing.T) {
	ring := New(time.Now())
	sealer := func(r Ring, purpose string) cipher.AEAD {
		t.Helper()
		s, err := r.Sealer(purpose)
		if err != nil {
			t.Fatal(err)
		}
		return s
	}
	sealed := sealer(ring, "a").Seal(nil, nil, []byte("secret"), []byte("user 1"))
	if got, err := sealer(ring.Rotate(time.Now()), "a").Open(nil, nil, sealed, []byte("user 1")); err != nil || string(got) != "secret" {
		t.Errorf("after a rotation it is %q, %v", got, err)
	}
	changed := bytes.Clone(sealed)
	changed[len(changed)-1] ^= 1
	for what, open := range map[string]func() ([]byte, error){
		"another purpose": func() ([]byte, error) { return sealer(ring, "b").Open(nil, nil, sealed, []byte("user 1")) },
		"another row":     func() ([]byte, error) { return sealer(ring, "a").Open(nil, nil, sealed, []byte("user 2")) },
		"another ring": func() ([]byte, error) {
			return sealer(New(time.Now()), "a").Open(nil, nil, sealed, []byte("user 1"))
		},
		"a change": func() ([]byte, error) { return sealer(ring, "a").Open(nil, nil, changed, []byte("user 1")) },
		"a part":   func() ([]byte, error) { return sealer(ring, "a").Open(nil, nil, sealed[:5], []byte("user 1")) },
	} {
		if got, err := open(); err == nil {
			t.Errorf("%s reads %q", what, got)
		}
	}
	if bytes.Contains(sealed, []byte("secret")) || bytes.Equal(sealed, sealer(ring, "a").Seal(nil, nil, []byte("secret"), []byte("user 1"))) {
		t.Error("the text shows, or is sealed alike twice")
	}
}

// TestDatabaseNameSurvivesRotation checks that the name is unaffected by rotation and not part of the keys.
func TestDatabaseNameSurvivesRotation(t *testing.T) {
	one, other := New(start), New(start)
	name := one.Instance()
	if len(name) != 16 || name != one.Rotate(start).Instance() || name == other.Instance() {
		t.Errorf("it is %q, rotated %q, and another's %q", name, one.Rotate(start).Instance(), other.Instance())
	}
	if check := hex.EncodeToString(one.Check()); strings.Contains(check, name) {
		t.Errorf("it is a part of the check %q", check)
	}
}
