package semgrep

import (
	"sort"
	"strings"
	"unicode/utf8"

	"github.com/redoubt/redoubt/internal/model"
	"github.com/redoubt/redoubt/internal/report/format"
	"github.com/redoubt/redoubt/internal/report/read"
	"github.com/redoubt/redoubt/internal/report/secrets"
)

// Limits of the data read from a checkout for one report. Results beyond them have no code.
const (
	MaxSources = 64 << 20 // bytes of files, including their indexes
	maxCut     = 64 << 20 // bytes of extracted lines, each range once
	markEvery  = 1 << 10  // bytes between the positions at which characters are counted
)

// tooMuch is the reason for files beyond MaxSources.
const tooMuch = "the limit of 64 MiB of source files per report was reached"

// Sources are files of the scanned checkout. Each is read once.
type Sources struct {
	read  func(path string) string
	left  func(path, why string)
	files map[string]*Source
	size  int // bytes
	cut   int // bytes
}

// NewSources returns the sources that read provides, or nil if read is nil. left is called with
// files that provide no code, and the reason; it may be nil.
func NewSources(read func(path string) string, left func(path, why string)) *Sources {
	if read == nil {
		return nil
	}
	if left == nil {
		left = func(string, string) {}
	}
	return &Sources{read: read, left: left, files: map[string]*Source{}}
}

// Source is a file with an index of its lines.
type Source struct {
	text   string  // as stored, in any encoding: positions count its bytes
	starts []int32 // byte offsets of lines
	marks  []int32 // number of characters before every markEvery-th byte
	pieces map[[2]int]*piece
}

// piece is a range of lines and the values computed from it.
type piece struct{ lines, code, context, hash string }

// File returns a file of the checkout, which is read once. Its text is empty if the files read so
// far, or this file, are larger than MaxSources.
func (s *Sources) File(path string) *Source {
	f, known := s.files[path]
	if known {
		return f
	}
	f = &Source{pieces: map[[2]int]*piece{}}
	if s.size >= MaxSources {
		s.left(path, tooMuch)
	} else {
		if f.text = s.read(path); len(f.text) > MaxSources {
			f.text = ""
			s.left(path, tooMuch)
		}
		f.index()
		s.size += len(f.text) + 4*(cap(f.starts)+cap(f.marks))
		s.files[path] = f
	}
	return f
}

// index computes the offsets of lines and the numbers of characters.
func (f *Source) index() {
	if f.text == "" {
		return
	}
	f.starts = append(make([]int32, 0, 1+strings.Count(f.text, "\n")), 0)
	f.marks = make([]int32, 0, 1+len(f.text)/markEvery)
	count := int32(0)
	for at, r := range f.text {
		if at >= len(f.marks)*markEvery {
			f.marks = append(f.marks, count)
		}
		if count++; r == '\n' && at+1 < len(f.text) {
			f.starts = append(f.starts, int32(at+1))
		}
	}
}

// marked returns the byte offset of the n-th mark.
func (f *Source) marked(n int) int {
	at := n * markEvery
	for from := at - 1; from >= max(0, at-utf8.UTFMax+1); from-- {
		if !utf8.RuneStart(f.text[from]) {
			continue
		}
		if _, size := utf8.DecodeRuneInString(f.text[from:]); from+size > at {
			at = from + size
		}
		break
	}
	return at
}

// characters returns the number of characters before a byte offset.
func (f *Source) characters(at int) int {
	n := at / markEvery
	return int(f.marks[n]) + utf8.RuneCountInString(f.text[f.marked(n):at])
}

// Bytes returns the byte offset of the character with an index. It is greater than the length of
// the text if there is none.
func (f *Source) Bytes(characters int) int {
	n := sort.Search(len(f.marks), func(i int) bool { return int(f.marks[i]) > characters }) - 1
	at := f.marked(n)
	for left := characters - int(f.marks[n]); left > 0; left-- {
		if at >= len(f.text) {
			return len(f.text) + 1
		}
		_, size := utf8.DecodeRuneInString(f.text[at:])
		at += size
	}
	return at
}

// Line returns the byte offsets of a line and of the next one; n is 0-based.
func (f *Source) Line(n int) (from, stop int) {
	if n+1 < len(f.starts) {
		return int(f.starts[n]), int(f.starts[n+1])
	}
	return int(f.starts[n]), len(f.text)
}

// Lines returns the first and last line between two positions, 0-based. ok is false if the file
// does not match the positions, because it was changed after the scan.
func (f *Source) Lines(from, to secrets.Position) (first, last int, ok bool) {
	begin, end := f.OffsetOf(from), f.OffsetOf(to)
	if begin < 0 || end < begin {
		return 0, 0, false
	}
	last = sort.Search(len(f.starts), func(i int) bool { return int(f.starts[i]) > end }) - 1 // line of the end
	return int(from.Line) - 1, last, true
}

// OffsetOf returns the byte offset of a position. It returns -1 if line and column do not match the
// offset. Scanners count characters or bytes.
func (f *Source) OffsetOf(p secrets.Position) int {
	line, skip := int(p.Line)-1, int(p.Col)-1
	if line < 0 || line >= len(f.starts) || skip < 0 || skip > len(f.text) {
		return -1
	}
	from, stop := f.Line(line)
	if at := from + skip; at <= stop && at == int(p.Offset) {
		return at
	}
	before := f.characters(from)
	at := f.Bytes(before + skip)
	if at <= stop && (at == int(p.Offset) || before+skip == int(p.Offset)) {
		return at
	}
	return -1
}

// piece returns the lines between two positions, or nil if they are invalid or the limit is
// exceeded.
func (s *Sources) piece(path string, from, to secrets.Position) *piece {
	f := s.File(path)
	first, last, ok := f.Lines(from, to)
	if !ok {
		if f.text != "" {
			s.left(path, "the locations in the report are outside of the file, which was changed after the scan")
		}
		return nil
	}
	p := f.pieces[[2]int{first, last}]
	if p != nil {
		return p
	}
	begin, _ := f.Line(first)
	_, stop := f.Line(last)
	lines := format.AsUTF8(strings.TrimRight(f.text[begin:stop], "\r\n"))
	if s.cut += len(lines); lines == "" || s.cut > maxCut {
		s.left(path, "its lines are empty, or too long in total")
		return nil
	}
	p = &piece{lines: lines, code: read.MultiLine(lines, read.MaxBlock), context: SyntacticContext(lines)}
	p.hash = format.CodeHash(p.context)
	f.pieces[[2]int{first, last}] = p
	return p
}

// readSource reads the lines of a match from the checkout if the report omits them because of a missing
// login. The lines count against the memory budget. If it is exceeded, the result has no code.
func (s *semgrep) readSource(path string, rule *semgrepRule, m *semgrepResult) *piece {
	if s.sources == nil || m.Extra.Lines != RequiresLogin {
		return nil
	}
	p := s.sources.piece(path, m.Start, m.End)
	if p == nil {
		return nil
	}
	// every secret copies its own lines
	if !s.In.Budget.HasCapacity(len(p.code)) || rule.IssueType == model.Secrets && len(p.lines) > read.MaxBlock {
		s.sources.left(path, "its lines exceed the limit for a report of this length")
		return nil
	}
	s.In.Build(len(p.code))
	m.Extra.Lines, m.looked, m.context = read.Text(p.lines), true, p.context
	return p
}
