package report

import (
	"fmt"
	"reflect"

	"github.com/redoubt/redoubt"
)

// An upload may build perByte times its bytes in memory, after inflating, and
// free beside them. A report of a scanner builds one to four times its size: ten
// million empty results build two hundred times theirs.
const (
	perByte = 8
	free    = 32 << 20
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
		r.err = fmt.Errorf("what the upload holds is %w: very many items of a few bytes each, which take more memory than %d MiB and %d times the %d bytes that were read so far",
			redoubt.ErrTooLarge, free>>20, perByte, r.read)
	case built != nil:
		r.err = built(bytes)
	}
}

func (r *room) limit() int64 { return perByte*r.read + free }

// fits reports whether there is room for so many bytes, half of what there is being left
// for what the report itself holds.
func (r *room) fits(bytes int) bool { return r.err == nil && r.built+int64(bytes) <= r.limit()/2 }

// build counts what is kept of the file.
func (in *input) build(bytes int) { in.room.build(bytes, in.built) }

// sizeOf is what a decoded value takes, but for its texts.
func sizeOf(v any) int { return int(reflect.TypeOf(v).Elem().Size()) }

// What is made of an item beside what was decoded, in bytes, on the large side.
const (
	resultSize = 768  // a redoubt.Result with its dependency
	matchSize  = 256  // a semgrepMatch, and its key
	metSize    = 1024 // a redoubt.KnownResult and where it was met, or a redoubt.Result in its place
	partSize   = 768  // a component, its reference and its dependency
	runSize    = 2048 // a run or target with its maps
	edgeSize   = 128  // which of two packages needs which
	markSize   = 64   // a value of a document that is decoded whole
	phraseSize = 128  // a secret that is remembered, or a spelling of one
)

// shortMessage is the length of a text that several results share, in bytes, that the
// size of each allows for.
const shortMessage = 256

// weightOfResult is what a result takes with what it may share with others, in bytes: a text
// or fixes that a report tells once for many of them are cleaned and stored with each.
func weightOfResult(res *redoubt.Result) int {
	n := resultSize + max(0, len(res.Message)-shortMessage)
	if d := res.Dependency; d != nil {
		for _, fix := range d.Fixes {
			n += len(fix.Package) + len(fix.Version) + sizeOf(&fix)
		}
	}
	return n
}
