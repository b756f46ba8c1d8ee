package index

import (
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"reflect"
	"strings"
	"sync"
)

// checkpointFormat is the meaning of what is in a checkpoint, as far as its layout
// does not tell: raise it with whatever changes what an index makes of the same feed.
const checkpointFormat = 9

// layoutSum is the sum of all that a checkpoint takes for granted: one that another
// program wrote, or the same one for another processor, has another sum.
var layoutSum = sync.OnceValue(func() [32]byte {
	var b strings.Builder
	fmt.Fprintf(&b, "format %d, %v, %d fields, %d numbered, last day %d\n", checkpointFormat, binary.NativeEndian, fields, numbered, lastDay)
	describe(&b, reflect.TypeFor[row]())
	return sha256.Sum256([]byte(b.String()))
})

func describe(b *strings.Builder, t reflect.Type) {
	fmt.Fprintf(b, "%s of %d bytes\n", t.Name(), t.Size())
	for f := range t.Fields() {
		fmt.Fprintf(b, "%s at %d: %s\n", f.Name, f.Offset, f.Type.Kind())
		if f.Type.Kind() == reflect.Struct {
			describe(b, f.Type)
		}
	}
}
