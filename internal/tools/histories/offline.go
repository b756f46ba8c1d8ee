package main

import (
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"strings"

	"github.com/redoubt/redoubt"
	"github.com/redoubt/redoubt/internal/align"
)

// match is a result of a recorded scan.
type match struct {
	CheckID    string `json:"check_id"`
	Path       string
	Start, End struct{ Line, Col int }
	Extra      struct {
		Lines, Message string
		Metavars       map[string]json.RawMessage
	}
}

// text is the code of the match, its spaces squeezed.
func (m *match) text() string { return strings.Join(strings.Fields(m.Extra.Lines), " ") }

var numbers = regexp.MustCompile(`\d+`)

func digest(s string) (d redoubt.Digest) {
	sum := sha256.Sum256([]byte(s))
	copy(d[:], sum[:])
	return d
}

// binds reports whether the match has a metavariable that is no part of a regular expression.
func (m *match) binds() bool {
	for name := range m.Extra.Metavars {
		if len(name) > 1 && (name[1] < '0' || name[1] > '9') {
			return true
		}
	}
	return false
}

// row is what the alignment gets to see of a match.
func (m *match) row(withCode bool) align.Row {
	r := align.Row{
		Group: digest(m.CheckID), Rule: m.CheckID, Path: m.Path, Message: digest(numbers.ReplaceAllString(m.Extra.Message, "0")), Binds: m.binds(),
		Line: m.Start.Line, Column: m.Start.Col, EndLine: m.End.Line, EndColumn: m.End.Col,
	}
	if withCode {
		if line, end := m.Extra.Lines, m.End.Col-1; m.Start.Line == m.End.Line && m.Start.Col > 0 && m.Start.Col <= m.End.Col && end <= len(line) {
			r.Message = digest(numbers.ReplaceAllString(m.Extra.Message, "0") + "\x00" + line[m.Start.Col-1:end])
		}
		r.Code, r.Loose = digest(m.text()), digest(align.Loose(m.Path, m.Extra.Lines, m.Start.Col))
		if lines := strings.Split(m.Extra.Lines, "\n"); len(lines) > 1 {
			r.Edges = digest(lines[0] + "\n" + lines[len(lines)-1])
		}
	}
	return r
}

// figures count what became of the findings of one scan in the next. The truth is the text:
// the code of a finding is its rule, its path, followed through the renames of git, and its
// text.
type figures struct {
	kept  int // stands as often as before, and is paired with itself
	loss  int // stands as often as before, and is not
	hop   int // paired with other code although its own stands as often as before
	edit  int // its own is gone, and it is paired with a text that is alike
	other int // the same, with a text that is not
	cross int // paired with a file that git does not name
}

func (f *figures) String() string {
	return fmt.Sprintf("kept %5d  loss %3d  hop %2d  carry edit %3d  carry other %2d  cross %3d", f.kept, f.loss, f.hop, f.edit, f.other, f.cross)
}

// add counts a step.
func (f *figures) add(old, next []match, pairs []align.Pair, renames map[string]string) {
	type code struct{ rule, path, text string }
	had, has, kept := map[code]int{}, map[code]int{}, map[code]int{}
	was := func(m *match) code {
		to, renamed := renames[m.Path]
		if !renamed {
			to = m.Path
		}
		return code{m.CheckID, to, m.text()}
	}
	is := func(m *match) code { return code{m.CheckID, m.Path, m.text()} }
	for i := range old {
		had[was(&old[i])]++
	}
	for i := range next {
		has[is(&next[i])]++
	}
	for _, p := range pairs {
		x, y := &old[p.Old], &next[p.New]
		if x.Path != y.Path && renames[x.Path] != y.Path {
			f.cross++
		}
		switch before, after := was(x), is(y); {
		case before == after:
			kept[before]++
		case has[before] >= had[before]:
			f.hop++
		case alike(before.text, after.text):
			f.edit++
		default:
			f.other++
		}
	}
	for c, n := range had {
		stands := min(n, has[c])
		f.kept += min(stands, kept[c])
		f.loss += stands - min(stands, kept[c])
	}
}

