package index

import (
	"fmt"
	"strconv"

	"github.com/RoaringBitmap/roaring/v2"

	"github.com/redoubt/redoubt/internal/index/checkpoint"
)

// readBitmaps reads the bitmaps of a partition.
func (p *partition) readBitmaps(r *checkpoint.Reader, part int) error {
	name := "bitmaps/" + strconv.Itoa(part)
	b, err := r.Section(name)
	if err != nil {
		return err
	}
	u := checkpoint.NewUnpacker(b)
	p.listed = u.Bitmap()
	if p.listed == nil {
		u.Fail()
	}
	for f := range fields {
		p.values[f] = make([]*roaring.Bitmap, u.Count())
		for v := range p.values[f] {
			p.values[f][v] = u.Bitmap()
		}
	}
	if err := u.End(); err != nil {
		return fmt.Errorf("its %s: %w", name, err)
	}
	return nil
}

// restore finds again what of a partition is not in a checkpoint, and holds what is
// against the dictionaries.
func (p *partition) restore(s *state) error {
	p.empty = false
	if err := p.checkBitmaps(s); err != nil {
		return err
	}
	p.where = make(map[uint32]uint32, int(p.listed.GetCardinality()))
	p.heads = make([]uint32, len(s.lineages.entries))
	next := uint32(0)
	for batch := range batches(p.listed) {
		for _, ordinal := range batch {
			p.forget(next, ordinal)
			next = ordinal + 1
			r := &p.rows[ordinal]
			if !s.fits(r) || ordinal > 0 && r.before(&p.rows[ordinal-1]) {
				return checkpoint.ErrPacked
			}
			p.where[r.id] = ordinal
			r.next, p.heads[r.lineage] = p.heads[r.lineage], ordinal+1
			r.body = bodyRef{}
		}
	}
	p.forget(next, uint32(len(p.rows)))
	if len(p.where) != int(p.listed.GetCardinality()) {
		return checkpoint.ErrPacked
	}
	p.columns.fill(p.rows)
	return nil
}

// forget leaves of dead rows what places them among the others.
func (p *partition) forget(from, to uint32) {
	for i := from; i < to; i++ {
		p.rows[i] = row{relevant: p.rows[i].relevant, id: p.rows[i].id}
	}
}

// fits reports whether a row refers to what there is.
func (s *state) fits(r *row) bool {
	known := func(n uint32, all int) bool { return int(n) < max(all, 1) }
	if !known(r.lineage, len(s.lineages.entries)) || !known(r.project, len(s.projects.entries)) || !known(r.rule, len(s.rules.entries)) ||
		r.lineage == 0 || r.project == 0 || r.rule == 0 {
		return false
	}
	l := s.lineages.entries[r.lineage]
	if l == nil || s.projects.entries[r.project] == nil || s.rules.entries[r.rule] == nil || (l.note != nil) != (r.annotated == flagYes) {
		return false
	}
	return known(r.ref, s.refs.Count()) && known(r.pkg, s.packages.Count()) && known(r.secret, s.secrets.Count()) &&
		known(r.path, s.paths.Count()) && known(r.vuln, s.vulns.Count()) && known(r.says, s.says.Count()) &&
		known(r.tag, s.tags.Count()) && known(r.assignee, s.assignees.Count()) && int(r.until) <= len(s.untils.at) && r.began <= lastDay
}

// checkBitmaps reports bitmaps of what there is not.
func (p *partition) checkBitmaps(s *state) error {
	if !p.listed.IsEmpty() && int(p.listed.Maximum()) >= len(p.rows) {
		return checkpoint.ErrPacked
	}
	most := map[field]int{
		byProject: len(s.projects.entries), byRule: len(s.rules.entries), byRef: s.refs.Count(), byTag: s.tags.Count(), byPackage: s.packages.Count(),
		bySecretType: s.secrets.Count(), byAssignee: s.assignees.Count(), byUntil: len(s.untils.at) + 1, byClosedDay: lastDay + 1, byClockDay: lastDay + 1,
	}
	for f := range fields {
		limit, many := most[f]
		if !many {
			limit = 256
		}
		if len(p.values[f]) > max(limit, 1) {
			return checkpoint.ErrPacked
		}
		for v, b := range p.values[f] {
			if b != nil && (v == 0 || b.AndCardinality(p.listed) != b.GetCardinality()) {
				return checkpoint.ErrPacked
			}
		}
	}
	return nil
}

// fill makes the columns of rows that had none.
func (c *columns) fill(rows []row) {
	for f := range columned {
		for i := range rows {
			if v := rows[i].column(f); v != 0 {
				if c[f] == nil {
					c[f] = make([]uint32, len(rows))
				}
				c[f][i] = v
			}
		}
	}
}
