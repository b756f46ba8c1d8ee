package advisory

import (
	"cmp"
	"math"
	"slices"
	"strings"
)

// placer tells where a version stands on the scale of a package: see Order.
type placer func(version string) (place int, ok bool)

// span is a stretch of a scale: the places from one up to another, without it.
type span struct{ from, to int }

// forever is behind every place.
const forever = math.MaxInt

// spans are the affected places as OSV defines the evaluation, apart from the
// versions that are listed letter by letter. Other spellings of a listed
// version, as 1.0 of 1.0.0, matter only where no range says the same more exactly.
func (a *Affected) spans(place placer) (out []span) {
	for _, r := range a.Ranges {
		out = append(out, r.spans(place)...)
	}
	if len(a.Ranges) == 0 {
		for _, v := range a.Versions {
			if at, ok := place(v); ok {
				out = append(out, span{at, at + 1})
			}
		}
	}
	return out
}

// onScale lists the versions whose places spans asks for.
func (a *Affected) onScale() (out []string) {
	for _, r := range a.Ranges {
		for _, e := range r.Events {
			out = append(out, e.version())
		}
	}
	if len(a.Ranges) == 0 {
		out = append(out, a.Versions...)
	}
	return out
}

// step is an event on a scale: from a place on it decides, until a later step
// does.
type step struct {
	order, rank int // of the walk
	from        int
	opens       bool
}

// spans walks the events in the order of their versions: from an introduction on
// versions are affected, from a fix on they are not, nor behind a last affected
// version. The last event that is not later than a version decides. A limit
// bounds all of it. A range with an event that is no version holds nothing. The stretches
// come in no order.
func (r Range) spans(place placer) (out []span) {
	steps, end, ok := r.steps(place)
	if !ok {
		return nil
	}
	for _, s := range slices.Backward(steps) {
		if s.from >= end {
			continue // later events decide there
		}
		if s.opens {
			out = append(out, span{s.from, end})
		}
		end = s.from
	}
	return out
}

// steps returns the events in the order of their versions, and at the same version what
// closes before introductions, unless the two are written as a pair, and the place of the
// highest limit. The version 0 comes before all, and * before all others.
func (r Range) steps(place placer) (steps []step, end int, ok bool) {
	limits, limited := 0, false
	var previous step // as written
	for _, e := range r.Events {
		v := e.version()
		at, ok := place(v)
		if !ok && v != "0" && v != "*" {
			return nil, 0, false
		}
		if e.Limit != "" {
			limited = true
			if e.Limit == "*" {
				at = forever
			}
			limits = max(limits, at)
			continue
		}
		s := step{order: at, from: at, opens: e.Introduced != ""}
		switch {
		case e.Introduced == "0":
			s.from = 0
		case e.LastAffected != "" && ok:
			s.from = at + 1
		}
		switch {
		case v == "0":
			s.order = -2
		case !ok:
			s.order = -1
		}
		s.rank = rank(s.opens, previous.opens && previous.order == s.order)
		previous = s
		steps = append(steps, s)
	}
	slices.SortStableFunc(steps, func(a, b step) int {
		return cmp.Or(cmp.Compare(a.order, b.order), cmp.Compare(a.rank, b.rank))
	})
	if !limited {
		limits = forever
	}
	return steps, limits, true
}

// union returns stretches of a scale in order, those that touch as one.
func union(spans []span) []span {
	slices.SortFunc(spans, func(a, b span) int { return cmp.Compare(a.from, b.from) })
	out := spans[:0]
	for _, s := range spans {
		if last := len(out) - 1; last >= 0 && s.from <= out[last].to {
			out[last].to = max(out[last].to, s.to)
		} else {
			out = append(out, s)
		}
	}
	return out
}

// contains reports whether a place lies in one of the spans, which are a union.
func contains(spans []span, place int) bool {
	i, found := slices.BinarySearchFunc(spans, place, func(s span, place int) int { return cmp.Compare(s.from, place) })
	return found || i > 0 && place < spans[i-1].to
}

func (e Event) version() string { return cmp.Or(e.Introduced, e.Fixed, e.LastAffected, e.Limit) }

// rank orders events of one version: stretches that touch are one stretch, and what closes
// right behind its own introduction leaves nothing.
func rank(opens, closesPrevious bool) int {
	switch {
	case opens:
		return 1
	case closesPrevious:
		return 2
	}
	return 0
}

// Fixes lists the versions that the record calls fixed.
func (a *Affected) Fixes() (out []string) {
	for _, r := range a.Ranges {
		for _, e := range r.Events {
			if e.Fixed != "" {
				out = append(out, e.Fixed)
			}
		}
	}
	return out
}

// Describe tells the affected versions in a line, for people.
func (a *Affected) Describe() string {
	var parts []string
	for _, r := range a.Ranges {
		for _, e := range r.Events {
			switch {
			case e.Introduced == "0":
				parts = append(parts, "all")
			case e.Introduced != "":
				parts = append(parts, "from "+e.Introduced)
			case e.Fixed != "":
				parts = append(parts, "before "+e.Fixed)
			case e.LastAffected != "":
				parts = append(parts, "up to "+e.LastAffected)
			}
		}
	}
	if len(parts) == 0 {
		return strings.Join(a.Versions[:min(len(a.Versions), 20)], ", ")
	}
	return strings.Join(parts, " ")
}
