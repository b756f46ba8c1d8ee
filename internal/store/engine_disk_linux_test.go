package store_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/redoubt/redoubt/internal/model"
	"github.com/redoubt/redoubt/internal/store"
	"github.com/redoubt/redoubt/internal/testutil/storetest"
)

// TestFullDiskAllowsReads fills a separate file system and restarts on it. A kill leaves SQLite's
// additional files; a clean shutdown removes them.
func TestFullDiskAllowsReads(t *testing.T) {
	dir := t.TempDir()
	if err := syscall.Mount("tmpfs", dir, "tmpfs", 0, "size=16m"); err != nil {
		t.Skipf("a full disk is a small file system in memory, which only root may make: %v", err)
	}
	t.Cleanup(func() {
		if err := syscall.Unmount(dir, syscall.MNT_DETACH); err != nil {
			t.Error(err)
		}
	})
	config := store.Config{Dir: filepath.Join(dir, "data"), Clock: storetest.NewClock().Now}
	s := storetest.Open(t, config)
	d := small(t, s)
	fill(t, filepath.Join(dir, "others"))
	readsOnly(t, s, d)
	for range 2 { // another process concurrently, then one after it
		reopened := storetest.Open(t, config)
		if _, writes := reopened.Health(t.Context()); writes == nil {
			t.Error("a start without room says that it can write")
		}
		readsOnly(t, reopened, d)
		if err := reopened.Close(); err != nil {
			t.Error(err)
		}
		if err := s.Close(); err != nil {
			t.Error(err)
		}
		fill(t, filepath.Join(dir, "more"))
	}
	if err := os.Remove(filepath.Join(dir, "others")); err != nil {
		t.Fatal(err)
	}
	s = storetest.Open(t, config)
	if err := large(t, s, d); err != nil {
		t.Errorf("with room again: %v", err)
	}
}

// fill uses all free space.
func fill(t *testing.T, name string) {
	t.Helper()
	f, err := os.OpenFile(name, os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	for size := 1 << 20; size > 0; size /= 2 {
		piece := make([]byte, size)
		for err == nil {
			_, err = f.Write(piece)
		}
		err = nil
	}
}

// TestBackupErrorNamesFullDisk checks that the error names the full disk of the backup rather than
// that of the database.
func TestBackupErrorNamesFullDisk(t *testing.T) {
	s := storetest.New(t, "sqlite")
	d := small(t, s)
	other := t.TempDir()
	if err := syscall.Mount("tmpfs", other, "tmpfs", 0, "size=256k"); err != nil {
		t.Skipf("a full disk is a small file system in memory, which only root may make: %v", err)
	}
	t.Cleanup(func() {
		if err := syscall.Unmount(other, syscall.MNT_DETACH); err != nil {
			t.Error(err)
		}
	})
	err := s.Backup(t.Context(), filepath.Join(other, "backup.db"))
	if err == nil || errors.Is(err, model.ErrDiskFull) || !strings.Contains(err.Error(), other) {
		t.Errorf("a backup to a full disk is %v, want an error that names its folder and not the database's disk", err)
	}
	if files, err := os.ReadDir(other); err != nil || len(files) > 0 {
		t.Errorf("it leaves %v, %v", files, err)
	}
	if err := large(t, s, d); err != nil {
		t.Errorf("the database takes no writes then: %v", err)
	}
}
