package index

import (
	"container/list"
	"sync"
	"sync/atomic"
)

// bodyRef says where an arena holds a body. Size 0: it holds none.
type bodyRef struct {
	chunk, offset, size uint32
}

// Chunks start small, so that a small deployment takes little of the budget,
// and double up to the large size or a quarter of the budget.
const (
	smallChunk = 16 << 10
	largeChunk = 1 << 20
)

// chunk is a piece of an arena. Its bytes are written once, so they are read
// without a lock; data becomes nil when the budget takes it back.
type chunk struct {
	data atomic.Pointer[[]byte]
	size int64
	seat *list.Element // in the budget's queue
}

// budget bounds the bytes of all bodies in memory, whatever the deployment.
// When they are over it, the chunk that was filled first goes: it holds the
// oldest findings, which are read the least.
type budget struct {
	limit int64
	mu    sync.Mutex
	used  int64
	queue list.List // of *chunk, oldest first
}

// grant returns a chunk of size bytes, or nil when the limit is below that.
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

// grantOlder returns a chunk that is the first to go, or nil when there is no room
// without another one going.
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

// hasRoom reports whether a large chunk is to be had without another one going.
func (b *budget) hasRoom() bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.used+min(largeChunk, b.limit/4) <= b.limit
}

// release takes chunks back that nobody needs any more.
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

// inUse returns how many bytes are granted.
func (b *budget) inUse() int64 {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.used
}

// arena holds the bodies of one partition, in chunks that are only appended to.
type arena struct {
	budget *budget
	chunks []*chunk
	filled int64 // bytes used of the last chunk
	total  int64 // bytes of all bodies put
	dead   int64 // bytes of bodies that no row refers to any more
}

// put copies a body into the arena, if the budget lets it.
func (a *arena) put(body []byte) bodyRef { return a.store(body, a.budget.grant) }

// putOlder copies a body of what is read the least into the arena, if there is room.
func (a *arena) putOlder(body []byte) bodyRef { return a.store(body, a.budget.grantOlder) }

func (a *arena) store(body []byte, grant func(int64) *chunk) bodyRef {
	size := int64(len(body))
	if size == 0 || !a.reserve(size, grant) {
		return bodyRef{}
	}
	last := a.chunks[len(a.chunks)-1]
	data := last.data.Load()
	if data == nil { // taken back while it was being filled
		a.filled = last.size
		return a.store(body, grant)
	}
	copy((*data)[a.filled:], body)
	ref := bodyRef{chunk: uint32(len(a.chunks) - 1), offset: uint32(a.filled), size: uint32(size)}
	a.filled += size
	a.total += size
	return ref
}

// reserve makes room for size bytes in the last chunk.
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

// get returns a body, or nil when the arena does not hold it. The caller must
// not change it and may keep it.
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

// drop counts a body as garbage.
func (a *arena) drop(ref bodyRef) { a.dead += int64(ref.size) }

// wasteful reports whether copying the arena would free a good part of it.
func (a *arena) wasteful() bool { return a.dead > largeChunk && a.dead > a.total/2 }
