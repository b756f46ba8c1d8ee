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

// Checkpoints configures files from which an index starts, so that it need not read all findings
// from the store. They contain only data of the store and can be deleted at any time.
type Checkpoints struct {
	Dir      string              // created if missing; empty disables checkpoints
	Registry checkpoint.Registry // of the same store as the source
	Least    int                 // minimum number of findings; reading fewer from the store is as fast
}

const (
	// A checkpoint is written if the state changed and the last one is old enough. Its age must
	// exceed checkpointEvery, and checkpointShare times the duration of writing it.
	checkpointEvery = 5 * time.Minute
	checkpointShare = 100
)

// saved is the state of a deployment's checkpoint file, also while the deployment is not in memory.
// It is safe for concurrent use.
type saved struct {
	mu      sync.Mutex
	writing sync.Mutex // held while the file is written
	version int64
	id      string        // of the file; empty if there is none
	forget  []string      // stored in the database, but without a file
	tried   time.Time     // start of the last attempt
	took    time.Duration // duration of the last attempt
	evicted atomic.Bool   // evicted for lack of memory
}

func (c *saved) set(version int64, id string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.id != "" && c.id != id {
		c.forget = append(c.forget, c.id)
	}
	c.version, c.id = version, id
}

// begun sets the time of the last attempt if there was none. This prevents rewriting a file that
// was just read.
func (c *saved) begun(now time.Time) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.tried.IsZero() {
		c.tried = now
	}
}

// lost records that the file does not exist.
func (c *saved) lost() { c.set(0, "") }

// due reports whether a checkpoint should be written.
func (c *saved) due(version int64, now time.Time) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return version > 0 && version != c.version &&
		(c.tried.IsZero() || now.Sub(c.tried) >= max(checkpointEvery, checkpointShare*c.took))
}

func (c *Checkpoints) folder() checkpoint.Folder { return checkpoint.Folder(c.Dir) }

// restore replaces an empty state with the state of a checkpoint, and reports whether it did. It
// removes an invalid file, but retains one that it could not read or verify. The caller must hold
// the update semaphore.
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
	case errors.Is(err, model.ErrUnavailable): // an error of the store, from which the index cannot be built either
		return false
	case errors.As(err, new(*fs.PathError)), errors.Is(err, errNotQueried):
		d.x.log.Warn("the checkpoint of the index could not be read: rebuilding the index",
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

// discardCheckpoint logs why a checkpoint is not used, and removes it.
func (d *deployment) discardCheckpoint(cause error) {
	d.x.log.Warn("the checkpoint of the index is not used: rebuilding the index", "deployment_id", d.id, "cause", cause)
	_ = d.x.checkpoints.folder().Remove(d.id) // a remaining file is rejected again
	d.saved.lost()
}

// errNotQueried reports that the store could not be queried for a checkpoint.
var errNotQueried = errors.New("the database was not queried")

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
		return nil, nil, fmt.Errorf("it belongs to deployment %d", r.Deployment)
	}
	if r.Layout != layoutSum() {
		return nil, nil, errLayout
	}
	known, err := d.x.checkpoints.Registry.HasCheckpoint(ctx, d.id, r.ID)
	if err != nil {
		return nil, nil, fmt.Errorf("%w: %w", errNotQueried, err)
	}
	if !known {
		return nil, nil, errors.New("the database does not contain it: another backup may be restored")
	}
	s, err := readState(r, &d.x.bodies, d.x.clock)
	return s, &r.Heading, err
}

// Save writes the checkpoints of all changed deployments until ctx ends. It logs errors, because an
// index can be built without checkpoints.
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

// changed reports whether the checkpoint has another version than the state.
func (d *deployment) changed() bool {
	version := d.version()
	d.saved.mu.Lock()
	defer d.saved.mu.Unlock()
	return version > 0 && version != d.saved.version
}

// save writes a checkpoint and logs errors.
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
	case errors.Is(err, model.ErrNotFound): // the deployment was deleted
		d.leave(ctx)
		d.removeFile()
	case err != nil && errors.Is(ctx.Err(), context.Canceled): // shutdown saves again
	case err != nil:
		d.x.log.Warn("the checkpoint of the index was not written: the next start may take longer",
			"deployment_id", d.id, "cause", err)
	case n != nil:
		d.x.log.Info("checkpoint of the index written", "deployment_id", d.id, "findings", n.findings,
			"version", n.version, "took", took)
	}
}

// write writes a checkpoint of the current state, if the deployment still exists. It writes a
// temporary file, stores its ID in the database and renames the file. So the published file always
// has an ID that the database contains, even after a crash. It returns nil if the state is not
// worth a checkpoint.
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
		err = d.x.checkpoints.Registry.RecordCheckpoint(ctx, d.id, id, n.version, d.saved.obsolete())
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

// obsolete returns and clears the IDs of checkpoints without a file.
func (c *saved) obsolete() []string {
	c.mu.Lock()
	defer c.mu.Unlock()
	out := c.forget
	c.forget = nil
	return out
}

// snapshot returns a snapshot of the state, or nil if it is not loaded, incomplete or too small. A
// state that may contain texts of code that is now a secret is rebuilt first.
func (d *deployment) snapshot(ctx context.Context) (*snapshot, error) {
	if err := d.acquire(ctx); err != nil {
		return nil, err
	}
	defer d.release()
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

// thaw ends the copying of rows before changes.
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

// Remove removes the files of a deleted deployment.
func (c Checkpoints) Remove(deployment int64) error {
	return c.folder().RemoveAll(deployment)
}

// clearCheckpoints removes abandoned temporary files and the files of deleted deployments.
func (x *Index) clearCheckpoints(ctx context.Context) {
	ids := x.checkpoints.folder().Clear(x.clock())
	if len(ids) == 0 {
		return
	}
	existing, err := x.src.Versions(ctx, ids)
	if err != nil {
		return // retried later
	}
	for _, id := range ids {
		if _, ok := existing[id]; !ok {
			_ = x.checkpoints.folder().Remove(id) // retried later
		}
	}
}

// forget removes a deleted deployment from memory and removes its file.
func (x *Index) forget(ctx context.Context, d *deployment) {
	d.leave(ctx)
	d.saved.writing.Lock()
	defer d.saved.writing.Unlock()
	d.removeFile()
}

// leave removes a deleted deployment from memory.
func (d *deployment) leave(ctx context.Context) {
	if d.retire(ctx) {
		d.x.log.Info("index of a deleted deployment removed from memory", "deployment_id", d.id)
	}
}

// removeFile removes the file of a deleted deployment. The caller must hold saved.writing.
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
