package align

import (
	"cmp"
	"path"
	"slices"
	"strings"
)

// Limits that prevent moves from comparing all pairs of files.
const (
	// maxSameName limits the compared pairs of files with the same name. With more pairs, their
	// paths must have a longer common suffix.
	maxSameName = 1 << 12
	// maxNames limits the length of that suffix, in path elements.
	maxNames = 32
	// maxSameRow limits the number of files that contain a row. Rows in more files do not indicate
	// a rename.
	maxSameRow = 64
)

// evidence contains the properties that rows of two files must share. It is the code without layout
// or, if any code is unknown, other properties of the match.
type evidence struct {
	weak
	loose Digest
}

// gone is a file that only one side has. It contains the number of rows by evidence, and the first
// line of each.
type gone struct {
	path  string
	total int
	rows  map[evidence]int
	first map[evidence]int
}

// single reports whether all rows are on one line. Several rules that match one line count as one
// finding.
func (g *gone) single() bool {
	lines := map[int]bool{}
	for e, line := range g.first {
		lines[line] = true
		if g.rows[e] > 1 || len(lines) > 1 {
			return false
		}
	}
	return true
}

// common counts the common rows of two files, and the distinct lines among them.
func (g *gone) common(o *gone) (rows, kinds int) {
	if len(o.rows) < len(g.rows) {
		g, o = o, g
	}
	lines := map[int]bool{}
	for e, count := range g.rows {
		if n := min(count, o.rows[e]); n > 0 {
			rows += n
			lines[g.first[e]] = true
		}
	}
	return rows, len(lines)
}

// candidate is a file that may continue as another.
type candidate struct {
	from, to    *gone
	suffix      int // number of path elements in the common suffix
	same, kinds int // number of common rows, and of distinct lines among them
}

// moves returns the new paths of removed files, one to one. At least half of the old file's rows
// must be equal.
//
// With the same base name, the longest common suffix of the paths decides, then the number of equal
// rows. A tie moves nothing. A file with a single row also needs the same parent folder name. With
// another base name, at least two equal rows must differ from each other, because unrelated files
// may share repeated rows. Rows of one line count as one row for these two conditions.
func (a *aligner) moves() map[string]string {
	removed, added := a.gone()
	moved := map[string]string{}
	if len(removed) == 0 || len(added) == 0 {
		return moved
	}
	matched := map[*gone]bool{}
	accept := func(list []candidate) {
		for _, c := range unambiguous(list, matched) {
			moved[c.from.path], matched[c.from], matched[c.to] = c.to.path, true, true
		}
	}
	accept(slices.DeleteFunc(sameName(removed, added, 1), func(c candidate) bool {
		return c.suffix < 2 && c.from.single()
	}))
	free := func(g *gone) bool { return matched[g] }
	likeRows := sameRows(slices.DeleteFunc(removed, free), slices.DeleteFunc(added, free))
	accept(slices.DeleteFunc(likeRows, func(c candidate) bool {
		return c.kinds < 2
	}))
	return moved
}

// gone returns the files that only one side has, ordered by path.
func (a *aligner) gone() (removed, added []*gone) {
	coded := true
	paths := func(rows []Row) map[string]bool {
		out := map[string]bool{}
		for i := range rows {
			out[rows[i].Path] = true
			coded = coded && rows[i].Code != Digest{}
		}
		return out
	}
	had, has := paths(a.old), paths(a.next)
	only := func(rows []Row, not func(path string) bool) []*gone {
		files := map[string]*gone{}
		var list []*gone
		for i := range rows {
			r := &rows[i]
			g := files[r.Path]
			if g == nil && not(r.Path) {
				continue
			}
			if g == nil {
				g = &gone{path: r.Path, rows: map[evidence]int{}, first: map[evidence]int{}}
				files[r.Path], list = g, append(list, g)
			}
			e := evidence{weak: r.weak()}
			if coded {
				e = evidence{weak: weak{group: r.Group}, loose: r.Loose}
			}
			if g.total++; g.rows[e] == 0 || r.Line < g.first[e] {
				g.first[e] = r.Line
			}
			g.rows[e]++
		}
		slices.SortFunc(list, func(x, y *gone) int { return strings.Compare(x.path, y.path) })
		return list
	}
	removed = only(a.old, func(path string) bool { return has[path] || !a.alone(path) })
	return removed, only(a.next, func(path string) bool { return had[path] || !a.alone(path) })
}

