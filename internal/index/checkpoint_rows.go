package index

import "slices"

// Rows are most of an index. A checkpoint writes them a chunk at a time, each under
// the lock that readers share, for as long as it takes to copy it; a chunk that is
// about to change before it was written is copied first. So nothing waits for a
// disk, and only what changes meanwhile is in memory twice.

const (
	frozenChunk = 4096 // rows; some half a megabyte
	maxKept     = 256  // chunks that may wait; more, and the checkpoint is given up
)

// frozenRows are the rows of a partition as they were when a checkpoint began. What
// hangs a lineage's rows together may be newer: it is found again from the rest.
type frozenRows struct {
	count   int           // rows that there were
	next    int           // the chunk to write next
	kept    map[int][]row // by chunk, as they were
	spoiled bool          // too many changed
}

// freeze has the rows stay as they are, for take. Whoever calls it has the turn.
func (p *partition) freeze() *frozenRows {
	p.frozen = &frozenRows{count: len(p.rows), kept: map[int][]row{}}
	return p.frozen
}

// keep must be called before a row changes that readers can see.
func (p *partition) keep(ordinal uint32) {
	z := p.frozen
	if z == nil || z.spoiled || int(ordinal) >= z.count {
		return
	}
	chunk := int(ordinal) / frozenChunk
	if _, kept := z.kept[chunk]; kept || chunk < z.next {
		return
	}
	if len(z.kept) == maxKept {
		z.spoiled, z.kept = true, nil
		return
	}
	from, to := z.span(chunk)
	z.kept[chunk] = slices.Clone(p.rows[from:to])
}

func (z *frozenRows) span(chunk int) (from, to int) {
	return chunk * frozenChunk, min((chunk+1)*frozenChunk, z.count)
}

// take returns the next chunk, in buf if it has to be copied, and nothing behind the
// last one. Whoever changes rows must be kept out meanwhile.
func (z *frozenRows) take(p *partition, buf []row) []row {
	from, to := z.span(z.next)
	if from >= to || z.spoiled {
		return nil
	}
	chunk, kept := z.kept[z.next]
	if !kept {
		chunk = buf[:copy(buf[:cap(buf)], p.rows[from:to])]
	}
	delete(z.kept, z.next)
	z.next++
	return chunk
}
