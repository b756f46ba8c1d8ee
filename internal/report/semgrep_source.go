package report

import (
	"sort"
	"unicode/utf8"

	"github.com/redoubt/redoubt/internal/report/read"
)

// maxSources bounds the files of a checkout that are held for one report, in bytes.
// Results in others go without code.
const maxSources = 64 << 20

// sources are files of the checkout that was scanned, each read once.
type sources struct {
	read  func(path string) string
	files map[string]source
	held  int // bytes
}

// newSources returns nil where there is no checkout.
func newSources(read func(path string) string) *sources {
	if read == nil {
		return nil
	}
	return &sources{read: read, files: map[string]source{}}
}

// source is a file, and where its lines begin: in bytes and in characters.
type source struct {
	text          string
	starts, runes []int
}

func (s *sources) file(path string) source {
	f, known := s.files[path]
	if known || s.held >= maxSources {
		return f
	}
	f.text = s.read(path)
	s.held += len(f.text)
	count := 0
	for at, line := 0, true; at < len(f.text); {
		if line {
			f.starts, f.runes = append(f.starts, at), append(f.runes, count)
		}
		r, size := utf8.DecodeRuneInString(f.text[at:])
		line, at, count = r == '\n', at+size, count+1
	}
	s.files[path] = f
	return f
}

// lines returns the lines from one place to another. They are none where the file does
// not have both where the scanner saw them, so it is another by now.
func (f source) lines(from, to semgrepPlace) string {
	begin, end := f.place(from), f.place(to)
	if begin < 0 || end < begin {
		return ""
	}
	last := sort.SearchInts(f.starts, end+1) - 1 // the line that the end is in
	stop := len(f.text)
	if last+1 < len(f.starts) {
		stop = f.starts[last+1]
	}
	for stop > f.starts[last] && (f.text[stop-1] == '\n' || f.text[stop-1] == '\r') {
		stop--
	}
	return f.text[f.starts[int(from.Line)-1]:stop]
}

// place is where a place is in the text, in bytes; -1 where its line and column are
// not at its offset. Scanners count characters, or bytes.
func (f source) place(p semgrepPlace) int {
	line, skip := int(p.Line)-1, int(p.Col)-1
	if line < 0 || line >= len(f.starts) || skip < 0 {
		return -1
	}
	from, stop := f.starts[line], len(f.text)
	if line+1 < len(f.starts) {
		stop = f.starts[line+1]
	}
	if at := from + skip; at <= stop && at == int(p.Offset) {
		return at
	}
	at := from
	for range skip {
		if at >= stop {
			return -1
		}
		_, size := utf8.DecodeRuneInString(f.text[at:])
		at += size
	}
	if at == int(p.Offset) || f.runes[line]+skip == int(p.Offset) {
		return at
	}
	return -1
}

// look takes the lines of a match from the checkout where the report does not tell them,
// since nobody was logged in. Nothing of such a report is remembered: the same bytes
// may be about other code next time.
func (s *semgrep) look(path string, m *semgrepResult) {
	if s.sources == nil || m.Extra.Lines != requiresLogin {
		return
	}
	if s.recall != nil {
		s.recall.refused = true
	}
	if lines := s.sources.file(path).lines(m.Start, m.End); lines != "" {
		m.Extra.Lines, m.looked = read.Text(lines), true
	}
}
