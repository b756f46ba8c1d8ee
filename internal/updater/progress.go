package updater

import (
	"io"
	"os"
	"sync"

	"github.com/vbauerster/mpb/v8"
	"github.com/vbauerster/mpb/v8/decor"
	"golang.org/x/term"
)

// steps shows the progress of an update on a terminal, one bar at a time. Otherwise it does
// nothing.
type steps struct {
	out       io.Writer
	mu        sync.Mutex
	container *mpb.Progress
	bar       *mpb.Bar
	name      string
}

func newSteps(w io.Writer) *steps {
	if f, ok := w.(*os.File); !ok || !term.IsTerminal(int(f.Fd())) {
		return &steps{}
	}
	return &steps{out: w}
}

// show updates the named bar and replaces a bar with another name.
func (s *steps) show(name string, done, of int64, more ...decor.Decorator) {
	if s.out == nil {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.name != name {
		s.End()
		s.name, s.container = name, mpb.New(mpb.WithOutput(s.out), mpb.WithWidth(48))
		s.bar = s.container.AddBar(of, mpb.BarRemoveOnComplete(), mpb.PrependDecorators(decor.Name(name+" ")),
			mpb.AppendDecorators(append(more, decor.Name("  "), decor.Elapsed(decor.ET_STYLE_GO))...))
	}
	s.bar.SetTotal(max(of, done)+1, false)
	s.bar.SetCurrent(done)
}

// End removes the bar from the terminal.
func (s *steps) End() {
	if s.container != nil {
		s.bar.Abort(true)
		s.container.Wait()
	}
	s.container, s.name = nil, ""
}

func (s *steps) close() { s.pause(func() {}) }

// pause removes the bar while other text is printed.
func (s *steps) pause(write func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.End()
	write()
}

// records returns a function that shows the number of stored records of a source.
func (s *steps) records(name string) func(int) {
	return func(n int) { s.show("storing "+name, int64(n), int64(n), decor.CurrentNoUnit("%d records")) }
}

// refs shows the number of matched refs.
func (s *steps) refs(done, of int) {
	s.show("matching", int64(done), int64(of), decor.CountersNoUnit("%d / %d refs"))
}

// bytes returns a reader that shows the progress of a download.
func (s *steps) bytes(name string, have, of int64, r io.Reader) io.Reader {
	if s.out == nil {
		return r
	}
	return &counted{r, s, "loading " + name, have, of}
}

type counted struct {
	io.Reader
	steps    *steps
	name     string
	have, of int64
}

// Read implements io.Reader.
func (c *counted) Read(p []byte) (int, error) {
	n, err := c.Reader.Read(p)
	c.have += int64(n)
	c.steps.show(c.name, c.have, c.of, decor.CountersKibiByte("% .1f / % .1f"))
	return n, err
}
