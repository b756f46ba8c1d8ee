package report

import (
	"fmt"
	"reflect"

	"github.com/redoubt/redoubt/internal/model"
)

// An upload may take 64 MiB of memory and 40 times its bytes, after inflating. Of the
// 64 MiB, 24 are left for what does not depend on its size, such as the page cache of
// the database. What is decoded and kept is copied when it is cleaned and stored, and
// garbage collection lets the heap grow to twice what is in use: the process grows by up
// to peak times the sizes counted here.
const (
	perByte = 40
	free    = 40 << 20
	peak    = 5
)

// room is the memory that the files of one upload build, in all their lists and
// runs together, as estimated from the sizes of what is decoded and kept.
type room struct {
	read  int64 // bytes so far, after inflating
	built int64
	err   error // once it was too much
}

// build counts memory of so many bytes. What is too much stays an error: the
// next token is not read.
func (r *room) build(bytes int, built func(bytes int) error) {
	r.built += int64(bytes)
	switch {
	case r.err != nil:
	case r.built > r.limit():
		r.err = r.tooLarge()
	case built != nil:
		r.err = built(bytes)
	}
}

// limit is how many bytes may be built of what was read so far.
func (r *room) limit() int64 { return (perByte*r.read + free) / peak }

func (r *room) tooLarge() error {
	return fmt.Errorf("the upload is %w: its many small items need more than 64 MiB and %d times its %d bytes of memory; send it in parts",
		model.ErrTooLarge, perByte, r.read)
}

// items returns how many items of a size fit beside what was built, limit at most.
func (r *room) items(size, limit int) int {
	return int(max(0, min(int64(limit), (r.limit()-r.built)/int64(size))))
}

// fits reports whether there is room for so many bytes, half of what there is being left
// for what the report itself holds.
func (r *room) fits(bytes int) bool { return r.err == nil && r.built+int64(bytes) <= r.limit()/2 }

// build counts what is kept of the file.
func (in *input) build(bytes int) { in.room.build(bytes, in.built) }

// sizeOf is what a decoded value takes, but for its texts.
func sizeOf(v any) int { return int(reflect.TypeOf(v).Elem().Size()) }

// What is made of an item beside what was decoded, in bytes, on the large side.
const (
	resultSize = 768  // a model.Result with its dependency
	matchSize  = 256  // a semgrepMatch, and its key
	ruleSize   = 1024 // a model.Rule, and its rows in policies
	partSize   = 768  // a component, its reference and its dependency
	runSize    = 2048 // a run or target with its maps
	edgeSize   = 128  // which of two packages needs which
	lockedSize = 480  // a package of a lockfile
	pinnedSize = 640  // a package of a requirements file, and its pin for the files that include it
	markSize   = 64   // a value of a document that is decoded whole
	phraseSize = 128  // a secret that is remembered, or a spelling of one
)

// shortMessage is the length of a text that several results share, in bytes, that the
// size of each allows for.
const shortMessage = 256

// weightOfResult is what a result takes with what it may share with others, in bytes: a text
// or fixes that a report tells once for many of them are cleaned and stored with each.
func weightOfResult(res *model.Result) int {
	n := resultSize + max(0, len(res.Message)-shortMessage)
	if d := res.Dependency; d != nil {
		for _, fix := range d.Fixes {
			n += len(fix.Package) + len(fix.Version) + sizeOf(&fix)
		}
	}
	return n
}
