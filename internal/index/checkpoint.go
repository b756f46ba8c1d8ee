package index

import (
	"bufio"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"sync"
	"sync/atomic"
	"time"

	"github.com/redoubt/redoubt/internal/index/checkpoint"
	"github.com/redoubt/redoubt/internal/model"
)

// Checkpoints says where an index keeps files that it starts from, so that it need
// not read all findings of a large deployment first. They hold no more than the
// store does, and may be removed at any time.
type Checkpoints struct {
	Dir      string              // made where there is none; empty keeps no files
	Registry checkpoint.Registry // of the same store as the source
	Least    int                 // findings: a deployment with fewer is read from the store as fast
}

const (
	// A checkpoint is written when something changed and the last one is so old, and a
	// hundred times as old as it took to write.
	checkpointEvery = 5 * time.Minute
	checkpointShare = 100
)

// saved is what is known of a deployment's file, also while the deployment is not in
// memory. It is safe for concurrent use.
type saved struct {
	mu      sync.Mutex
	writing sync.Mutex // held by who writes it
	version int64
	id      string        // of the file; empty when there is none
	forget  []string      // remembered in the store, without a file by now
	tried   time.Time     // when the last one was begun
	took    time.Duration // to write it
	evicted atomic.Bool   // the deployment was removed from memory for lack of room
}

func (c *saved) set(version int64, id string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.id != "" && c.id != id {
		c.forget = append(c.forget, c.id)
	}
	c.version, c.id = version, id
}

// begun says when this process first knew of a file, so that it is not replaced at once.
func (c *saved) begun(now time.Time) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.tried.IsZero() {
		c.tried = now
	}
}

// lost says that there is no file any more.
func (c *saved) lost() { c.set(0, "") }

// due reports whether it is time for another one.
func (c *saved) due(version int64, now time.Time) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return version > 0 && version != c.version &&
		(c.tried.IsZero() || now.Sub(c.tried) >= max(checkpointEvery, checkpointShare*c.took))
}

func (c *Checkpoints) folder() checkpoint.Folder { return checkpoint.Folder(c.Dir) }

// restore puts the state of a checkpoint in place of none, and reports whether it
// did. One whose content is doubtful is removed, not one that could not be looked at.
// Whoever calls it has the turn.
func (d *deployment) restore(ctx context.Context) bool {
	if d.x.checkpoints.Dir == "" {
		return false
	}
	began, name := d.x.clock(), d.x.checkpoints.folder().File(d.id)
	s, h, err := d.readCheckpoint(ctx, name)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		d.saved.lost()
		return false
	case errors.Is(err, model.ErrUnavailable): // of the store, which the index is not built from either then
		return false
	case errors.As(err, new(*fs.PathError)), errors.Is(err, errNotAsked):
		d.x.log.Warn("the checkpoint of the index could not be read: the index is built anew",
			"deployment_id", d.id, "cause", err)
		return false
	case err != nil:
		d.discardCheckpoint(err)
		return false
	}
	d.swap(s)
	d.saved.set(h.Version, h.ID)
	d.saved.begun(began)
	d.x.log.Info("index read from its checkpoint", "deployment_id", d.id, "findings", h.Findings, "version", h.Version,
		"took", d.x.clock().Sub(began))
	return true
}

// discardCheckpoint says why a checkpoint is not used, and removes it.
func (d *deployment) discardCheckpoint(cause error) {
	d.x.log.Warn("the checkpoint of the index is not used: the index is built anew", "deployment_id", d.id, "cause", cause)
	_ = d.x.checkpoints.folder().Remove(d.id) // one that stays is looked at again, and not used again
	d.saved.lost()
}

// errNotAsked says that the store did not tell whether it knows a checkpoint.
var errNotAsked = errors.New("the database was not asked")

func (d *deployment) readCheckpoint(ctx context.Context, name string) (*state, *checkpoint.Heading, error) {
	f, size, err := checkpoint.OpenRegular(name)
	if err != nil {
		return nil, nil, err
	}
	defer f.Close()
	r, err := checkpoint.Open(f, size)
	if err != nil {
		return nil, nil, err
	}
	if r.Deployment != d.id {
		return nil, nil, fmt.Errorf("it is of deployment %d", r.Deployment)
	}
	if r.Layout != layoutSum() {
		return nil, nil, errLayout
	}
	known, err := d.x.checkpoints.Registry.HasCheckpoint(ctx, d.id, r.ID)
	if err != nil {
		return nil, nil, fmt.Errorf("%w: %w", errNotAsked, err)
	}
	if !known {
		return nil, nil, errors.New("the database does not know it: another one may have been restored")
	}
	s, err := readState(r, &d.x.bodies, d.x.clock)
	return s, &r.Heading, err
}

