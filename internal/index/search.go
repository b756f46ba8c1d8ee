package index

import (
	"bytes"
	"encoding/json"
	"strings"
	"sync"
	"unicode/utf8"
	"unsafe"

	"github.com/RoaringBitmap/roaring/v2"

	"github.com/redoubt/redoubt/internal/index/lexicon"
	"github.com/redoubt/redoubt/internal/model"
)

// A search scans the dictionaries, which are far smaller than the rows. Names of rules, projects
// and packages have a bitmap each. Paths, names of vulnerabilities and messages are too many for
// this, so their numbers are looked up in columns. Paths and parts of messages are contiguous in
// memory (lexicon.Texts) and searched on all processors. Results are cached until the next change,
// because each facet of a page repeats the search.

// searchedText is the number of bytes of a message that are searched.
const searchedText = 2 << 10

// searchable returns the searched part of a text in lower case.
func searchable(text string) string { return strings.Clone(lowered(text)) }

// lowered is like searchable, but the result may share the text's bytes.
func lowered(text string) string { return strings.ToLower(text[:min(len(text), searchedText)]) }

// ownMessage returns the searched part of the message in a body. It may share the body's bytes.
func ownMessage(body []byte) string {
	quoted := model.BodyMessage(body)
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

// searched contains the searched texts of a finding in lower case.
type searched struct {
	path, vuln string
	message    string // message of the finding, if any; it may share the body's bytes
}

func searchedOf(f *model.IndexedFinding) searched {
	out := searched{path: strings.ToLower(f.Path), message: ownMessage(f.Body)}
	if f.IssueType == model.SCA {
		out.vuln = strings.ToLower(model.BodyVulnerability(f.Body))
	}
	return out
}

// nameRow sets the row's numbers that are used only by searches.
func (s *state) nameRow(r *row, f *model.IndexedFinding, texts searched) {
	if f.IssueType == model.SCA {
		r.vuln = s.vulns.Number(texts.vuln)
	}
	if s.rules.entries[r.rule].open {
		r.says = s.messages.Number(texts.message)
	}
}

// searchCache caches results of searches. It is safe for concurrent use.
type searchCache struct {
	mu    sync.Mutex
	known map[searchKey]*roaring.Bitmap
}

// searchKey identifies a search of a partition.
type searchKey struct {
	p           *partition
	text, named string
}

// maxSearches is the number of cached searches. A full cache is cleared.
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

// cachedSearch returns the rows that match a search (see model.FindingFilter). The caller must not
// modify the result.
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
		var vulns lexicon.Set
		for _, n := range s.vulns.Find(named) {
			vulns.Add(n)
		}
		return p.having(columnSet{namedVuln, vulns})
	}
	has := func(in string) bool { return strings.Contains(strings.ToLower(in), text) }
	var sets []*roaring.Bitmap
	for n, project := range s.projects.entries {
		if project != nil && strings.Contains(project.folded, text) {
			sets = append(sets, p.readBitmap(byProject, uint32(n)))
		}
	}
	for n, rule := range s.rules.entries {
		if rule != nil && (has(rule.name) || strings.Contains(rule.searchText, text)) {
			sets = append(sets, p.readBitmap(byRule, uint32(n)))
		}
	}
	for n, name := range s.packages.List() {
		if has(name) {
			sets = append(sets, p.readBitmap(byPackage, uint32(n)))
		}
	}
	vulns := s.vulns.Containing(text)
	for _, n := range s.vulns.Find(named) {
		vulns.Add(n)
	}
	return roaring.FastOr(append(sets, p.having(
		columnSet{namedPath, s.paths.Containing(text)}, columnSet{namedVuln, vulns},
		columnSet{messageText, s.messages.Containing(text)}))...)
}

// columnSet is a set of values to find in a column.
type columnSet struct {
	column field
	set    lexicon.Set
}

// having returns the rows with a value of one of the sets in its column.
func (p *partition) having(sets ...columnSet) *roaring.Bitmap {
	dense := make([]uint64, len(p.rows)/64+1)
	for _, c := range sets {
		column := p.columns[c.column]
		if c.set.Empty() {
			continue
		}
		lexicon.InParts(len(column), func(from, to int) {
			for i := from; i < to; i++ {
				if c.set.Has(column[i]) {
					dense[i/64] |= 1 << (i % 64)
				}
			}
		})
	}
	return roaring.And(roaring.FromDense(dense, false), p.listed)
}
