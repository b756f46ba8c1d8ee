package index

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

const (
	clearEvery = 5 * time.Minute

	// leftFor is the age of unfinished files that are removed. A running writer changes its file.
	leftFor = time.Hour
)

// Remove removes the files of a deployment that was deleted.
func (c Checkpoints) Remove(deployment int64) error {
	entries, err := os.ReadDir(c.Dir)
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	of := strconv.FormatInt(deployment, 10) + "."
	for _, e := range entries {
		name := filepath.Join(c.Dir, e.Name())
		part := strings.HasPrefix(e.Name(), of) && strings.HasSuffix(e.Name(), partSuffix)
		if name != c.file(deployment) && !part {
			continue
		}
		if gone := os.Remove(name); !errors.Is(gone, os.ErrNotExist) {
			err = errors.Join(err, gone)
		}
	}
	return err
}

// clearCheckpoints removes files that were left by writers that died, and those of
// deployments that are gone.
func (x *Index) clearCheckpoints(ctx context.Context) {
	entries, err := os.ReadDir(x.checkpoints.Dir)
	if err != nil {
		return // there is no folder yet
	}
	var ids []int64
	for _, e := range entries {
		name := filepath.Join(x.checkpoints.Dir, e.Name())
		info, err := e.Info()
		if err != nil || !info.Mode().IsRegular() {
			continue
		}
		if strings.HasSuffix(e.Name(), partSuffix) {
			if info.ModTime().Before(x.clock().Add(-leftFor)) {
				_ = os.Remove(name) // another time
			}
			continue
		}
		id, err := strconv.ParseInt(strings.TrimSuffix(e.Name(), checkpointSuffix), 10, 64)
		if err == nil && strings.HasSuffix(e.Name(), checkpointSuffix) {
			ids = append(ids, id)
		}
	}
	if len(ids) == 0 {
		return
	}
	there, err := x.src.Versions(ctx, ids)
	if err != nil {
		return // another time
	}
	for _, id := range ids {
		if _, ok := there[id]; !ok {
			_ = os.Remove(x.checkpointFile(id)) // another time
		}
	}
}

// forget takes a deployment out of memory that is gone, and removes its file.
func (x *Index) forget(ctx context.Context, d *deployment) {
	d.leave(ctx)
	d.saved.writing.Lock()
	defer d.saved.writing.Unlock()
	d.removeFile()
}

// leave takes a deployment out of memory that is gone.
func (d *deployment) leave(ctx context.Context) {
	if d.retire(ctx) {
		d.x.log.Info("index of a deleted deployment taken out of memory", "deployment_id", d.id)
	}
}

// removeFile removes the file of a deployment that is gone. Whoever calls it is the
// one that writes it.
func (d *deployment) removeFile() {
	d.saved.lost()
	d.x.mu.Lock()
	delete(d.x.saved, d.id)
	d.x.mu.Unlock()
	if d.x.checkpoints.Dir == "" {
		return
	}
	if err := os.Remove(d.x.checkpointFile(d.id)); err != nil && !errors.Is(err, os.ErrNotExist) {
		d.x.log.Warn("the checkpoint of a deleted deployment was not removed", "deployment_id", d.id, "cause", err)
	}
}
