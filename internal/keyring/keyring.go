// Package keyring keeps the keys of a server in a file of their own, beside the
// database and not in it.
//
// Its border: it reads, makes and replaces one file, and knows neither the
// database nor what the keys are for elsewhere. Which file belongs to which
// database is decided by who wires both, with Check.
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

// keyBytes is how many random bytes a key has.
const keyBytes = 32

// minKey is the least that a key of an older version may have.
const minKey = 16

// instanceBytes is how many bytes the name of a database has.
const instanceBytes = 8

// SigningFor is how long what was signed with a key holds after another has taken
// its place.
const SigningFor = 7 * 24 * time.Hour

// format is how the file is written.
const format = 1

// Ring is the keys of one database.
type Ring struct {
	Format int `json:"format"`
	// Secret is the key of the hashes by which secrets of reports are told apart,
	// and the ground of those that seal what the database keeps. It stays: what it
	// made cannot be made again without the secrets, which are not kept.
	Secret []byte `json:"secret"`
	// Signing are the keys of what the server hands out and takes back, the one in
	// use first.
	Signing []SigningKey `json:"signing"`
}

// SigningKey signs until another takes its place, and is believed for a while
// after that.
type SigningKey struct {
	Key   []byte    `json:"key"`
	Made  time.Time `json:"made"`
	Until time.Time `json:"until,omitzero"` // zero: the one in use
}

// file is what the file holds: a ring, and what tells whether a bit of it has changed.
type file struct {
	Ring
	Sum string `json:"sum,omitempty"` // see Ring.sum; files of older versions have none
}

// sum is the SHA-256 of a ring as JSON, in hexadecimal digits. No check by the database
// sees a change of what signs: it is rotated without one.
func (r Ring) sum() string {
	text, err := json.Marshal(r)
	if err != nil {
		return "" // a time that no calendar has; it is written nowhere
	}
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:])
}

func fresh() []byte {
	k := make([]byte, keyBytes)
	_, _ = rand.Read(k) // never fails: the runtime stops the program instead
	return k
}

// New makes a ring of new keys.
func New(now time.Time) Ring {
	return Ring{
		Format:  format,
		Secret:  fresh(),
		Signing: []SigningKey{{Key: fresh(), Made: now.UTC().Truncate(time.Second)}},
	}
}

// Rotate returns the ring with another signing key in use. What was signed before
// is believed for SigningFor.
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

// SigningKeys returns the key in use, and those before it that are still believed.
func (r Ring) SigningKeys(now time.Time) (use []byte, old [][]byte) {
	for _, k := range r.Signing[1:] {
		if now.Before(k.Until) {
			old = append(old, k.Key)
		}
	}
	return r.Signing[0].Key, old
}

// Sealer returns what encrypts, and proves whole, the secrets that the database
// keeps for a purpose. Its key is of the one that stays, so that rotating what
// signs leaves them readable. It makes its nonces itself: none is given to it, and
// the sealed text has it in front.
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

// Check is what a database keeps to know its ring by. It tells nothing of the keys,
// and stays when they are rotated.
func (r Ring) Check() []byte {
	mac := hmac.New(sha256.New, r.Secret)
	mac.Write([]byte("redoubt: the key file of this database"))
	return mac.Sum(nil)
}

// Instance tells a database from others, in hexadecimal digits that everybody may read. It
// tells nothing of the keys, and stays when they are rotated.
func (r Ring) Instance() string {
	mac := hmac.New(sha256.New, r.Secret)
	mac.Write([]byte("redoubt: the name of this database"))
	return hex.EncodeToString(mac.Sum(nil)[:instanceBytes])
}

// Fits reports whether a ring is the one that a check was made of.
func (r Ring) Fits(check []byte) bool { return hmac.Equal(r.Check(), check) }

// Read reads a key file. One that is not there is fs.ErrNotExist.
func Read(path string) (r Ring, err error) {
	info, err := os.Stat(path)
	if err != nil {
		return r, err
	}
	if !info.Mode().IsRegular() {
		return r, fmt.Errorf("the key file %s is a folder or another kind of file: name the file that holds the keys", path)
	}
	if info.Mode().Perm()&0o007 != 0 && runtime.GOOS != "windows" { // which has no such bits and always shows them set
		return r, fmt.Errorf("the key file %s is open to everybody on this machine: chmod 600 it; if others may have read "+
			"it, see redoubt key --help", path)
	}
	text, err := os.ReadFile(path)
	if err != nil {
		return r, err
	}
	var f file
	if json.Unmarshal(text, &f) != nil || len(f.Secret) < minKey || len(f.Signing) == 0 || len(f.Signing[0].Key) < minKey {
		return r, fmt.Errorf("the key file %s is damaged, or is none: put the one from the backup in its place", path)
	}
	if f.Format != format {
		return r, fmt.Errorf("the key file %s has the format %d, which this version does not know: use a newer one, or put "+
			"the one from the backup in its place", path, f.Format)
	}
	if f.Sum != "" && f.Sum != f.sum() {
		return r, fmt.Errorf(
			"the key file %s is damaged, as its sum is not that of its keys: put the one from the backup in its place", path,
		)
	}
	return f.Ring, nil
}

// Create writes a key file where there is none. Of several that do so at once, one
// does; to the others it is fs.ErrExist.
func (r Ring) Create(path string) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return err
	}
	return r.put(path, func(part string) error {
		err := os.Link(part, path)
		if err != nil && !errors.Is(err, fs.ErrExist) { // a file system without links, as some of networks
			return renameAlone(part, path)
		}
		if err != nil {
			return err
		}
		return os.Remove(part)
	})
}

// Replace writes a key file in the place of the one that is there, whose owner and
// mode it keeps: root may rotate for a server that runs as somebody else.
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
			return fmt.Errorf("give the new file the owner of the one before: %w", err)
		}
		if err := os.Chmod(part, before.Mode().Perm()); err != nil {
			return err
		}
		return os.Rename(part, path)
	})
}

// put writes the file whole, and on disk, before it gets its name: a crash leaves
// the file from before or the new one.
func (r Ring) put(path string, name func(part string) error) error {
	text, err := json.MarshalIndent(file{r, r.sum()}, "", "  ")
	if err != nil {
		return err
	}
	part, err := os.CreateTemp(filepath.Dir(path), filepath.Base(path)+".*.part") // its owner's alone
	if err != nil {
		return fmt.Errorf("write the key file: %w", err)
	}
	_, err = part.Write(append(bytes.TrimSpace(text), '\n'))
	if err = errors.Join(err, part.Sync(), part.Close()); err == nil {
		err = name(part.Name())
	}
	if err != nil {
		_ = os.Remove(part.Name()) // the cause matters more
		if errors.Is(err, fs.ErrExist) {
			return fs.ErrExist
		}
		return fmt.Errorf("write the key file: %w", err)
	}
	return syncDir(filepath.Dir(path))
}

// syncDir has the names of a folder on disk, where the system can.
func syncDir(dir string) error {
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	_ = d.Sync() // some file systems have nothing to do here and say so
	return d.Close()
}
