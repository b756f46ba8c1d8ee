package index

import (
	"bytes"
	"encoding/json"
	"strings"
	"sync"
	"unicode/utf8"
	"unsafe"

	"github.com/RoaringBitmap/roaring/v2"

	"github.com/redoubt/redoubt"
)

// A search looks through the dictionaries, which are far smaller than the rows:
// names of rules, projects and packages have a bitmap each; paths, names of
// vulnerabilities and messages are so many that a pass over the rows is cheaper
// than a bitmap for each. What was found is remembered until something changes,
// because every facet of a page asks again.

// searchedText is how many bytes of a message a search looks at.
const searchedText = 2 << 10

// searchable is the part of a text that is searched, in lower case.
func searchable(text string) string { return strings.Clone(lowered(text)) }

// lowered is the same, which may share the text's bytes.
func lowered(text string) string { return strings.ToLower(text[:min(len(text), searchedText)]) }

// ownMessage is what is searched of the message in a body; it may share its bytes.
func ownMessage(body []byte) string {
	quoted := redoubt.BodyMessage(body)
	if len(quoted) < 2 {
		return ""
	}
	if text := quoted[1 : len(quoted)-1]; bytes.IndexByte(text, '\\') < 0 && utf8.Valid(text) {
		return lowered(unsafe.String(unsafe.SliceData(text), len(text)))
	}
	var message string
	if json.Unmarshal(quoted, &message) != nil {
		return ""
	}
	return lowered(message)
}

// nameRow tells a row what only searches look at.
func (s *state) nameRow(r *row, f *redoubt.IndexedFinding, said string) {
	if f.IssueType == redoubt.SCA {
		r.vuln = s.vulns.number(strings.ToLower(redoubt.BodyVulnerability(f.Body)))
	}
	if s.rules.entries[r.rule].open {
		r.says = s.says.number(said)
	}
}

// searchCache remembers what searches found. It is safe for concurrent use.
type searchCache struct {
	mu    sync.Mutex
	known map[searchKey]*roaring.Bitmap
}

// searchKey is a search of a partition.
type searchKey struct {
	p           *partition
	text, named string
}

// maxSearches is how many searches are remembered; then all are forgotten.
const maxSearches = 32

func (r *searchCache) get(key searchKey) *roaring.Bitmap {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.known[key]
}

func (r *searchCache) put(key searchKey, b *roaring.Bitmap) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.known == nil || len(r.known) >= maxSearches {
		r.known = map[searchKey]*roaring.Bitmap{}
	}
	r.known[key] = b
}

func (r *searchCache) forget() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.known = nil
}

// cachedSearch returns the rows that a search selects (redoubt.FindingFilter), to be
// read only.
func (s *state) cachedSearch(p *partition, text string, named []string) *roaring.Bitmap {
	key := searchKey{p, strings.ToLower(text), strings.ToLower(strings.Join(named, "\n"))}
	b := s.searches.get(key)
	if b == nil {
		b = s.search(p, key.text, strings.Split(key.named, "\n"))
		s.searches.put(key, b)
	}
	return b
}

func (s *state) search(p *partition, text string, named []string) *roaring.Bitmap {
	if text == "" {
		var vulns numberSet
		for _, n := range s.vulns.find(named) {
			vulns.add(n)
		}
		return p.rowsWhere(func(r *row) bool { return vulns.has(r.vuln) })
	}
	has := func(in string) bool { return strings.Contains(strings.ToLower(in), text) }
	var sets []*roaring.Bitmap
	for n, project := range s.projects.entries {
		if project != nil && strings.Contains(project.folded, text) {
			sets = append(sets, p.readBitmap(byProject, uint32(n)))
		}
	}
	for n, rule := range s.rules.entries {
		if rule != nil && (has(rule.name) || strings.Contains(rule.said, text)) {
			sets = append(sets, p.readBitmap(byRule, uint32(n)))
		}
	}
	for n, name := range s.packages.texts {
		if has(name) {
			sets = append(sets, p.readBitmap(byPackage, uint32(n)))
		}
	}
	paths, says, vulns := s.paths.containing(text), s.says.containing(text), s.vulns.containing(text)
	for _, n := range s.vulns.find(named) {
		vulns.add(n)
	}
	return roaring.FastOr(append(sets, p.rowsWhere(func(r *row) bool { return paths.has(r.path) || vulns.has(r.vuln) || says.has(r.says) }))...)
}

// rowsWhere returns the rows that pass a test.
func (p *partition) rowsWhere(test func(*row) bool) *roaring.Bitmap {
	var ordinals []uint32
	for i := range p.rows {
		if test(&p.rows[i]) {
			ordinals = append(ordinals, uint32(i))
		}
	}
	return roaring.And(roaring.BitmapOf(ordinals...), p.listed)
}

// numberSet is a set of numbers of a dictionary.
type numberSet []uint64

func (n numberSet) has(v uint32) bool { return int(v/64) < len(n) && n[v/64]>>(v%64)&1 == 1 }

func (n *numberSet) add(v uint32) {
	for int(v/64) >= len(*n) {
		*n = append(*n, 0)
	}
	(*n)[v/64] |= 1 << (v % 64)
}

// containing returns the words that hold a text; the empty word is none of them.
func (w *interner) containing(text string) (out numberSet) {
	for n, word := range w.texts {
		if n > 0 && strings.Contains(word, text) {
			out.add(uint32(n))
		}
	}
	return out
}
