package align

import (
	"cmp"
	"path"
	"slices"
	"strings"
)

// Limits that keep moves from comparing every file with every other.
const (
	// maxSameName is how many pairs of files of one name are compared. Where there
	// are more, the common end of their paths must be longer.
	maxSameName = 1 << 12
	// maxNames is how long a common end that is, in names.
	maxNames = 32
	// maxSameRow is in how many files a finding may stand to tell that a file goes
	// on under another name.
	maxSameRow = 64
)

// evidence is what two files must have in common to be one: the code without layout, or
// where code is not known what stands for it.
type evidence struct {
	weak
	loose Digest
}

// gone is a file that only one side has, with the number of rows by evidence, and the first
// line of each.
type gone struct {
	path  string
	total int
	rows  map[evidence]int
	first map[evidence]int
}

// single reports whether all rows are on one line. Several rules that match one line count
// as one finding.
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

// common counts the rows that two files have in common, and the lines of the different ones.
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
	suffix      int // names at the end of the path in common
	same, kinds int // rows in common, and the lines of those that differ from each other
}

// moves returns the new path of files that are gone, one to one. Both have the
// same base name, and at least half of the rows are equal. The longest common end of
// the path decides, then the number of equal rows; a tie moves nothing. A file with a
// single row also needs the same parent folder name. With another base name at least two
// rows that differ from each other and half of them are equal: two of a kind are alike in files that
// have nothing to do with each other. Rows of one line count as one.
func (a *aligner) moves() map[string]string {
	left, came := a.gone()
	moved := map[string]string{}
	if len(left) == 0 || len(came) == 0 {
		return moved
	}
	taken := map[*gone]bool{}
	take := func(list []candidate) {
		for _, c := range unambiguous(list, taken) {
			moved[c.from.path], taken[c.from], taken[c.to] = c.to.path, true, true
		}
	}
	take(slices.DeleteFunc(sameName(left, came, 1), func(c candidate) bool { return c.suffix < 2 && c.from.single() }))
	free := func(g *gone) bool { return taken[g] }
	take(slices.DeleteFunc(sameRows(slices.DeleteFunc(left, free), slices.DeleteFunc(came, free)), func(c candidate) bool {
		return c.kinds < 2
	}))
	return moved
}

// gone returns the files that only one side has, ordered by path.
func (a *aligner) gone() (left, came []*gone) {
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
	left = only(a.old, func(path string) bool { return has[path] || !a.alone(path) })
	return left, only(a.next, func(path string) bool { return had[path] || !a.alone(path) })
}

// sameName compares files of the same name, or of the same end of the path of so
// many names where too many have the same.
func sameName(left, came []*gone, names int) (out []candidate) {
	type both struct{ left, came []*gone }
	ends := map[string]*both{}
	for _, g := range left {
		if end := endOf(g.path, names); end != "" {
			b := ends[end]
			if b == nil {
				b = &both{}
				ends[end] = b
			}
			b.left = append(b.left, g)
		}
	}
	for _, g := range came {
		if b := ends[endOf(g.path, names)]; b != nil {
			b.came = append(b.came, g)
		}
	}
	for _, b := range ends {
		if len(b.left)*len(b.came) > maxSameName {
			if names < maxNames {
				out = append(out, sameName(b.left, b.came, names+1)...)
			}
			continue
		}
		for _, l := range b.left {
			for _, c := range b.came {
				out = append(out, compare(l, c))
			}
		}
	}
	return out
}

// sameRows compares files that have a row in common that few others have.
func sameRows(left, came []*gone) (out []candidate) {
	in := map[evidence][]*gone{}
	for _, g := range left {
		for e := range g.rows {
			in[e] = append(in[e], g)
		}
	}
	others := map[evidence]int{}
	for _, g := range came {
		for e := range g.rows {
			others[e]++
		}
	}
	for _, c := range came {
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

// unambiguous are the candidates that half of the rows speak for, one for a file, the
// best ones first. Of two that are as good as each other and share a file it is neither.
func unambiguous(list []candidate, taken map[*gone]bool) (out []candidate) {
	list = slices.DeleteFunc(list, func(c candidate) bool { return c.same == 0 || 2*c.same < c.from.total })
	slices.SortFunc(list, func(x, y candidate) int { return cmp.Or(y.suffix-x.suffix, y.same-x.same) })
	used := map[*gone]bool{}
	free := func(c candidate) bool { return !used[c.from] && !used[c.to] && !taken[c.from] && !taken[c.to] }
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

// endOf is the end of a path of so many names; empty where it has fewer.
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

// commonEnd counts the names at the end of two paths that are equal.
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
