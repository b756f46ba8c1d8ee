package store_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/redoubt/redoubt/internal/model"
	"github.com/redoubt/redoubt/internal/store"
	"github.com/redoubt/redoubt/internal/testutil/storetest"
)

// TestReadOnlyDiskAllowsReads starts on a read-only file system, which ext4 becomes after an error. It
// does so after a clean shutdown and after a kill, which leaves SQLite's additional files.
func TestReadOnlyDiskAllowsReads(t *testing.T) {
	dir := t.TempDir()
	if err := syscall.Mount("tmpfs", dir, "tmpfs", 0, "size=64m"); err != nil {
		t.Skipf("a read-only disk is a small file system in memory, which only root may make: %v", err)
	}
	t.Cleanup(func() {
		if err := syscall.Unmount(dir, syscall.MNT_DETACH); err != nil {
			t.Error(err)
		}
	})
	ended, killed, bare := filepath.Join(dir, "ended"), filepath.Join(dir, "killed"), filepath.Join(dir, "bare")
	clock := storetest.NewClock().Now
	s := storetest.Open(t, store.Config{Dir: ended, Clock: clock})
	d := small(t, s)
	err := errors.Join(os.CopyFS(killed, os.DirFS(ended)), os.CopyFS(bare, os.DirFS(ended)), os.Remove(filepath.Join(bare, store.FileName+"-shm")))
	if err != nil {
		t.Fatal(err)
	}
	if info, err := os.Stat(filepath.Join(killed, store.FileName+"-wal")); err != nil || info.Size() == 0 {
		t.Fatalf("a killed server leaves no log of writes: %v", err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if err := syscall.Mount("", dir, "", syscall.MS_REMOUNT|syscall.MS_RDONLY, ""); err != nil {
		t.Fatal(err)
	}
	for name, folder := range map[string]string{"after an orderly end": ended, "after a kill": killed, "without shared memory": bare} {
		t.Run(name, func(t *testing.T) {
			s, err := store.Open(t.Context(), store.Config{Dir: folder, Clock: clock})
			if err != nil {
				t.Fatal(err)
			}
			view(t, s, d, func(ctx context.Context, tx *store.Tx) error {
				_, err := tx.ProjectByName(ctx, "acme/small")
				return err
			})
			fails(t, "a write", large(t, s, d), model.ErrReadOnly)
			reads, writes := s.Health(t.Context())
			fails(t, "writing", writes, model.ErrReadOnly)
			if err := errors.Join(reads, s.CheckFile(t.Context()), s.Backup(t.Context(), filepath.Join(t.TempDir(), "backup.db"))); err != nil {
				t.Errorf("reading, a check and a backup: %v", err)
			}
			if err := s.Close(); err != nil {
				t.Error(err)
			}
		})
	}
}