// alike reports whether at least 0.6 of two texts is the same: twice the length of what they
// have in common, the longest part of it first, by the length of both.
func alike(a, b string) bool {
	a, b = a[:min(len(a), 4000)], b[:min(len(b), 4000)]
	return 10*2*common(a, b) >= 6*(len(a)+len(b))
}

func common(a, b string) int {
	n, i, j := 0, 0, 0
	row := make([]int, len(b)+1)
	for x := range len(a) {
		last := 0
		for y := range len(b) {
			above := row[y+1]
			row[y+1] = 0
			if a[x] == b[y] {
				if row[y+1] = last + 1; row[y+1] > n {
					n, i, j = last+1, x-last, y-last
				}
			}
			last = above
		}
	}
	if n == 0 {
		return 0
	}
	return n + common(a[:i], b[:j]) + common(a[i+n:], b[j+n:])
}

// offline measures the alignment over recorded scans: a folder for each
// repository, which has a Semgrep JSON for each commit, named by its number, and the renames
// of each in renames.json. It prints the figures with code and without, and to pairs a
// line REPOSITORY STEP OLD NEW for each pair of those with code, or without.
func offline(folder string, pairs io.Writer, without bool) error {
	repositories, err := os.ReadDir(folder)
	if err != nil {
		return err
	}
	for _, r := range repositories {
		if !r.IsDir() {
			continue
		}
		names, scans, renames, err := recorded(filepath.Join(folder, r.Name()))
		if err != nil {
			return err
		}
		for _, withCode := range []bool{true, false} {
			var f figures
			for n := 1; n < len(scans); n++ {
				found := align.Rows(rowsOf(scans[n-1], withCode), rowsOf(scans[n], withCode), func(string) bool { return true })
				f.add(scans[n-1], scans[n], found, renames[names[n]])
				for _, p := range found {
					if pairs != nil && withCode != without {
						if _, err := fmt.Fprintln(pairs, r.Name(), names[n], p.Old, p.New); err != nil {
							return err
						}
					}
				}
			}
			fmt.Printf("%-18s %-12s %s\n", r.Name(), map[bool]string{true: "with code", false: "without code"}[withCode], &f)
		}
	}
	return nil
}

func rowsOf(scan []match, withCode bool) []align.Row {
	rows := make([]align.Row, len(scan))
	for i := range scan {
		rows[i] = scan[i].row(withCode)
	}
	return rows
}

var scanFile = regexp.MustCompile(`^\d+\.json$`)

// recorded reads the scans of a repository in the order of its commits, and by
// their names which files each renamed.
func recorded(folder string) (names []string, scans [][]match, renames map[string]map[string]string, err error) {
	files, err := os.ReadDir(folder)
	if err != nil {
		return nil, nil, nil, err
	}
	for _, f := range files {
		if !scanFile.MatchString(f.Name()) {
			continue
		}
		var scan struct{ Results []match }
		if err := readJSON(filepath.Join(folder, f.Name()), &scan); err != nil {
			return nil, nil, nil, err
		}
		names, scans = append(names, strings.TrimSuffix(f.Name(), ".json")), append(scans, scan.Results)
	}
	var list map[string][][2]string
	if err := readJSON(filepath.Join(folder, "renames.json"), &list); err != nil {
		return nil, nil, nil, err
	}
	renames = map[string]map[string]string{}
	for step, pairs := range list {
		renames[step] = make(map[string]string, len(pairs))
		for _, p := range pairs {
			renames[step][p[0]] = p[1]
		}
	}
	return names, scans, renames, nil
}

func readJSON(file string, into any) error {
	text, err := os.ReadFile(file)
	if err == nil {
		err = json.Unmarshal(text, into)
	}
	if err != nil {
		return fmt.Errorf("%s: %w", file, err)
	}
	return nil
}
