package report

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/binary"
	"hash"
	"maps"
	"slices"
	"strconv"

	"github.com/twmb/murmur3"

	"github.com/redoubt/redoubt"
)

// MemoVersion is raised whenever anything reads a result otherwise than before: its
// parsing, the taking out of secrets, its identity or its content. Memos of another
// version know nothing. TestMemoVersion says when it has to be raised.
const MemoVersion = 4

// recall knows results of a file by their bytes (see redoubt.ReportMemo), and digests
// those that it does not know, for the next memo.
//
// A known result is passed over, but for the first one of each rule, which says what
// the rule is. Whether it may stay so shows at the end: all results of its group have to
// be known, and the whole report must hold the same secrets as the last one.
type recall struct {
	mac     hash.Hash
	memo    *redoubt.ReportMemo // nil: nothing is known
	places  map[redoubt.Digest]int
	order   []int       // of the memo's results, as the last report had them
	rank    []int       // of each in order
	next    int         // in order, the one to come next, mostly
	met     []metResult // known ones, in the order of the file
	rules   map[int]*semgrepRule
	refused bool // nothing of this report may be known or remembered

	// Of the result that was parsed last.
	raw    []byte
	digest redoubt.Digest
	known  int // in the memo; -1 for none
}

// metResult is a known result in the file.
type metResult struct {
	place  int   // in the memo
	index  int   // among the results of the file
	offset int64 // of its bytes, in the file
}

// newRecall returns nil where nothing is to be remembered or no key is there.
func newRecall(o Options) *recall {
	if !o.Remember || len(o.Key) == 0 {
		return nil
	}
	r := &recall{mac: hmac.New(sha256.New, o.Key), memo: o.Memo, rules: map[int]*semgrepRule{}, known: -1}
	if r.memo != nil {
		known := r.memo.Results
		r.places = make(map[redoubt.Digest]int, len(known))
		r.order, r.rank = make([]int, len(known)), make([]int, len(known))
		for i := range known {
			r.places[known[i].Raw.Digest], r.order[i] = i, i
		}
		slices.SortFunc(r.order, func(a, b int) int { return known[a].Raw.Index - known[b].Raw.Index })
		for rank, i := range r.order {
			r.rank[i] = rank
		}
	}
	return r
}

// MemoryOfMemo is about what a reading by a memo takes beside one without, in bytes:
// however few bytes come.
func MemoryOfMemo(m *redoubt.ReportMemo) int {
	const place = 128 // of a result in recall
	return len(m.Results)*(sizeOf(&redoubt.ReadResult{})+place) + sizeOfMemo(m)
}

// sizeOfMemo is about how long the report of a memo was, in bytes.
func sizeOfMemo(m *redoubt.ReportMemo) int {
	n := headSize
	for i := range m.Results {
		n += m.Results[i].Raw.Size
	}
	return min(n+n/8, maxKept)
}

// maxKept bounds what is reserved for a report before it came, in bytes.
const maxKept = 64 << 20

// digestOf is keyed, so that nobody who has it can try what a result may hold.
func (r *recall) digestOf(raw []byte) (d redoubt.Digest) {
	r.mac.Reset()
	r.mac.Write([]byte("result "))
	r.mac.Write(raw)
	copy(d[:], r.mac.Sum(nil))
	return d
}

// pass goes over a result that is known, and over what stops the cursor. It reports
// false for what has to be read.
func (r *recall) pass(c *cursor) bool {
	r.raw, r.digest, r.known = nil, redoubt.Digest{}, -1
	if r.memo == nil {
		return false
	}
	if r.next < len(r.order) {
		next, rest := &r.memo.Results[r.order[r.next]].Raw, c.b[c.at:]
		if n := next.Size; n <= len(rest) && rest[n-1] == '}' && r.digestOf(rest[:n]) == next.Digest {
			r.take(c, r.order[r.next], n)
			return true
		}
	}
	probe := *c
	probe.skip(0)
	if probe.stopped() {
		c.short, c.odd = probe.short, probe.odd
		return true
	}
	r.digest = r.digestOf(c.b[c.at:probe.at])
	place, known := r.places[r.digest]
	if known {
		r.take(c, place, probe.at-c.at)
	}
	return known
}

func (r *recall) take(c *cursor, place, size int) {
	r.raw, r.known, r.next = c.b[c.at:c.at+size], place, r.rank[place]+1
	c.at += size
}

// groupOf is the group of results of a rule and a path.
func groupOf(rule, path string) uint64 { return murmur3.StringSum64(rule + "\x00" + path) }

// recognise notes a result that is known.
func (s *semgrep) recognise() {
	r := s.recall
	r.met = append(r.met, metResult{r.known, s.index, s.at - int64(len(r.raw))})
	number := r.memo.Results[r.known].Raw.Rule
	if r.rules[number] == nil {
		var m semgrepResult
		m.quickResult(&cursor{b: r.raw})
		r.rules[number] = s.rule(&m)
	}
}

