//go:build unix

package keyring

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
)

// TestReplacePreservesOwnerAndMode checks that root can rotate the keys of a server that runs
// as another user.
func TestReplacePreservesOwnerAndMode(t *testing.T) {
	path := filepath.Join(t.TempDir(), "key")
	r := New(start)
	if err := r.Create(path); err != nil {
		t.Fatal(err)
	}
	const other = 4711
	if err := os.Chown(path, other, other); err != nil {
		t.Skipf("only root gives files away: %v", err)
	}
	if err := os.Chmod(path, 0o640); err != nil {
		t.Fatal(err)
	}
	if err := r.Rotate(start).Replace(path); err != nil {
		t.Fatal(err)
	}
	info, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	owner, ok := info.Sys().(*syscall.Stat_t)
	if !ok || owner.Uid != other || owner.Gid != other || info.Mode().Perm() != 0o640 {
		t.Errorf("the file is %v of %+v", info.Mode(), owner)
	}
	if err := r.Replace(filepath.Join(t.TempDir(), "none")); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a file that is not there is replaced: %v", err)
	}
}

// TestConcurrentCreateWithoutLinks checks that exactly one of several concurrent calls creates the file on a
// file system without links.
func TestConcurrentCreateWithoutLinks(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "key")
	var group sync.WaitGroup
	var named atomic.Int32
	for i := range 16 {
		part := filepath.Join(dir, string(rune('a'+i)))
		if err := os.WriteFile(part, []byte{byte(i)}, 0o600); err != nil {
			t.Fatal(err)
		}
		group.Go(func() {
			switch err := renameAlone(part, path); {
			case err == nil:
				named.Add(1)
			case !errors.Is(err, fs.ErrExist):
				t.Error(err)
			}
		})
	}
	group.Wait()
	if named.Load() != 1 {
		t.Errorf("%d gave the name", named.Load())
	}
}
