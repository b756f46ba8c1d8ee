package index

import (
	"container/list"
	"sync"
	"sync/atomic"
)

// bodyRef locates a body in an arena. Size 0 means that there is none.
type bodyRef struct {
	chunk, offset, size uint32
}

// The first chunk is small, to save budget for small deployments. The size doubles up to largeChunk
// or a quarter of the budget.
const (
	smallChunk = 16 << 10
	largeChunk = 1 << 20
)

// chunk is a block of an arena. Its bytes are written once and can be read without a lock. The
// budget sets data to nil to free the chunk.
type chunk struct {
	data atomic.Pointer[[]byte]
	size int64
	seat *list.Element // in the budget's queue
}

// budget limits the bytes of bodies in memory across all deployments. When the limit is reached, it
// frees the chunk that was filled first: it contains the oldest findings, which are rarely read.
type budget struct {
	limit int64
	mu    sync.Mutex
	used  int64
	queue list.List // of *chunk, oldest first
}

// grant returns a chunk of the given size, or nil if the size exceeds the limit. It frees older
// chunks if necessary.
func (b *budget) grant(size int64) *chunk {
	b.mu.Lock()
	defer b.mu.Unlock()
	if size > b.limit {
		return nil
	}
	for b.used+size > b.limit {
		b.free(b.queue.Front().Value.(*chunk))
	}
	c := b.newChunk(size)
	c.seat = b.queue.PushBack(c)
	return c
}

// grantOlder returns a chunk that will be freed first, or nil if the limit is reached.
func (b *budget) grantOlder(size int64) *chunk {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.used+size > b.limit {
		return nil
	}
	c := b.newChunk(size)
	c.seat = b.queue.PushFront(c)
	return c
}

func (b *budget) newChunk(size int64) *chunk {
	data := make([]byte, size)
	c := &chunk{size: size}
	c.data.Store(&data)
	b.used += size
	return c
}

// hasCapacity reports whether a large chunk fits without freeing others.
func (b *budget) hasCapacity() bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.used+min(largeChunk, b.limit/4) <= b.limit
}

// release frees chunks.
func (b *budget) release(chunks []*chunk) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, c := range chunks {
		b.free(c)
	}
}

func (b *budget) free(c *chunk) {
	if c.data.Swap(nil) != nil {
		b.queue.Remove(c.seat)
		b.used -= c.size
	}
}

// inUse returns the number of granted bytes.
func (b *budget) inUse() int64 {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.used
}

// arena contains the bodies of one partition in append-only chunks.
type arena struct {
	budget *budget
	chunks []*chunk
	filled int64 // used bytes of the last chunk
	total  int64 // bytes of all stored bodies
	dead   int64 // bytes of unreferenced bodies
}

// put copies a body into the arena if the budget permits.
func (a *arena) put(body []byte) bodyRef { return a.store(body, a.budget.grant) }

// putOlder is like put for rarely read bodies. It never frees other chunks.
func (a *arena) putOlder(body []byte) bodyRef { return a.store(body, a.budget.grantOlder) }

func (a *arena) store(body []byte, grant func(int64) *chunk) bodyRef {
	size := int64(len(body))
	if size == 0 || !a.reserve(size, grant) {
		return bodyRef{}
	}
	last := a.chunks[len(a.chunks)-1]
	data := last.data.Load()
	if data == nil { // freed while it was being filled
		a.filled = last.size
		return a.store(body, grant)
	}
	copy((*data)[a.filled:], body)
	ref := bodyRef{chunk: uint32(len(a.chunks) - 1), offset: uint32(a.filled), size: uint32(size)}
	a.filled += size
	a.total += size
	return ref
}

// reserve ensures that the last chunk has space for size bytes.
func (a *arena) reserve(size int64, grant func(int64) *chunk) bool {
	next := int64(smallChunk)
	if n := len(a.chunks); n > 0 {
		last := a.chunks[n-1].size
		if a.filled+size <= last {
			return true
		}
		next = min(2*last, largeChunk)
	}
	c := grant(max(min(next, a.budget.limit/4), size))
	if c == nil {
		return false
	}
	a.chunks, a.filled = append(a.chunks, c), 0
	return true
}

// get returns a body, or nil if it is not in memory. The caller may retain but not modify it.
func (a *arena) get(ref bodyRef) []byte {
	if ref.size == 0 {
		return nil
	}
	data := a.chunks[ref.chunk].data.Load()
	if data == nil {
		return nil
	}
	return (*data)[ref.offset : ref.offset+ref.size]
}

// drop counts a body as unreferenced.
func (a *arena) drop(ref bodyRef) { a.dead += int64(ref.size) }

// wasteful reports whether copying the arena would free more than half of it.
func (a *arena) wasteful() bool { return a.dead > largeChunk && a.dead > a.total/2 }
