package bench

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"testing"

	"github.com/redoubt/redoubt/internal/conceal"
	"github.com/redoubt/redoubt/internal/exceptions"
	"github.com/redoubt/redoubt/internal/ingest"
	"github.com/redoubt/redoubt/internal/model"
	"github.com/redoubt/redoubt/internal/report"
	"github.com/redoubt/redoubt/internal/store"
	"github.com/redoubt/redoubt/internal/testutil/storetest"
)

// heavy is the size of the measured uploads in bytes, and heavyShort that with -short.
const (
	heavy      = 100 << 20
	heavyShort = 10 << 20
)

// BenchmarkMemory imports a report of a hundred megabytes into an empty store, with a memory limit
// of twice that size. It reports the growth of the heap, relative to the size of the report, while
// it is parsed and while it is applied. It also reports the growth of the database file, and by how
// much the heap grew more than the file. The report is streamed from disk.
func BenchmarkMemory(b *testing.B) {
	size := heavy
	if testing.Short() {
		size = heavyShort
	}
	for name, write := range map[string]func(io.Writer, *generator, int){"semgrep.json": heavySemgrep, "report.sarif": heavySARIF} {
		b.Run(name, func(b *testing.B) {
			file := filepath.Join(b.TempDir(), name)
			if err := writeHeavy(file, size, write); err != nil {
				b.Fatal(err)
			}
			defer debug.SetMemoryLimit(debug.SetMemoryLimit(int64(2 * size)))
			for b.Loop() {
				read, applied, stored := heavyUpload(b, file)
				b.ReportMetric(float64(read)/float64(size), "x-read")
				b.ReportMetric(float64(applied)/float64(size), "x-applied")
				b.ReportMetric(float64(stored)/float64(size), "x-stored")
				b.ReportMetric(float64(max(read, applied)-stored)/float64(size), "x-over-stored")
			}
		})
	}
}

// heavyUpload returns the growth of the heap while a file is parsed and while it is applied, and
// the growth of the database.
func heavyUpload(b *testing.B, file string) (read, applied, stored int64) {
	config := storetest.Database(b, "sqlite", storetest.NewClock())
	st := storetest.Open(b, config)
	d := storetest.Deployment(b, st)
	reading := &report.Reading{}
	empty := databaseSize(b, config.Dir)
	before := live()
	read = peak(func() {
		f, err := os.Open(file)
		if err != nil {
			b.Fatal(err)
		}
		defer f.Close()
		if err := reading.Add(f, report.Options{Name: filepath.Base(file), Key: []byte("a key for secrets")}); err != nil {
			b.Fatal(err)
		}
	})
	retained := live() - before
	applied = retained + peak(func() {
		upload := ingest.Upload{Project: model.Project{Name: "acme/heavy"}, Ref: "main", Commit: "c", Full: true}
		cleaned := reading.Clean(nil)
		err := st.Update(b.Context(), d.ID, storetest.Actor, func(ctx context.Context, tx *store.Tx) error {
			reports, err := conceal.Resolve(ctx, tx, cleaned)
			if err == nil {
				_, err = ingest.ApplyAll(ctx, tx, exceptions.ForImport{Store: tx}, upload, reports)
			}
			return err
		})
		if err != nil {
			b.Fatal(err)
		}
	})
	if err := st.Close(); err != nil {
		b.Fatal(err)
	}
	return read, applied, databaseSize(b, config.Dir) - empty
}

// databaseSize returns the size of the database file in bytes.
func databaseSize(b *testing.B, dir string) int64 {
	info, err := os.Stat(filepath.Join(dir, "redoubt.db"))
	if err != nil {
		b.Fatal(err)
	}
	return info.Size()
}

// writeHeavy writes a report of at least a size.
func writeHeavy(name string, size int, write func(io.Writer, *generator, int)) error {
	f, err := os.Create(name)
	if err != nil {
		return err
	}
	w := bufio.NewWriter(f)
	write(w, newGenerator(), size)
	if err := w.Flush(); err != nil {
		return err
	}
	return f.Close()
}

func heavySemgrep(w io.Writer, g *generator, size int) {
	fmt.Fprint(w, `{"version":"1.180.0","results":[`)
	for n := 0; n < size; {
		text := g.result()
		if n > 0 {
			text = "," + text
		}
		k, _ := io.WriteString(w, text) // a bufio.Writer returns errors at its end
		n += k
	}
	fmt.Fprint(w, `],"errors":[],"paths":{"scanned":["README.md"]}}`)
}

func heavySARIF(w io.Writer, g *generator, size int) {
	fmt.Fprint(w, `{"version":"2.1.0","runs":[{"tool":{"driver":{"name":"analyzer","rules":[`)
	for i, r := range g.rules {
		if i > 0 {
			fmt.Fprint(w, ",")
		}
		fmt.Fprintf(w, `{"id":%q,"shortDescription":{"text":"Rule %d"},"help":{"text":"What to do about it."}}`, r.id, i)
	}
	fmt.Fprint(w, `]}},"results":[`)
	for n, i := 0, 0; n < size; i++ {
		if i > 0 {
			fmt.Fprint(w, ",")
		}
		r := g.rules[g.pick.Uint64()]
		k, _ := fmt.Fprintf(w, `{"ruleId":%q,"level":"warning","message":{"text":"Detected user input 'command_%d' that reaches a shell: pass a list of arguments."},`+
			`"locations":[{"physicalLocation":{"artifactLocation":{"uri":"src/services/module_%d/file_%d.py"},"region":{"startLine":%d,"startColumn":5,"endColumn":96,"snippet":{"text":"result_%d = subprocess.run(request.args.get('command_%d'), shell=True)"}}}}],`+
			`"partialFingerprints":{"primaryLocationLineHash":"%032x:1"}}`, r.id, i, i%40, i%700, 1+i%2000, i, i, i*7919)
		n += k
	}
	fmt.Fprint(w, `]}]}`)
}

// live returns the size of the heap after a collection, in bytes.
func live() int64 {
	var m runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}
