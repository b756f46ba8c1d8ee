package index

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"unsafe"
)

// errEvicted reports that a deployment was evicted while a caller waited for it.
var errEvicted = errors.New("the deployment was evicted from memory")

// evict evicts the least recently used deployments until the others fit into memory. The most
// recently used one stays regardless of its size. A deployment's checkpoint is written first if it
// is due; later changes are read from the feed. Views of evicted deployments remain valid.
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
			x.log.Info("index evicted from memory", "deployment_id", d.id, "bytes", size)
		}
	}
}

// full reports whether the memory limit is reached.
func (x *Index) full() bool {
	total := int64(0)
	for _, d := range x.loaded() {
		total += d.footprint()
	}
	return x.memory > 0 && total >= x.memory
}

// retire evicts a deployment and reports whether it did. Existing views remain valid.
func (d *deployment) retire(ctx context.Context) bool {
	if d.acquire(ctx) != nil {
		return false
	}
	defer d.release()
	if d.gone {
		return false // already evicted
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

// footprint estimates the size of a deployment in bytes, without bodies. The estimate is expensive,
// so it is repeated only if the number of findings changed by more than a twentieth.
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

// measure is the estimated size of a state.
type measure struct {
	rows  int
	bytes int64
}

// Estimated sizes of entries in maps and tables.
const (
	wordBytes    = 64 // per word without its text: two string headers, the number and map overhead
	lineageBytes = 48 // ID, pointer and map entry
	noteBytes    = 400
)

// size estimates the size of a state in bytes, without bodies.
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
	total += s.messages.Extra()
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

// size returns the size of rows, columns and bitmaps in bytes.
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