// Save writes the checkpoints of all deployments that changed since their last one,
// until the context ends. What fails is logged: without a checkpoint an index is
// built from the store.
func (x *Index) Save(ctx context.Context) {
	if x.checkpoints.Dir == "" {
		return
	}
	for _, d := range x.loaded() {
		if d.changed() && ctx.Err() == nil {
			d.save(ctx)
		}
	}
}

// changed reports whether the file is of another version.
func (d *deployment) changed() bool {
	version := d.version()
	d.saved.mu.Lock()
	defer d.saved.mu.Unlock()
	return version > 0 && version != d.saved.version
}

// save writes a checkpoint, and logs what is wrong.
func (d *deployment) save(ctx context.Context) {
	d.saved.writing.Lock()
	defer d.saved.writing.Unlock()
	began := d.x.clock()
	n, err := d.write(ctx)
	took := d.x.clock().Sub(began)
	d.saved.mu.Lock()
	d.saved.tried, d.saved.took = began, took
	d.saved.mu.Unlock()
	switch {
	case errors.Is(err, model.ErrNotFound): // there is no such deployment any more
		d.leave(ctx)
		d.removeFile()
	case err != nil && errors.Is(ctx.Err(), context.Canceled): // the server stops, and a stop saves once more
	case err != nil:
		d.x.log.Warn("the checkpoint of the index was not written: the next start may take longer",
			"deployment_id", d.id, "cause", err)
	case n != nil:
		d.x.log.Info("checkpoint of the index written", "deployment_id", d.id, "findings", n.findings,
			"version", n.version, "took", took)
	}
}

// write writes a checkpoint of what the state is now, if the deployment is still there: the file under another name,
// then its id into the store, then the file under its name. Whatever ends in
// between, the file that has the name is one that the store knows. It returns what
// was written, nil when the state is not one to be kept.
func (d *deployment) write(ctx context.Context) (*snapshot, error) {
	if _, err := d.x.src.Version(ctx, d.id); err != nil {
		return nil, err
	}
	n, err := d.snapshot(ctx)
	if err != nil || n == nil {
		return nil, err
	}
	defer d.thaw(n)
	dir := d.x.checkpoints.folder()
	f, err := dir.Create(d.id)
	if err != nil {
		return nil, err
	}
	id := rand.Text()
	err = checkpoint.WriteSynced(f, func(w *bufio.Writer) error { return n.write(ctx, w, id, &d.mu) })
	if err == nil {
		err = d.x.checkpoints.Registry.KeepCheckpoint(ctx, d.id, id, n.version, d.saved.obsolete())
	}
	if err == nil {
		err = dir.Publish(f, d.id)
	}
	if err != nil {
		return nil, errors.Join(err, os.Remove(f.Name()))
	}
	dir.Sync()
	d.saved.set(n.version, id)
	return n, nil
}

// obsolete returns the ids that have no file, once.
func (c *saved) obsolete() []string {
	c.mu.Lock()
	defer c.mu.Unlock()
	out := c.forget
	c.forget = nil
	return out
}

// snapshot takes down the state, if it is loaded, whole, and large enough. One that has texts
// of what is a secret now is built anew first.
func (d *deployment) snapshot(ctx context.Context) (*snapshot, error) {
	if err := d.take(ctx); err != nil {
		return nil, err
	}
	defer d.give()
	if d.state.concealed && !d.gone {
		if err := d.load(ctx); err != nil {
			return nil, err
		}
	}
	findings := 0
	for _, p := range d.state.parts {
		if p != nil {
			findings += len(p.where)
		}
	}
	if d.gone || d.torn || d.state.version <= 0 || findings < d.x.checkpoints.Least {
		return nil, nil
	}
	return d.state.snapshot(d.id)
}

// thaw lets rows change without being copied first.
func (d *deployment) thaw(n *snapshot) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for i, p := range n.partitions {
		if p.frozen == n.frozen[i] {
			p.frozen = nil
		}
	}
}

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
