package index

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"unsafe"
)

// errEvicted says that a deployment left memory while somebody waited for it.
var errEvicted = errors.New("the deployment left memory meanwhile")

// evict takes deployments out of memory that nobody asked for the longest, until the
// others fit. The one that was asked for last stays, however large. Each is written
// to its checkpoint first, if one is due: where two take turns in memory, they are read
// from older ones, and what changed since then comes from the feed. Views go on.
func (x *Index) evict(ctx context.Context) {
	if x.memory <= 0 {
		return
	}
	all := x.loaded()
	slices.SortFunc(all, func(a, b *deployment) int { return cmp.Compare(b.used.Load(), a.used.Load()) })
	total := int64(0)
	for i, d := range all {
		size := d.footprint()
		if total += size; i == 0 || size == 0 || total <= x.memory || ctx.Err() != nil {
			continue
		}
		if x.checkpoints.Dir != "" && d.saved.due(d.version(), x.clock()) {
			d.save(ctx)
		}
		if d.retire(ctx) {
			total -= size
			x.log.Info("index taken out of memory", "deployment_id", d.id, "bytes", size)
		}
	}
}

// full reports whether there is no room for another deployment.
func (x *Index) full() bool {
	total := int64(0)
	for _, d := range x.loaded() {
		total += d.footprint()
	}
	return x.memory > 0 && total >= x.memory
}

// retire takes a deployment out of memory, and reports whether it did. Who has a view of
// it keeps what it saw.
func (d *deployment) retire(ctx context.Context) bool {
	if d.take(ctx) != nil {
		return false
	}
	defer d.give()
	if d.gone {
		return false // somebody else did
	}
	d.x.mu.Lock()
	if d.x.deployments[d.id] == d {
		delete(d.x.deployments, d.id)
	}
	d.x.mu.Unlock()
	d.gone = true
	d.saved.evicted.Store(true)
	d.state.release(&d.x.bodies)
	return true
}

// footprint estimates how many bytes a deployment takes without its bodies. To look
// takes a while, so it is done again when there are other findings by a twentieth.
func (d *deployment) footprint() int64 {
	d.mu.RLock()
	defer d.mu.RUnlock()
	if d.state.version < 0 {
		return 0
	}
	rows := 0
	for _, p := range d.state.parts {
		rows += len(p.rows)
	}
	was := d.measured.Load()
	if was != nil && max(rows-was.rows, was.rows-rows) <= was.rows/20 {
		return was.bytes
	}
	now := &measure{rows: rows, bytes: d.state.size()}
	d.measured.Store(now)
	return now.bytes
}

// measure is how large a state was.
type measure struct {
	rows  int
	bytes int64
}

// What entries of maps and tables take, by and large.
const (
	wordBytes    = 64 // of a dictionary, without its text: a header twice, the number, the map's slack
	lineageBytes = 48 // id, pointer, entry of the map
	noteBytes    = 400
)

// size estimates the bytes of a state without its bodies.
func (s *state) size() (total int64) {
	for _, list := range s.wordLists() {
		total += int64(len(list.texts)) * wordBytes
		for _, text := range list.texts {
			total += int64(len(text))
		}
	}
	for _, list := range s.lexicons() {
		total += list.of.Size()
	}
	total += s.says.Extra()
	total += int64(len(s.lineages.ids)) * lineageBytes
	for _, l := range s.lineages.entries {
		if l != nil && l != untriagedLineage {
			total += noteBytes
		}
	}
	for _, p := range s.parts {
		total += p.size() + int64(len(p.where))*12 + int64(len(p.heads))*4
	}
	return total
}

// size is what rows, columns and bitmaps take.
func (p *partition) size() int64 {
	total := int64(cap(p.rows))*int64(unsafe.Sizeof(row{})) + p.columns.size() + int64(p.listed.GetSizeInBytes())
	for _, of := range p.values {
		for _, b := range of {
			if b != nil {
				total += int64(b.GetSizeInBytes())
			}
		}
	}
	return total
}