// mark tells a result by its bytes, unless it has to be read each time: a secret, what
// told of secrets, and what is about a dependency, which others say more of.
func (s *semgrep) mark(rule *semgrepRule, res *redoubt.Result, toldSecrets bool) {
	r := s.recall
	res.Raw = redoubt.RawResult{Group: groupOf(rule.Name, res.Path), Rule: rule.number, Index: s.index}
	r.refused = r.refused || rule.idName() != rule.Name // its results number those of another rule
	if r.raw == nil || toldSecrets || rule.IssueType != redoubt.SAST || res.Secret != nil || res.Dependency != nil {
		return
	}
	if r.digest == (redoubt.Digest{}) {
		r.digest = r.digestOf(r.raw)
	}
	res.Raw.Digest, res.Raw.Size = r.digest, len(r.raw)
}

// settle reads the known results of groups that are not known as a whole, and gives
// out the others as they are.
func (s *semgrep) settle() {
	r := s.recall
	if r == nil || r.memo == nil {
		return
	}
	hits, index := make([]int, len(r.memo.Results)), make([]int, len(r.memo.Results))
	for _, m := range r.met {
		hits[m.place]++
		index[m.place] = m.index
	}
	read := map[uint64]bool{}
	for i := range s.rep.Results {
		read[s.rep.Results[i].Raw.Group] = true
	}
	for i, n := range hits {
		if n != 1 {
			read[r.memo.Results[i].Raw.Group] = true
		}
	}
	*s.kept, s.rep.Memo = s.in.meter.kept, r.memo
	for i, known := range r.memo.Results {
		if !read[known.Raw.Group] {
			rule := r.rules[known.Raw.Rule]
			known.Raw.Rule, known.Raw.Index = rule.number, index[i]
			s.rep.Known = append(s.rep.Known, redoubt.KnownResult{ReadResult: known, Rule: rule.Rule})
		}
	}
	before := len(s.rep.Results)
	for _, m := range r.met {
		if known := &r.memo.Results[m.place].Raw; read[known.Group] {
			s.readMet(m, known)
		}
	}
	if len(s.rep.Results) > before {
		s.inOrder()
	}
}

// readMet reads a result that was passed over.
func (s *semgrep) readMet(m metResult, known *redoubt.RawResult) {
	var q semgrepResult
	s.recall.digest, s.recall.raw = known.Digest, s.in.meter.kept[s.in.mark+m.offset:][:known.Size]
	q.quickResult(&cursor{b: s.recall.raw})
	s.index = m.index // what it takes was counted when it was met
	s.take("results["+strconv.Itoa(m.index)+"]", &q, "")
}

// inOrder puts the results in the order of the file, and what their ids are made of.
func (s *semgrep) inOrder() {
	order := make([]int, len(s.rep.Results))
	for i := range order {
		order[i] = i
	}
	slices.SortFunc(order, func(a, b int) int { return s.rep.Results[a].Raw.Index - s.rep.Results[b].Raw.Index })
	results, places := make([]redoubt.Result, len(order)), make([]int, len(order))
	for to, from := range order {
		results[to], places[from] = s.rep.Results[from], to
	}
	s.rep.Results = results
	for i := range s.matches {
		s.matches[i].result = places[s.matches[i].result]
	}
	slices.SortFunc(s.matches, func(a, b semgrepMatch) int { return a.result - b.result })
}

// remember says of the report what a memo of it is good for, once all secrets are
// known, and holds what is known to that.
func (s *semgrep) remember() {
	r, rep := s.recall, s.rep
	if r == nil {
		return
	}
	if context := s.context(); !r.refused && !s.secrets.renamed {
		rep.Context = context
	}
	if len(rep.Known) > 0 && rep.Memo.Context != rep.Context {
		s.secrets.stale = true
	}
	s.secrets.check([]*redoubt.Report{rep})
}

// check finds known results that other parts of the upload or those who know call
// secrets by now.
func (r *redactor) check(reports []*redoubt.Report) {
	for _, rep := range reports {
		for i := range rep.Known {
			r.stale = r.stale || rep.Known[i].Rule.IssueType != redoubt.SAST
		}
	}
}

// context is a digest of what the reading of results depends on beside their bytes: how
// they are read, where the checkout lay, what rules look for, and the secrets that are
// taken out of all of them.
func (s *semgrep) context() (d redoubt.Digest) {
	m := s.recall.mac
	m.Reset()
	list := func(list ...string) {
		var n [binary.MaxVarintLen64]byte
		m.Write(n[:binary.PutUvarint(n[:], uint64(len(list)))])
		for _, text := range list {
			m.Write(n[:binary.PutUvarint(n[:], uint64(len(text)))])
			m.Write([]byte(text))
		}
	}
	m.Write([]byte{'c', MemoVersion})
	list(s.checkout.roots...)
	for _, name := range slices.Sorted(maps.Keys(s.formulas)) {
		list(name, s.formulas[name])
	}
	for _, set := range []map[string]bool{s.secrets.whole, s.secrets.parts, s.secrets.words, s.secrets.learned} {
		list(slices.Sorted(maps.Keys(set))...)
	}
	copy(d[:], m.Sum(nil))
	return d
}
