package index

import (
	"context"
	"time"
)

const clearEvery = 5 * time.Minute

// Remove removes the files of a deployment that was deleted.
func (c Checkpoints) Remove(deployment int64) error {
	return c.folder().RemoveAll(deployment)
}

// clearCheckpoints removes files that were left by writers that died, and those of
// deployments that are gone.
func (x *Index) clearCheckpoints(ctx context.Context) {
	ids := x.checkpoints.folder().Clear(x.clock())
	if len(ids) == 0 {
		return
	}
	there, err := x.src.Versions(ctx, ids)
	if err != nil {
		return // another time
	}
	for _, id := range ids {
		if _, ok := there[id]; !ok {
			_ = x.checkpoints.folder().Remove(id) // another time
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
	if err := d.x.checkpoints.folder().Remove(d.id); err != nil {
		d.x.log.Warn("the checkpoint of a deleted deployment was not removed", "deployment_id", d.id, "cause", err)
	}
}
