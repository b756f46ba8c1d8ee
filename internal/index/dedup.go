package index

import (
	"iter"

	"github.com/RoaringBitmap/roaring/v2"
)

// occurrences yields the ordinals of a lineage's rows, newest first. The rows form a linked list,
// which must not change during iteration. The rows themselves may change.
func (p *partition) occurrences(lineage uint32) iter.Seq[uint32] {
	return func(yield func(uint32) bool) {
		if int(lineage) >= len(p.heads) {
			return
		}
		for at := p.heads[lineage]; at != 0; at = p.rows[at-1].next {
			if !yield(at - 1) {
				return
			}
		}
	}
}

// has reports whether a lineage has a row.
func (p *partition) has(lineage uint32) bool {
	return int(lineage) < len(p.heads) && p.heads[lineage] != 0
}

// slot returns the link in the lineage's chain that refers or should refer to the ordinal.
func (p *partition) slot(lineage, ordinal uint32) *uint32 {
	for int(lineage) >= len(p.heads) {
		p.heads = append(p.heads, 0)
	}
	at := &p.heads[lineage]
	for *at > ordinal+1 {
		at = &p.rows[*at-1].next
	}
	return at
}

// link adds a row to its lineage's chain.
func (p *partition) link(ordinal uint32) {
	r := &p.rows[ordinal]
	at := p.slot(r.lineage, ordinal)
	r.next, *at = *at, ordinal+1
	p.touched[r.lineage] = true
}

// unlink removes a row from a lineage's chain.
func (p *partition) unlink(ordinal, lineage uint32) {
	*p.slot(lineage, ordinal) = p.rows[ordinal].next
	p.touched[lineage] = true
}

// reelectProject marks the lineages of a project for election, after its primary branch changed.
func (p *partition) reelectProject(project uint32) {
	for ordinal := range roaring.Values(p.readBitmap(byProject, project)) {
		p.touched[p.rows[ordinal].lineage] = true
	}
}

// elect determines the representatives of touched lineages, and their rows on primary branches.
func (p *partition) elect(s *state) {
	seen := map[uint32]bool{}
	for lineage := range p.touched {
		p.electOne(s, lineage, seen)
	}
	clear(p.touched)
}

// electOne marks the rows of a lineage that dedup retains. Across refs, this is the newest row on
// the project's primary branch, or the newest row if there is none. Within a ref, it is the newest
// row (docs/reference/finding-queries.md).
func (p *partition) electOne(s *state, lineage uint32, seen map[uint32]bool) {
	const none = ^uint32(0)
	newest, chosen := none, none
	for ordinal := range p.occurrences(lineage) {
		r := &p.rows[ordinal]
		primary := r.ref == s.projects.entries[r.project].primaryRef
		p.markField(ordinal, byPrimary, &r.primary, primary)
		if newest == none {
			newest = ordinal
		}
		if chosen == none && primary {
			chosen = ordinal
		}
	}
	if chosen == none {
		chosen = newest
	}
	clear(seen)
	for ordinal := range p.occurrences(lineage) {
		ref := p.rows[ordinal].ref
		p.mark(ordinal, ordinal == chosen, !seen[ref])
		seen[ref] = true
	}
}

// mark sets whether dedup retains a row across all refs and within its ref.
func (p *partition) mark(ordinal uint32, ofAll, ofRef bool) {
	r := &p.rows[ordinal]
	p.markField(ordinal, byRepresentative, &r.representative, ofAll)
	p.markField(ordinal, byRepresentativeRef, &r.representativeRef, ofRef)
}

func (p *partition) markField(ordinal uint32, f field, mark *uint8, want bool) {
	switch {
	case want && *mark == 0:
		p.preserve(ordinal)
		*mark = 1
		p.bitmap(f, 1).Add(ordinal)
	case !want && *mark == 1:
		p.preserve(ordinal)
		*mark = 0
		p.bitmap(f, 1).Remove(ordinal)
	}
}
