package command

import (
	"io"
	"os"
	"slices"
	"sync"
	"unicode/utf8"

	"golang.org/x/term"

	"github.com/redoubt/redoubt/internal/model"
)

// Printable is a writer that escapes terminal control sequences in stored text (model.Escaped).
// Line breaks and tabs are unchanged, as commands print them; table cells contain none. The meaning
// of JSON is preserved.
type Printable struct {
	mu      sync.Mutex
	To      io.Writer
	pending []byte // start of an incomplete character
}

// Write implements io.Writer.
func (p *Printable) Write(b []byte) (int, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	text := slices.Concat(p.pending, b)
	end := len(text)
	for back := 1; back < utf8.UTFMax && back <= len(text); back++ {
		if at := len(text) - back; utf8.RuneStart(text[at]) {
			if !utf8.FullRune(text[at:]) {
				end = at
			}
			break
		}
	}
	p.pending = append([]byte(nil), text[end:]...)
	if _, err := io.WriteString(p.To, model.Escaped(string(text[:end]), "\n\t")); err != nil {
		return 0, err
	}
	return len(b), nil
}

// Raw returns the underlying writer, for progress bars that move the cursor, and for child
// processes.
func Raw(w io.Writer) io.Writer {
	if p, ok := w.(*Printable); ok {
		return p.To
	}
	return w
}

// Exact returns a writer for documents that must not be changed. Only a terminal receives escaped
// text.
func Exact(w io.Writer) io.Writer {
	if f, ok := Raw(w).(*os.File); ok && term.IsTerminal(int(f.Fd())) {
		return w
	}
	return Raw(w)
}
