package index

import (
	"context"
	"io"
	"slices"
	"sync"

	"github.com/redoubt/redoubt/internal/model"
)

// Page is a selected page: copies of its rows and what they refer to, which
// nobody changes. It is written without a lock.
type Page struct {
	items []item
	today int // as dayOf counts
}

type item struct {
	issueType model.IssueType

	row     row
	ref     string
	secret  string // of secrets only: its type
	source  []byte // of code only: the member sourcing_policy
	project *project
	rule    *rule
	note    *lineageJSON
	due     int    // the day on which it is due; 0 where there is none
	body    []byte // nil when it is not in memory
}

// copy takes the rows over, in the order of ordinals.
func (p *Page) copy(s *state, from *partition, ordinals []uint32) {
	p.items = make([]item, len(ordinals))
	for i, ordinal := range ordinals {
		it := &p.items[i]
		it.issueType, it.row = from.issueType, from.rows[ordinal]
		r := &it.row
		it.ref, it.project, it.rule, it.note = s.refs.Form(r.ref), s.projects.entries[r.project], s.rules.entries[r.rule], emptyLineageJSON
		if r.annotated == flagYes {
			it.note = s.lineages.entries[r.lineage].note
		}
		it.secret = s.secrets.Form(r.secret)
		if it.issueType == model.SAST {
			it.source = s.stanceOn(it.issueType, r).source
		}
		it.body, it.due = from.bodies.get(r.body), s.dueDay(from.issueType, r)
	}
}

// fetch reads the bodies that are not in memory. A finding deleted meanwhile
// has none any more and leaves the page.
func (p *Page) fetch(ctx context.Context, src Source, deployment int64) error {
	var ids []int64
	for i := range p.items {
		if p.items[i].body == nil {
			ids = append(ids, int64(p.items[i].row.id))
		}
	}
	if len(ids) == 0 {
		return nil
	}
	bodies, err := src.Bodies(ctx, deployment, ids)
	if err != nil {
		return err
	}
	for i := range p.items {
		if it := &p.items[i]; it.body == nil {
			it.body = bodies[int64(it.row.id)]
		}
	}
	p.items = slices.DeleteFunc(p.items, func(it item) bool { return len(it.body) == 0 })
	return nil
}

// Len returns how many findings the page holds.
func (p *Page) Len() int { return len(p.items) }

// IDs are those of the page's findings, in its order.
func (p *Page) IDs() []int64 {
	ids := make([]int64, len(p.items))
	for i := range p.items {
		ids[i] = int64(p.items[i].row.id)
	}
	return ids
}

// Exploited reports whether the vulnerability of the page's finding at i is
// known to be exploited, which the contract's shape does not say.
func (p *Page) Exploited(i int) bool { return p.items[i].row.exploited == flagYes }

// bufferSize is how many bytes are gathered before they are written: they stay
// in the processor's cache meanwhile.
const bufferSize = 512 << 10

// buffers holds buffers of bufferSize with room for the finding that goes over it.
var buffers = sync.Pool{New: func() any {
	b := make([]byte, 0, bufferSize+64<<10)
	return &b
}}

// WriteTo writes the page as a JSON array of findings in the contract's shape,
// in pieces of about half a megabyte. It holds no lock, and allocates nothing
// for a finding.
func (p *Page) WriteTo(w io.Writer) (int64, error) {
	e := encoder{today: p.today}
	return p.write(w, e.finding)
}

// each hands the findings over one by one, in the contract's shape.
func (p *Page) each(take func(t model.IssueType, finding []byte) error) error {
	e := encoder{today: p.today}
	var buf []byte
	for i := range p.items {
		buf = e.finding(buf[:0], &p.items[i])
		if err := take(p.items[i].issueType, buf); err != nil {
			return err
		}
	}
	return nil
}

// write writes the page as an array of what encode makes of each finding.
func (p *Page) write(w io.Writer, encode func([]byte, *item) []byte) (written int64, err error) {
	pooled := buffers.Get().(*[]byte)
	buf := append(*pooled, '[')
	defer func() {
		if cap(buf) <= 2*bufferSize { // a huge finding does not stay in memory
			*pooled = buf[:0]
			buffers.Put(pooled)
		}
	}()
	for i := range p.items {
		if i > 0 {
			buf = append(buf, ',')
		}
		buf = encode(buf, &p.items[i])
		if len(buf) >= bufferSize {
			n, err := w.Write(buf)
			if written += int64(n); err != nil {
				return written, err
			}
			buf = buf[:0]
		}
	}
	buf = append(buf, ']')
	n, err := w.Write(buf)
	return written + int64(n), err
}
