// Package keyring stores the keys of a server in a file outside of the database. It does not access
// the database or use the keys. Callers match files and databases with Ring.Check.
package keyring

import (
	"bytes"
	"crypto/aes"
	"crypto/cipher"
	"crypto/hkdf"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"time"
)

// keyBytes is the number of random bytes of a key.
const keyBytes = 32

// minKey is the minimum length of a key, in bytes, for files of older versions.
const minKey = 16

// instanceBytes is the length of a database's name, in bytes.
const instanceBytes = 8

// SigningFor is the time for which signatures remain valid after their key was rotated.
const SigningFor = 7 * 24 * time.Hour

// format is the version of the file format.
const format = 1

// Ring contains the keys of one database.
type Ring struct {
	Format int `json:"format"`
	// Secret is the key for hashes of reported secrets, and the base of the keys that encrypt
	// stored secrets. It is never rotated, because the hashes cannot be recomputed without the
	// secrets, which are not stored.
	Secret []byte `json:"secret"`
	// Signing contains the keys that sign values which the server issues and later verifies. The
	// current one is first.
	Signing []SigningKey `json:"signing"`
}

// SigningKey signs until it is rotated. Its signatures remain valid until Until.
type SigningKey struct {
	Key   []byte    `json:"key"`
	Made  time.Time `json:"made"`
	Until time.Time `json:"until,omitzero"` // zero for the current key
}

// file is the content of the file: a ring and its checksum.
type file struct {
	Ring
	Sum string `json:"sum,omitempty"` // see Ring.sum; missing in files of older versions
}

// sum returns the SHA-256 of a ring as JSON, in hexadecimal digits. It detects changes of signing
// keys, which the database cannot check.
func (r Ring) sum() string {
	text, err := json.Marshal(r)
	if err != nil {
		return "" // only for a time outside of the JSON range
	}
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:])
}

func fresh() []byte {
	k := make([]byte, keyBytes)
	_, _ = rand.Read(k) // never fails: the runtime stops the program instead
	return k
}

// New returns a ring of new keys.
func New(now time.Time) Ring {
	return Ring{
		Format:  format,
		Secret:  fresh(),
		Signing: []SigningKey{{Key: fresh(), Made: now.UTC().Truncate(time.Second)}},
	}
}

// Rotate returns the ring with a new current signing key. Signatures of the previous keys remain
// valid for SigningFor.
func (r Ring) Rotate(now time.Time) Ring {
	now = now.UTC().Truncate(time.Second)
	next := []SigningKey{{Key: fresh(), Made: now}}
	for i, k := range r.Signing {
		if i == 0 {
			k.Until = now.Add(SigningFor)
		}
		if now.Before(k.Until) {
			next = append(next, k)
		}
	}
	r.Signing = next
	return r
}

// SigningKeys returns the current key, and previous ones that are still valid.
func (r Ring) SigningKeys(now time.Time) (use []byte, old [][]byte) {
	for _, k := range r.Signing[1:] {
		if now.Before(k.Until) {
			old = append(old, k.Key)
		}
	}
	return r.Signing[0].Key, old
}

// Sealer returns a cipher that encrypts and authenticates stored secrets of a purpose. Its key
// derives from Secret, so that rotated signing keys do not affect it. The cipher generates its
// nonces and prefixes them to the ciphertext; callers must pass none.
func (r Ring) Sealer(purpose string) (cipher.AEAD, error) {
	key, err := hkdf.Key(sha256.New, r.Secret, nil, "redoubt: sealed "+purpose, keyBytes)
	if err != nil {
		return nil, err
	}
	block, err := aes.NewCipher(key)
	if err != nil {
		return nil, err
	}
	return cipher.NewGCMWithRandomNonce(block)
}

// Check returns a value by which a database recognizes its ring. It reveals nothing about the keys
// and is unaffected by rotation.
func (r Ring) Check() []byte {
	mac := hmac.New(sha256.New, r.Secret)
	mac.Write([]byte("redoubt: the key file of this database"))
	return mac.Sum(nil)
}