// sameName compares files with a common suffix of this many path elements. It requires more
// elements if too many files have the same suffix.
func sameName(removed, added []*gone, names int) (out []candidate) {
	type both struct{ removed, added []*gone }
	ends := map[string]*both{}
	for _, g := range removed {
		if end := endOf(g.path, names); end != "" {
			b := ends[end]
			if b == nil {
				b = &both{}
				ends[end] = b
			}
			b.removed = append(b.removed, g)
		}
	}
	for _, g := range added {
		if b := ends[endOf(g.path, names)]; b != nil {
			b.added = append(b.added, g)
		}
	}
	for _, b := range ends {
		if len(b.removed)*len(b.added) > maxSameName {
			if names < maxNames {
				out = append(out, sameName(b.removed, b.added, names+1)...)
			}
			continue
		}
		for _, l := range b.removed {
			for _, c := range b.added {
				out = append(out, compare(l, c))
			}
		}
	}
	return out
}

// sameRows compares files that share a row which few other files have.
func sameRows(removed, added []*gone) (out []candidate) {
	in := map[evidence][]*gone{}
	for _, g := range removed {
		for e := range g.rows {
			in[e] = append(in[e], g)
		}
	}
	others := map[evidence]int{}
	for _, g := range added {
		for e := range g.rows {
			others[e]++
		}
	}
	for _, c := range added {
		seen := map[*gone]bool{}
		for e := range c.rows {
			if len(in[e]) > maxSameRow || others[e] > maxSameRow {
				continue
			}
			for _, l := range in[e] {
				if !seen[l] {
					seen[l] = true
					out = append(out, compare(l, c))
				}
			}
		}
	}
	return out
}

func compare(from, to *gone) candidate {
	c := candidate{from: from, to: to, suffix: commonEnd(from.path, to.path)}
	c.same, c.kinds = from.common(to)
	return c
}

// unambiguous selects candidates with at least half of the rows in common, at most one for a file,
// best first. Equally good candidates that share a file are dropped.
func unambiguous(list []candidate, matched map[*gone]bool) (out []candidate) {
	list = slices.DeleteFunc(list, func(c candidate) bool { return c.same == 0 || 2*c.same < c.from.total })
	slices.SortFunc(list, func(x, y candidate) int { return cmp.Or(y.suffix-x.suffix, y.same-x.same) })
	used := map[*gone]bool{}
	free := func(c candidate) bool { return !used[c.from] && !used[c.to] && !matched[c.from] && !matched[c.to] }
	for i := 0; i < len(list); {
		j := i
		claims := map[*gone]int{}
		for ; j < len(list) && list[j].suffix == list[i].suffix && list[j].same == list[i].same; j++ {
			if free(list[j]) {
				claims[list[j].from]++
				claims[list[j].to]++
			}
		}
		for _, c := range list[i:j] {
			if free(c) && claims[c.from] == 1 && claims[c.to] == 1 {
				used[c.from], used[c.to] = true, true
				out = append(out, c)
			}
		}
		i = j
	}
	return out
}

// endOf returns the last elements of a path, or "" if it has fewer.
func endOf(p string, names int) string {
	at := len(p)
	for range names {
		if at <= 0 {
			return ""
		}
		at = strings.LastIndexByte(p[:at], '/')
	}
	return p[at+1:]
}

// commonEnd returns the number of equal path elements at the end of two paths.
func commonEnd(p, q string) int {
	n := 0
	for path.Base(p) == path.Base(q) {
		n++
		i, j := strings.LastIndexByte(p, '/'), strings.LastIndexByte(q, '/')
		if i < 0 || j < 0 {
			break
		}
		p, q = p[:i], q[:j]
	}
	return n
}
