package index

import (
	"github.com/RoaringBitmap/roaring/v2"

	"github.com/redoubt/redoubt/internal/model"
)

// partition holds the findings of one issue type that lists may show. Rows
// stand in the order of row.before; a row's position is its ordinal. A row that
// changes in place keeps its ordinal; one with a new relevant_since gets the
// last ordinal and leaves a dead one.
type partition struct {
	issueType model.IssueType
	rows      []row
	columns   columns
	where     map[uint32]uint32 // finding id to ordinal
	heads     []uint32          // by lineage: 1 + ordinal of its newest row
	listed    *roaring.Bitmap   // ordinals that are not dead
	values    [fields][]*roaring.Bitmap
	bodies    *arena

	frozen  *frozenRows     // of the checkpoint that is being written; nil while none is
	touched map[uint32]bool // lineages whose representatives are to be elected
	late    lateRows
	empty   bool // nothing was built yet: every row is late
}

func newPartition(t model.IssueType, bodies *arena) *partition {
	return &partition{
		issueType: t, where: map[uint32]uint32{}, listed: roaring.New(), bodies: bodies,
		touched: map[uint32]bool{}, late: lateRows{where: map[uint32]int{}}, empty: true,
	}
}

// lateRows holds the rows that belong before the last one, until a rebuild sorts
// them in. Meanwhile lists show the row that one of them replaces.
type lateRows struct {
	rows  []row
	where map[uint32]int // finding id to position
}

func (l *lateRows) put(r *row) {
	i, ok := l.where[r.id]
	if !ok {
		i = len(l.rows)
		l.rows = append(l.rows, row{})
		l.where[r.id] = i
	}
	l.rows[i] = *r
}

// remove leaves a hole, a row without an id.
func (l *lateRows) remove(id uint32) {
	if i, ok := l.where[id]; ok {
		l.rows[i] = row{}
		delete(l.where, id)
	}
}

// put adds or changes a row.
func (p *partition) put(r *row, body []byte) {
	old := p.get(r.id)
	r.body = p.keepBody(old, body)
	ordinal, exists := p.where[r.id]
	_, waiting := p.late.where[r.id]
	switch {
	case waiting, p.empty:
		p.late.put(r)
	case exists && p.rows[ordinal].relevant == r.relevant:
		p.replace(ordinal, r)
	case len(p.rows) > 0 && r.before(&p.rows[len(p.rows)-1]):
		p.late.put(r)
	default:
		if exists {
			p.markDead(ordinal)
		}
		p.append(r)
	}
}

// get returns the newest row of a finding, or nil.
func (p *partition) get(id uint32) *row {
	if i, ok := p.late.where[id]; ok {
		return &p.late.rows[i]
	}
	if ordinal, ok := p.where[id]; ok {
		return &p.rows[ordinal]
	}
	return nil
}

// keepBody stores a body unless it is the one that is there already.
func (p *partition) keepBody(old *row, body []byte) bodyRef {
	if old == nil {
		return p.bodies.put(body)
	}
	if string(p.bodies.get(old.body)) == string(body) {
		return old.body
	}
	p.bodies.drop(old.body)
	return p.bodies.put(body)
}

// append gives a row the last ordinal.
func (p *partition) append(r *row) {
	ordinal := uint32(len(p.rows))
	r.marks = marks{}
	p.rows = append(p.rows, *r)
	p.where[r.id] = ordinal
	p.link(ordinal)
	p.index(ordinal)
}

// index adds a row to the bitmaps of its values.
func (p *partition) index(ordinal uint32) {
	r := &p.rows[ordinal]
	p.listed.Add(ordinal)
	p.columns.put(p.rows, ordinal)
	for f := range fields {
		if v := r.value(f); v != 0 {
			p.bitmap(f, v).Add(ordinal)
		}
	}
}

// replace changes a row that keeps its place.
func (p *partition) replace(ordinal uint32, r *row) {
	old := p.rows[ordinal]
	r.next, r.marks = old.next, old.marks
	p.set(ordinal, r)
	if old.lineage != r.lineage {
		p.unlink(ordinal, old.lineage)
		p.link(ordinal)
	}
	if old.ref != r.ref || old.project != r.project {
		p.touched[r.lineage] = true
	}
}

// set stores a row and moves its ordinal between bitmaps where values changed.
func (p *partition) set(ordinal uint32, r *row) {
	p.keep(ordinal)
	old := &p.rows[ordinal]
	for f := range fields {
		was, is := old.value(f), r.value(f)
		if was == is {
			continue
		}
		if was != 0 {
			p.bitmap(f, was).Remove(ordinal)
		}
		if is != 0 {
			p.bitmap(f, is).Add(ordinal)
		}
	}
	*old = *r
	p.columns.put(p.rows, ordinal)
}

// bitmap returns the bitmap of a value, a new one if need be.
func (p *partition) bitmap(f field, v uint32) *roaring.Bitmap {
	for int(v) >= len(p.values[f]) {
		p.values[f] = append(p.values[f], nil)
	}
	b := p.values[f][v]
	if b == nil {
		b = roaring.New()
		p.values[f][v] = b
	}
	return b
}

// emptyBitmap is the bitmap of a value that no row has. It is never changed.
var emptyBitmap = roaring.New()

// readBitmap returns the bitmap of a value to be read only.
func (p *partition) readBitmap(f field, v uint32) *roaring.Bitmap {
	if int(v) < len(p.values[f]) && p.values[f][v] != nil {
		return p.values[f][v]
	}
	return emptyBitmap
}

// markDead takes a row out of everything. Its order stays, for binary searches.
func (p *partition) markDead(ordinal uint32) {
	r := &p.rows[ordinal]
	p.unlink(ordinal, r.lineage)
	for f := range fields {
		if v := r.value(f); v != 0 {
			p.bitmap(f, v).Remove(ordinal)
		}
	}
	p.listed.Remove(ordinal)
	delete(p.where, r.id)
}

// remove forgets a finding.
func (p *partition) remove(id uint32) {
	if old := p.get(id); old != nil {
		p.bodies.drop(old.body)
	}
	p.late.remove(id)
	if ordinal, ok := p.where[id]; ok {
		p.markDead(ordinal)
	}
}

// removeProject forgets the findings of a project. One whose late row is in
// another project by now stays.
func (p *partition) removeProject(project uint32) {
	var ids []uint32
	for ordinal := range roaring.Values(p.readBitmap(byProject, project)) {
		if id := p.rows[ordinal].id; p.get(id).project == project {
			ids = append(ids, id)
		}
	}
	for _, r := range p.late.rows {
		if r.id != 0 && r.project == project {
			ids = append(ids, r.id)
		}
	}
	for _, id := range ids {
		p.remove(id)
	}
}

// inherit hands what changed on a lineage to its rows.
func (p *partition) inherit(lineage uint32, l *lineage, m inherited) {
	for ordinal := range p.occurrences(lineage) {
		r := p.rows[ordinal]
		r.inherit(l, m)
		p.set(ordinal, &r)
	}
}
