package semgrep

import (
	"sort"
	"strings"
	"unicode/utf8"

	"github.com/redoubt/redoubt/internal/model"
	"github.com/redoubt/redoubt/internal/report/read"

	"github.com/redoubt/redoubt/internal/report/format"
	"github.com/redoubt/redoubt/internal/report/secrets"
)

// Bounds of what is taken from a checkout for one report. Results past them go without
// code.
const (
	MaxSources = 64 << 20 // bytes that files of it take, with where their lines begin
	maxCut     = 64 << 20 // bytes of lines that are cut out, each stretch once
	markEvery  = 1 << 10  // bytes between places of a file whose characters are counted
)

// tooMuch is why a file is not looked at past maxSources.
const tooMuch = "no more than 64 MiB of files are looked at for a report"

// Sources are files of the checkout that was scanned, each read once.
type Sources struct {
	read  func(path string) string
	left  func(path, why string)
	files map[string]*Source
	held  int // bytes
	cut   int // bytes
}

// NewSources returns nil where there is no checkout.
func NewSources(read func(path string) string, left func(path, why string)) *Sources {
	if read == nil {
		return nil
	}
	if left == nil {
		left = func(string, string) {}
	}
	return &Sources{read: read, left: left, files: map[string]*Source{}}
}

// Source is a file, and where its lines begin.
type Source struct {
	text   string  // as it is stored, in whichever encoding: places count its bytes
	starts []int32 // of lines, in bytes
	marks  []int32 // characters before every markEvery-th byte, or the character that it is in
	pieces map[[2]int]*piece
}

// piece is lines of a file, and what is made of them once.
type piece struct{ lines, code, context, hash string }

func (s *Sources) File(path string) *Source {
	f, known := s.files[path]
	if known {
		return f
	}
	f = &Source{pieces: map[[2]int]*piece{}}
	if s.held >= MaxSources {
		s.left(path, tooMuch)
	} else {
		if f.text = s.read(path); len(f.text) > MaxSources {
			f.text = ""
			s.left(path, tooMuch)
		}
		f.index()
		s.held += len(f.text) + 4*(cap(f.starts)+cap(f.marks))
		s.files[path] = f
	}
	return f
}

// index notes where lines begin, and how many characters are before places.
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

// marked is where the n-th mark is, in bytes.
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

// characters counts those before the one that begins at a place, in bytes.
func (f *Source) characters(at int) int {
	n := at / markEvery
	return int(f.marks[n]) + utf8.RuneCountInString(f.text[f.marked(n):at])
}

// Bytes is where the character is that so many others are before; past the end where
// there is none.
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

// Line is where a line, from 0, begins and where the next one does.
func (f *Source) Line(n int) (from, stop int) {
	if n+1 < len(f.starts) {
		return int(f.starts[n]), int(f.starts[n+1])
	}
	return int(f.starts[n]), len(f.text)
}

// Lines returns the first line and the last from one place to another, from 0. There are
// none where the file does not have both where the scanner saw them, so it is another by now.
func (f *Source) Lines(from, to secrets.Place) (first, last int, ok bool) {
	begin, end := f.Place(from), f.Place(to)
	if begin < 0 || end < begin {
		return 0, 0, false
	}
	last = sort.Search(len(f.starts), func(i int) bool { return int(f.starts[i]) > end }) - 1 // that the end is in
	return int(from.Line) - 1, last, true
}

// Place is where a place is in the text, in bytes; -1 where its line and column are
// not at its offset. Scanners count characters, or bytes.
func (f *Source) Place(p secrets.Place) int {
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

// piece is the lines from one place to another; nil where there are none, or no more
// are cut out.
func (s *Sources) piece(path string, from, to secrets.Place) *piece {
	f := s.File(path)
	first, last, ok := f.Lines(from, to)
	if !ok {
		if f.text != "" {
			s.left(path, "the report tells places that are not in the file, which is another than was scanned")
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
		s.left(path, "its lines are empty, or too long in all")
		return nil
	}
	p = &piece{lines: lines, code: read.MultiLine(lines, read.MaxBlock), context: SyntacticContext(lines)}
	p.hash = format.CodeHash(p.context)
	f.pieces[[2]int{first, last}] = p
	return p
}

// look takes the lines of a match from the checkout where the report does not tell them,
// since nobody was logged in. A result counts for what it holds, as if the report had told
// it; without the room for that it goes without.
func (s *semgrep) look(path string, rule *semgrepRule, m *semgrepResult) *piece {
	if s.sources == nil || m.Extra.Lines != RequiresLogin {
		return nil
	}
	p := s.sources.piece(path, m.Start, m.End)
	if p == nil {
		return nil
	}
	// of which each cuts its own out
	if !s.In.Budget.Fits(len(p.code)) || rule.IssueType == model.Secrets && len(p.lines) > read.MaxBlock {
		s.sources.left(path, "its lines are more than a report of that length may tell")
		return nil
	}
	s.In.Build(len(p.code))
	m.Extra.Lines, m.looked, m.context = read.Text(p.lines), true, p.context
	return p
}
