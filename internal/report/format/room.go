package format

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

// Budget is the memory that the files of one upload build, in all their lists and
// runs together, as estimated from the sizes of what is decoded and kept.
type Budget struct {
	Read  int64 // bytes so far, after inflating
	Built int64
	Err   error // once it was too much
}

// Build counts memory of so many bytes. What is too much stays an error: the
// next token is not read.
func (r *Budget) Build(bytes int, built func(bytes int) error) {
	r.Built += int64(bytes)
	switch {
	case r.Err != nil:
	case r.Built > r.Limit():
		r.Err = r.TooLarge()
	case built != nil:
		r.Err = built(bytes)
	}
}

// Limit is how many bytes may be built of what was read so far.
func (r *Budget) Limit() int64 { return (perByte*r.Read + free) / peak }

// TooLarge returns the error of a budget that is spent, or nil.
func (r *Budget) TooLarge() error {
	return fmt.Errorf("the upload is %w: its many small items need more than 64 MiB and %d times its %d bytes of "+
		"memory; send it in parts",
		model.ErrTooLarge, perByte, r.Read)
}

// Items returns how many items of a size fit beside what was built, limit at most.
func (r *Budget) Items(size, limit int) int {
	return int(max(0, min(int64(limit), (r.Limit()-r.Built)/int64(size))))
}

// Fits reports whether there is room for so many bytes, half of what there is being left
// for what the report itself holds.
func (r *Budget) Fits(bytes int) bool { return r.Err == nil && r.Built+int64(bytes) <= r.Limit()/2 }

// Build counts what is kept of the file.
func (in *Input) Build(bytes int) { in.Budget.Build(bytes, in.built) }

// SizeOf is what a decoded value takes, but for its texts.
func SizeOf(v any) int { return int(reflect.TypeOf(v).Elem().Size()) }

// What is made of an item beside what was decoded, in bytes, on the large side.
const (
	ResultSize = 768  // a model.Result with its dependency
	MatchSize  = 256  // a semgrepMatch, and its key
	RuleSize   = 1024 // a model.Rule, and its rows in policies
	PartSize   = 768  // a component, its reference and its dependency
	RunSize    = 2048 // a run or target with its maps
	EdgeSize   = 128  // which of two packages needs which
	LockedSize = 480  // a package of a lockfile
	PinnedSize = 640  // a package of a requirements file, and its pin for the files that include it
	markSize   = 64   // a value of a document that is decoded whole
	PhraseSize = 128  // a secret that is remembered, or a spelling of one
)

// ShortMessage is the length of a text that several results share, in bytes, that the
// size of each allows for.
const ShortMessage = 256

// WeightOfResult is what a result takes with what it may share with others, in bytes: a text
// or fixes that a report tells once for many of them are cleaned and stored with each.
func WeightOfResult(res *model.Result) int {
	n := ResultSize + max(0, len(res.Message)-ShortMessage)
	if d := res.Dependency; d != nil {
		for _, fix := range d.Fixes {
			n += len(fix.Package) + len(fix.Version) + SizeOf(&fix)
		}
	}
	return n
}
