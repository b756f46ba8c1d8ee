package imports

import (
	"fmt"
	"io"
	"os"
	"sync/atomic"

	"github.com/vbauerster/mpb/v8"
	"github.com/vbauerster/mpb/v8/decor"
	"golang.org/x/term"
)

// progress shows the progress of an import on a terminal. Otherwise it does nothing.
type progress struct {
	container *mpb.Progress
	bar       *mpb.Bar
	stage     atomic.Value // string
}

// newProgress starts a bar over the bytes of the files, as far as their sizes are known.
func newProgress(w io.Writer, files []importFile) *progress {
	p := &progress{}
	p.stage.Store("reading ")
	if f, ok := w.(*os.File); !ok || !term.IsTerminal(int(f.Fd())) {
		return p
	}
	var total int64
	for _, file := range files {
		if info, err := os.Stat(file.disk); err == nil {
			total += info.Size()
		}
	}
	p.container = mpb.New(mpb.WithOutput(w), mpb.WithWidth(48))
	p.bar = p.container.AddBar(total,
		mpb.BarRemoveOnComplete(),
		mpb.PrependDecorators(decor.Any(func(decor.Statistics) string { return p.stage.Load().(string) })),
		mpb.AppendDecorators(decor.CountersKibiByte("% .1f / % .1f"), decor.Name("  "), decor.Elapsed(decor.ET_STYLE_GO)),
	)
	p.bar.EnableTriggerComplete()
	p.bar.SetTotal(total+1, false) // the last step is storing
	return p
}

// reading shows which file is being read.
func (p *progress) reading(file, of int) {
	if of > 1 {
		p.stage.Store(fmt.Sprintf("reading %d of %d ", file, of))
	}
}

// reader counts the bytes that are read through it.
func (p *progress) reader(r io.Reader) io.Reader {
	if p.bar == nil {
		return r
	}
	return p.bar.ProxyReader(r)
}

// storing shows that all files were read and are being stored.
func (p *progress) storing() { p.stage.Store("storing ") }

// close removes the bar from the terminal.
func (p *progress) close() {
	if p.container == nil {
		return
	}
	p.bar.Abort(true)
	p.container.Wait()
}
