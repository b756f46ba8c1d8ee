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

// Printable writes what people read: what a terminal would obey is escaped,
// whatever is stored (model.Escaped). Line ends and tabs stay, which commands
// print themselves; a cell of a table has none. JSON means the same afterwards.
type Printable struct {
	mu   sync.Mutex
	To   io.Writer
	held []byte // of a character that is not complete yet
}

// Write implements io.Writer.
func (p *Printable) Write(b []byte) (int, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	text := slices.Concat(p.held, b)
	end := len(text)
	for back := 1; back < utf8.UTFMax && back <= len(text); back++ {
		if at := len(text) - back; utf8.RuneStart(text[at]) {
			if !utf8.FullRune(text[at:]) {
				end = at
			}
			break
		}
	}
	p.held = append([]byte(nil), text[end:]...)
	if _, err := io.WriteString(p.To, model.Escaped(string(text[:end]), "\n\t")); err != nil {
		return 0, err
	}
	return len(b), nil
}

// Raw is the writer itself, for progress bars, which move the cursor, and for
// programs that write by themselves.
func Raw(w io.Writer) io.Writer {
	if p, ok := w.(*Printable); ok {
		return p.To
	}
	return w
}

// Exact is where a document goes that is to be the same byte for byte: it is
// escaped only where a terminal shows it.
func Exact(w io.Writer) io.Writer {
	if f, ok := Raw(w).(*os.File); ok && term.IsTerminal(int(f.Fd())) {
		return w
	}
	return Raw(w)
}
