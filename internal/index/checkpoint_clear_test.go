package index

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/redoubt/redoubt/internal/model"
)

// deletable is a world whose deployment may be deleted.
type deletable struct {
	*world

	deleted atomic.Bool
	stored  int // number of stored checkpoints
}

func (s *deletable) Version(ctx context.Context, id int64) (int64, error) {
	if s.deleted.Load() {
		return 0, model.ErrNotFound
	}
	return s.world.Version(ctx, id)
}

func (s *deletable) Versions(ctx context.Context, ids []int64) (map[int64]int64, error) {
	if s.deleted.Load() {
		return map[int64]int64{}, nil
	}
	return s.world.Versions(ctx, ids)
}

func (s *deletable) RecordCheckpoint(ctx context.Context, id int64, checkpoint string, version int64, forget []string) error {
	s.stored++
	if s.deleted.Load() {
		return model.ErrNotFound
	}
	return s.world.RecordCheckpoint(ctx, id, checkpoint, version, forget)
}

// TestDeletedDeploymentIsRemoved checks that a deleted deployment is removed from memory and
// disk, even with unsaved changes. No checkpoint of it is written afterwards.
func TestDeletedDeploymentIsRemoved(t *testing.T) {
	for name, c := range map[string]struct {
		delete  func(t *testing.T, x *Index, s *deletable)
		written int
	}{
		"it is noticed": {func(t *testing.T, x *Index, s *deletable) {
			running(t, x)
			time.Sleep(2 * othersEvery)
			synctest.Wait()
			s.deleted.Store(true)
			time.Sleep(2 * othersEvery)
			synctest.Wait()
		}, 1},
		"before a write": {func(t *testing.T, x *Index, s *deletable) {
			s.deleted.Store(true)
			x.saveDue(t.Context())
		}, 0},
		"the server stops first": {func(t *testing.T, x *Index, s *deletable) {
			s.deleted.Store(true)
			x.Save(t.Context())
		}, 0},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := newCheckpointed(t)
				w.save()
				s := &deletable{world: w.world}
				x := New(s, Options{BodyCache: 1 << 20, Checkpoints: Checkpoints{Dir: w.dir, Registry: s}, Logger: slog.New(slog.NewTextHandler(&w.log, nil))})
				add(w.world, smallBody, 11)
				v := view(t, x)
				c.delete(t, x, s)
				if n, used := len(x.loaded()), x.bodies.inUse(); n > 0 || used > 0 || len(x.saved) > 0 {
					t.Errorf("%d deployments are in memory, with %d bytes of bodies and %d notes of files", n, used, len(x.saved))
				}
				if left, _ := filepath.Glob(filepath.Join(w.dir, "*")); len(left) > 0 || s.stored != c.written {
					t.Errorf("left over: %v; written %d times", left, s.stored)
				}
				if got := ids(t, v, 0, 100); len(got) != 11 {
					t.Errorf("who had a view sees %d findings of 11", len(got))
				}
				if bytes.Contains(w.log.Bytes(), []byte("level=WARN")) {
					t.Errorf("it is warned of:\n%s", &w.log)
				}
			})
		})
	}
}

// TestDeploymentDeletedDuringCheckpointWrite checks that a deployment deleted during a write leaves
// no file.
func TestDeploymentDeletedDuringCheckpointWrite(t *testing.T) {
	c := newCheckpointed(t)
	c.save()
	s := &deletable{world: c.world}
	x := New(&deletesAtWrite{s}, Options{Checkpoints: Checkpoints{Dir: c.dir, Registry: s}})
	add(c.world, smallBody, 11)
	view(t, x)
	s.deleted.Store(true)
	x.Save(t.Context())
	if left, _ := filepath.Glob(filepath.Join(c.dir, "*")); len(left) > 0 || s.stored != 1 || len(x.loaded()) > 0 {
		t.Errorf("left over: %v; %d changes were stored; in memory: %d", left, s.stored, len(x.loaded()))
	}
}

// deletesAtWrite is a source that still returns a version before a write.
type deletesAtWrite struct{ *deletable }

func (s *deletesAtWrite) Version(ctx context.Context, id int64) (int64, error) {
	return s.world.Version(ctx, id)
}

