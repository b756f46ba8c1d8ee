package advisory

import (
	"cmp"
	"math"
	"slices"
	"strings"
)

// placer returns the position of a version on the scale of a package. See Order.
type placer func(version string) (position int, ok bool)

// span is a half-open interval of positions on a scale.
type span struct{ from, to int }

// forever is greater than every position.
const forever = math.MaxInt

// spans returns the affected positions as OSV defines the evaluation, without exact matches of
// listed versions. Listed versions are placed on the scale only if there are no ranges, so that
// other spellings match, such as 1.0 for 1.0.0.
func (a *Affected) spans(position placer) (out []span) {
	for _, r := range a.Ranges {
		out = append(out, r.spans(position)...)
	}
	if len(a.Ranges) == 0 {
		for _, v := range a.Versions {
			if at, ok := position(v); ok {
				out = append(out, span{at, at + 1})
			}
		}
	}
	return out
}

// onScale returns the versions that spans places on the scale.
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

// step is an event on a scale. It applies from its position up to the next step.
type step struct {
	order, rank int // sort keys
	from        int
	opens       bool
}

// spans evaluates the events in the order of their versions. Versions are affected from an
// introduction up to a fix or past a last affected version. The last event at or before a version
// decides. A limit bounds the whole range. A range with an event that is not a version is empty.
// The spans are unordered.
func (r Range) spans(position placer) (out []span) {
	steps, end, ok := r.steps(position)
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

// steps returns the events in the order of their versions, and the position of the highest limit.
// At the same version, closing events precede introductions, unless the two are written as a pair.
// The version 0 precedes all others, and * all except 0.
func (r Range) steps(position placer) (steps []step, end int, ok bool) {
	limits, limited := 0, false
	var previous step // in the written order
	for _, e := range r.Events {
		v := e.version()
		at, ok := position(v)
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

// union sorts spans and merges adjacent and overlapping ones.
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

// contains reports whether a position is in one of the spans, which must be a union.
func contains(spans []span, position int) bool {
	i, found := slices.BinarySearchFunc(spans, position, func(s span, p int) int { return cmp.Compare(s.from, p) })
	return found || i > 0 && position < spans[i-1].to
}

func (e Event) version() string { return cmp.Or(e.Introduced, e.Fixed, e.LastAffected, e.Limit) }

// rank orders events of one version. Closing events come first, so that adjacent spans merge. A
// closing event directly after its own introduction comes last, so that the span is empty.
func rank(opens, closesPrevious bool) int {
	switch {
	case opens:
		return 1
	case closesPrevious:
		return 2
	}
	return 0
}

// Fixes returns the versions that the record lists as fixed.
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

// Describe returns the affected versions as one line of text for users.
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