// Instance returns a public name that identifies the database, in hexadecimal digits. It reveals
// nothing about the keys and is unaffected by rotation.
func (r Ring) Instance() string {
	mac := hmac.New(sha256.New, r.Secret)
	mac.Write([]byte("redoubt: the name of this database"))
	return hex.EncodeToString(mac.Sum(nil)[:instanceBytes])
}

// Matches reports whether the check was made from this ring.
func (r Ring) Matches(check []byte) bool { return hmac.Equal(r.Check(), check) }

// Read reads a key file. It returns fs.ErrNotExist if there is none.
func Read(path string) (r Ring, err error) {
	info, err := os.Stat(path)
	if err != nil {
		return r, err
	}
	if !info.Mode().IsRegular() {
		return r, fmt.Errorf("the key file %s is not a regular file: use the file that contains the keys", path)
	}
	// Windows has no such bits and always shows them set.
	if info.Mode().Perm()&0o007 != 0 && runtime.GOOS != "windows" {
		return r, fmt.Errorf("the key file %s is accessible to all users of this machine: run chmod 600; if others "+
			"may have read it, see redoubt key --help", path)
	}
	text, err := os.ReadFile(path)
	if err != nil {
		return r, err
	}
	var f file
	if json.Unmarshal(text, &f) != nil || len(f.Secret) < minKey || len(f.Signing) == 0 || len(f.Signing[0].Key) < minKey {
		return r, fmt.Errorf("the key file %s is damaged, or not a key file: restore it from the backup", path)
	}
	if f.Format != format {
		return r, fmt.Errorf("the key file %s has the unsupported format %d: use a newer version, or restore the "+
			"file from the backup", path, f.Format)
	}
	if f.Sum != "" && f.Sum != f.sum() {
		return r, fmt.Errorf(
			"the key file %s is damaged (checksum mismatch): restore it from the backup", path,
		)
	}
	return f.Ring, nil
}

// Create writes a key file if none exists. Otherwise, or if another process creates it first, it
// returns fs.ErrExist.
func (r Ring) Create(path string) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return err
	}
	return r.put(path, func(part string) error {
		err := os.Link(part, path)
		if err != nil && !errors.Is(err, fs.ErrExist) { // for file systems without links, such as network ones
			return renameAlone(part, path)
		}
		if err != nil {
			return err
		}
		return os.Remove(part)
	})
}

// Replace overwrites an existing key file and preserves its owner and mode. Root may rotate keys
// for a server that runs as another user.
func (r Ring) Replace(path string) error {
	if target, err := filepath.EvalSymlinks(path); err == nil {
		path = target
	}
	before, err := os.Stat(path)
	if err != nil {
		return err
	}
	return r.put(path, func(part string) error {
		if err := own(part, before); err != nil {
			return fmt.Errorf("set the owner of the new key file: %w", err)
		}
		if err := os.Chmod(part, before.Mode().Perm()); err != nil {
			return err
		}
		return os.Rename(part, path)
	})
}

// put writes and syncs a temporary file before it is renamed. After a crash, either the old or the
// new file is complete.
func (r Ring) put(path string, name func(part string) error) error {
	text, err := json.MarshalIndent(file{r, r.sum()}, "", "  ")
	if err != nil {
		return err
	}
	part, err := os.CreateTemp(filepath.Dir(path), filepath.Base(path)+".*.part") // readable by its owner only
	if err != nil {
		return fmt.Errorf("write the key file: %w", err)
	}
	_, err = part.Write(append(bytes.TrimSpace(text), '\n'))
	if err = errors.Join(err, part.Sync(), part.Close()); err == nil {
		err = name(part.Name())
	}
	if err != nil {
		_ = os.Remove(part.Name()) // the first error matters more
		if errors.Is(err, fs.ErrExist) {
			return fs.ErrExist
		}
		return fmt.Errorf("write the key file: %w", err)
	}
	return syncDir(filepath.Dir(path))
}

// syncDir syncs the names in a folder if the system supports it.
func syncDir(dir string) error {
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	_ = d.Sync() // some file systems do not support this and return an error
	return d.Close()
}
