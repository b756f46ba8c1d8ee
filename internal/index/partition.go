package index

import (
	"github.com/RoaringBitmap/roaring/v2"

	"github.com/redoubt/redoubt/internal/model"
)

// partition contains the listed findings of one issue type. Rows are sorted by row.before, and the
// position of a row is its ordinal. A row that is changed in place retains its ordinal. A row with
// a new relevant_since is appended, and its old ordinal becomes dead.
type partition struct {
	issueType model.IssueType
	rows      []row
	columns   columns
	where     map[uint32]uint32 // finding ID to ordinal
	heads     []uint32          // by lineage: 1 + ordinal of its newest row
	listed    *roaring.Bitmap   // ordinals that are not dead
	values    [fields][]*roaring.Bitmap
	bodies    *arena

	frozen  *frozenRows     // rows of the checkpoint being written, or nil
	touched map[uint32]bool // lineages whose representatives must be elected
	late    lateRows
	empty   bool // no rebuild has happened yet: all rows are late
}

func newPartition(t model.IssueType, bodies *arena) *partition {
	return &partition{
		issueType: t, where: map[uint32]uint32{}, listed: roaring.New(), bodies: bodies,
		touched: map[uint32]bool{}, late: lateRows{where: map[uint32]int{}}, empty: true,
	}
}

// lateRows contains rows that sort before the last one, until a rebuild sorts them in. Until then,
// lists show the rows that they replace.
type lateRows struct {
	rows  []row
	where map[uint32]int // finding ID to position
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

// remove clears the finding's row and leaves a row with ID 0.
func (l *lateRows) remove(id uint32) {
	if i, ok := l.where[id]; ok {
		l.rows[i] = row{}
		delete(l.where, id)
	}
}

// put adds or replaces a row.
func (p *partition) put(r *row, body []byte) {
	old := p.get(r.id)
	r.body = p.storeBody(old, body)
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

// storeBody stores a body and returns its reference. It reuses the old row's body if both are equal.
func (p *partition) storeBody(old *row, body []byte) bodyRef {
	if old == nil {
		return p.bodies.put(body)
	}
	if string(p.bodies.get(old.body)) == string(body) {
		return old.body
	}
	p.bodies.drop(old.body)
	return p.bodies.put(body)
}

// append adds a row with the next ordinal.
func (p *partition) append(r *row) {
	ordinal := uint32(len(p.rows))
	r.marks = marks{}
	p.rows = append(p.rows, *r)
	p.where[r.id] = ordinal
	p.link(ordinal)
	p.index(ordinal)
}

// index adds a row to the list, the columns and the bitmaps of its values.
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

// replace changes a row in place.
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

// set stores a row and updates the bitmaps of changed values.
func (p *partition) set(ordinal uint32, r *row) {
	p.preserve(ordinal)
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

// bitmap returns the bitmap of a value and creates it if necessary.
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

// emptyBitmap represents a value without rows. It must not be modified.
var emptyBitmap = roaring.New()

// readBitmap returns the bitmap of a value. The caller must not modify it.
func (p *partition) readBitmap(f field, v uint32) *roaring.Bitmap {
	if int(v) < len(p.values[f]) && p.values[f][v] != nil {
		return p.values[f][v]
	}
	return emptyBitmap
}

// markDead removes a row from its chain, the bitmaps and the list. The row remains in place for
// binary searches.
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

// remove removes a finding.
func (p *partition) remove(id uint32) {
	if old := p.get(id); old != nil {
		p.bodies.drop(old.body)
	}
	p.late.remove(id)
	if ordinal, ok := p.where[id]; ok {
		p.markDead(ordinal)
	}
}

// removeProject removes the findings of a project. It retains a finding whose late row is in
// another project.
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

// inherit copies changed values of a lineage to its rows.
func (p *partition) inherit(lineage uint32, l *lineage, m inherited) {
	for ordinal := range p.occurrences(lineage) {
		r := p.rows[ordinal]
		r.inherit(l, m)
		p.set(ordinal, &r)
	}
}