// TestRemoveCheckpoints checks that Remove removes all files of a deployment and
// no others.
func TestRemoveCheckpoints(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "[index]")
	files := Checkpoints{Dir: dir}
	if err := files.Remove(7); err != nil {
		t.Errorf("without a folder: %v", err)
	}
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"7.checkpoint", "7.123.part", "7.notes", "70.checkpoint", "70.1.part", "17.checkpoint"} {
		if err := os.WriteFile(filepath.Join(dir, name), nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := files.Remove(7); err != nil {
		t.Error(err)
	}
	entries, err := os.ReadDir(dir)
	var left []string
	for _, e := range entries {
		left = append(left, e.Name())
	}
	if want := []string{"17.checkpoint", "7.notes", "70.1.part", "70.checkpoint"}; err != nil || !slices.Equal(left, want) {
		t.Errorf("left: %v, %v, want %v", left, err, want)
	}
	if err := os.MkdirAll(filepath.Join(dir, "7.checkpoint", "full"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := files.Remove(7); err == nil {
		t.Error("what cannot be removed is not said")
	}
}

// TestStalePartialFilesAreRemoved checks that unfinished files are removed an hour after their last write.
func TestStalePartialFilesAreRemoved(t *testing.T) {
	c := newCheckpointed(t)
	if err := os.Mkdir(c.dir, 0o700); err != nil {
		t.Fatal(err)
	}
	now := time.Now()
	x := New(c.world, Options{Clock: func() time.Time { return now }, Checkpoints: Checkpoints{Dir: c.dir, Registry: c.world}})
	for age, stays := range map[time.Duration]bool{0: true, time.Hour / 2: true, 2 * time.Hour: false} {
		name := filepath.Join(c.dir, "7.1.part")
		if err := errors.Join(os.WriteFile(name, nil, 0o600), os.Chtimes(name, now, now.Add(-age))); err != nil {
			t.Fatal(err)
		}
		x.clearCheckpoints(t.Context())
		if _, err := os.Stat(name); (err == nil) != stays {
			t.Errorf("a file of %s: %v, want it to stay: %v", age, err, stays)
		}
	}
}

// unanswered is a registry that fails.
type unanswered struct{ *world }

func (unanswered) HasCheckpoint(context.Context, int64, string) (bool, error) {
	return false, context.DeadlineExceeded
}

// TestUnreadableCheckpointIsRetained checks that a checkpoint that could not be read or verified is not
// removed.
func TestUnreadableCheckpointIsRetained(t *testing.T) {
	c := newCheckpointed(t)
	c.save()
	original := c.bytes()
	view(t, New(c.world, Options{Checkpoints: Checkpoints{Dir: c.dir, Registry: unanswered{c.world}}}))
	if !bytes.Equal(c.bytes(), original) {
		t.Error("it is another one")
	}
	c.starts(true)
	aside := c.file() + ".aside"
	if err := errors.Join(os.Rename(c.file(), aside), os.Symlink(c.file(), c.file())); err != nil { // cannot be opened
		t.Fatal(err)
	}
	c.starts(false)
	if _, err := os.Lstat(c.file()); err != nil {
		t.Errorf("what could not be opened was removed: %v", err)
	}
	if err := os.Rename(aside, c.file()); err != nil {
		t.Fatal(err)
	}
	c.starts(true)
}

// TestAlternatingEvictionDoesNotAddWrites checks that alternating eviction of two deployments does
// not write checkpoints more often.
func TestAlternatingEvictionDoesNotAddWrites(t *testing.T) {
	w := newWorld()
	seed(w)
	add(w, smallBody, span(1, 300)...)
	now, s := time.Now(), &deletable{world: w}
	x := New(everywhere{w}, Options{
		BodyCache: 1 << 20, Memory: 1, Clock: func() time.Time { return now },
		Checkpoints: Checkpoints{Dir: filepath.Join(t.TempDir(), "index"), Registry: s},
	})
	turns := func(n int) {
		t.Helper()
		for i := range n {
			add(w, smallBody, int64(1000+int(now.Unix()%1000)*100+i))
			now = now.Add(time.Second)
			if _, err := x.Deployment(t.Context(), int64(1+i%2)); err != nil {
				t.Fatal(err)
			}
			x.evict(t.Context())
			if n := len(x.loaded()); n != 1 {
				t.Fatalf("%d are in memory", n)
			}
		}
	}
	turns(60)
	if s.stored != 2 || x.loads.Load() != 2 {
		t.Errorf("written %d times in a minute, and read %d times from the store; want each once", s.stored, x.loads.Load())
	}
	now = now.Add(checkpointEvery)
	turns(10)
	if s.stored != 4 {
		t.Errorf("written %d times, want each again once it is due", s.stored)
	}
}
