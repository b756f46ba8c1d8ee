package runner

import (
	"context"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// watchEvery is the interval of checks of resource use.
const watchEvery = 500 * time.Millisecond

// watch calls check periodically and cancels the context with its error.
func watch(parent context.Context, check func() error) (ctx context.Context, stop func()) {
	ctx, cancel := context.WithCancelCause(parent)
	done := make(chan struct{})
	go func() {
		defer close(done)
		for {
			select {
			case <-ctx.Done():
				return
			case <-time.After(watchEvery):
			}
			if err := check(); err != nil {
				cancel(err)
			}
		}
	}()
	return ctx, func() { cancel(nil); <-done }
}

// watchDisk cancels the context if fetching exceeds the disk limit.
func (f *fetch) watchDisk(ctx context.Context, repository string) (context.Context, func()) {
	before := size(repository)
	return watch(ctx, func() error {
		if size(repository)-before > f.Limits.Disk {
			return permanent("fetching the repository needs more than %d MiB, the limit of this runner",
				f.Limits.Disk>>20)
		}
		return nil
	})
}

// size returns the total size of the files in a directory.
func size(dir string) (bytes int64) {
	_ = filepath.WalkDir(dir, func(_ string, e fs.DirEntry, err error) error { // ignore files removed in the meantime
		if err == nil && e.Type().IsRegular() {
			if info, err := e.Info(); err == nil {
				bytes += info.Size()
			}
		}
		return nil
	})
	return bytes
}

// trimCache removes the least recently used repositories until the rest is within the limit. The
// repository of the current run is the newest.
func (r *Runner) trimCache() {
	entries, err := os.ReadDir(r.cacheDir())
	if err != nil {
		return
	}
	type stored struct {
		dir  string
		at   time.Time
		size int64
	}
	var all []stored
	total := int64(0)
	for _, e := range entries {
		dir := filepath.Join(r.cacheDir(), e.Name())
		if info, err := os.Stat(filepath.Join(dir, "config")); err == nil && strings.HasSuffix(e.Name(), ".git") {
			k := stored{dir, info.ModTime(), size(dir)}
			total += k.size
			all = append(all, k)
		}
	}
	slices.SortFunc(all, func(a, b stored) int { return a.at.Compare(b.at) })
	for _, k := range all {
		if total <= r.Limits.Cache {
			return
		}
		if err := removeAll(k.dir); err != nil {
			r.Logger.Warn("a cached repository could not be removed", "dir", k.dir, "error", err)
			return
		}
		total -= k.size
	}
}
