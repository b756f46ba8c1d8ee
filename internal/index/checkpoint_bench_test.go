package index

import (
	"context"
	"fmt"
	"io"
	"os"
	"testing"
	"time"
)

// knowing is a registry that accepts every checkpoint.
type knowing struct{}

func (knowing) RecordCheckpoint(context.Context, int64, string, int64, []string) error { return nil }

func (knowing) HasCheckpoint(context.Context, int64, string) (bool, error) { return true, nil }

// BenchmarkCheckpoint measures writing and reading a checkpoint, the snapshot (which blocks
// changes), and for comparison reading the bytes of the file.
func BenchmarkCheckpoint(b *testing.B) {
	for _, n := range []int{100_000, 1_000_000} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			options := Options{Clock: time.Now, Checkpoints: Checkpoints{Dir: b.TempDir(), Registry: knowing{}}}
			x := New(&bulk{n: n, version: 1}, options)
			if _, err := x.Deployment(b.Context(), tenant); err != nil {
				b.Fatal(err)
			}
			d := x.deployment(tenant)
			d.save(b.Context())
			b.Run("write", func(b *testing.B) {
				for b.Loop() {
					d.save(b.Context())
				}
			})
			b.Run("moment", func(b *testing.B) {
				for b.Loop() {
					s, err := d.snapshot(b.Context())
					if err != nil {
						b.Fatal(err)
					}
					d.thaw(s)
				}
			})
			b.Run("read", func(b *testing.B) {
				for b.Loop() {
					restored := New(&bulk{n: n, version: 1}, options)
					if _, err := restored.Deployment(b.Context(), tenant); err != nil || restored.loads.Load() > 0 {
						b.Fatal(err, "the checkpoint was not read")
					}
				}
			})
			b.Run("bytes", func(b *testing.B) {
				for b.Loop() {
					f, err := os.Open(x.checkpoints.folder().File(tenant))
					if err != nil {
						b.Fatal(err)
					}
					n, err := io.Copy(io.Discard, struct{ io.Reader }{f})
					if err != nil {
						b.Fatal(err)
					}
					b.SetBytes(n)
					_ = f.Close()
				}
			})
		})
	}
}
