package index

import (
	"iter"

	"github.com/RoaringBitmap/roaring/v2"
)

// The rows of one lineage form a chain, newest first.

// occurrences yields the ordinals of a lineage's rows, newest first. The rows
// may change meanwhile, the chain not.
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

// slot finds the place in the chain where ordinal stands or would stand.
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

// link puts a row into its lineage's chain.
func (p *partition) link(ordinal uint32) {
	r := &p.rows[ordinal]
	at := p.slot(r.lineage, ordinal)
	r.next, *at = *at, ordinal+1
	p.touched[r.lineage] = true
}

// unlink takes a row out of a lineage's chain.
func (p *partition) unlink(ordinal, lineage uint32) {
	*p.slot(lineage, ordinal) = p.rows[ordinal].next
	p.touched[lineage] = true
}

// reelectProject has the lineages of a project elected anew: its primary branch is
// another one.
func (p *partition) reelectProject(project uint32) {
	for ordinal := range roaring.Values(p.readBitmap(byProject, project)) {
		p.touched[p.rows[ordinal].lineage] = true
	}
}

// elect settles who stands for the lineages that were touched, and which of
// their rows are on a primary branch.
func (p *partition) elect(s *state) {
	seen := map[uint32]bool{}
	for lineage := range p.touched {
		p.electOne(s, lineage, seen)
	}
	clear(p.touched)
}

// electOne marks the rows that dedup keeps: of all refs the newest one on the
// project's primary branch, else the newest; of each ref the newest there
// (docs/reference/finding-queries.md).
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

// mark says whether dedup keeps a row: of all refs, of its own ref.
func (p *partition) mark(ordinal uint32, ofAll, ofRef bool) {
	r := &p.rows[ordinal]
	p.markField(ordinal, byRepresentative, &r.representative, ofAll)
	p.markField(ordinal, byRepresentativeRef, &r.representativeRef, ofRef)
}

func (p *partition) markField(ordinal uint32, f field, mark *uint8, want bool) {
	switch {
	case want && *mark == 0:
		p.keep(ordinal)
		*mark = 1
		p.bitmap(f, 1).Add(ordinal)
	case !want && *mark == 1:
		p.keep(ordinal)
		*mark = 0
		p.bitmap(f, 1).Remove(ordinal)
	}
}
