package format

import (
	"fmt"
	"reflect"

	"github.com/redoubt/redoubt/internal/model"
)

// An upload may use 64 MiB of memory plus 40 times its decompressed bytes. Of the 64 MiB, 24 are
// reserved for memory that does not depend on its size, such as the database's page cache. Decoded
// data is copied when it is cleaned and stored, and garbage collection doubles the heap. The
// process therefore grows by up to peak times the sizes counted here.
const (
	perByte = 40
	free    = 40 << 20
	peak    = 5
)

// Budget is the memory used for the files of one upload, estimated from the sizes of decoded data.
type Budget struct {
	Read  int64 // decompressed bytes so far
	Built int64
	Err   error // set once the limit is exceeded
}

// Build adds memory in bytes. The first error is stored and prevents reading of further tokens.
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

// Limit returns the memory that may be used for the bytes read so far.
func (r *Budget) Limit() int64 { return (perByte*r.Read + free) / peak }

// TooLarge returns the error for an exceeded limit.
func (r *Budget) TooLarge() error {
	return fmt.Errorf("the upload is %w: its many small items need more than 64 MiB and %d times its %d bytes of "+
		"memory; send it in parts",
		model.ErrTooLarge, perByte, r.Read)
}

// Items returns how many items of a size fit into the remaining memory, at most limit.
func (r *Budget) Items(size, limit int) int {
	return int(max(0, min(int64(limit), (r.Limit()-r.Built)/int64(size))))
}

// HasCapacity reports whether a number of bytes fits into half of the limit. The other half is reserved
// for the report itself.
func (r *Budget) HasCapacity(bytes int) bool {
	return r.Err == nil && r.Built+int64(bytes) <= r.Limit()/2
}

// Build adds memory used for the file.
func (in *Input) Build(bytes int) { in.Budget.Build(bytes, in.built) }

// SizeOf returns the size of the value that v points to, without its texts.
func SizeOf(v any) int { return int(reflect.TypeOf(v).Elem().Size()) }

// Memory used per item in addition to the decoded data, in bytes, rounded up.
const (
	ResultSize = 768  // a model.Result with its dependency
	MatchSize  = 256  // a semgrepMatch with its key
	RuleSize   = 1024 // a model.Rule with its rows in policies
	PartSize   = 768  // a component, its reference and its dependency
	RunSize    = 2048 // a run or target with its maps
	EdgeSize   = 128  // a requirement between two packages
	LockedSize = 480  // a package of a lockfile
	PinnedSize = 640  // a package of a requirements file, with its pin for the files that include it
	markSize   = 64   // a value of a document that is decoded as a whole
	PhraseSize = 128  // a remembered secret, or one of its spellings
)

// ShortMessage is the length of a shared text, in bytes, that the size of each result includes.
const ShortMessage = 256

// WeightOfResult returns the memory of a result, in bytes. Texts and fixes that a report shares
// between results are cleaned and stored with each.
func WeightOfResult(res *model.Result) int {
	n := ResultSize + max(0, len(res.Message)-ShortMessage)
	if d := res.Dependency; d != nil {
		for _, fix := range d.Fixes {
			n += len(fix.Package) + len(fix.Version) + SizeOf(&fix)
		}
	}
	return n
}
