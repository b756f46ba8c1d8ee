package advisory

import (
	"cmp"
	"slices"
	"strings"
)

// affects reports whether a version of the package is affected, as OSV defines
// the evaluation: it is listed, or one of the ranges holds it. What is not a
// version of its ecosystem is affected only where it is listed.
func (a *Affected) affects(o Order, version string) bool {
	if slices.Contains(a.Versions, version) {
		return true
	}
	if !o.IsVersion(version) {
		return false
	}
	if slices.ContainsFunc(a.Ranges, func(r Range) bool { return r.contains(o, version) }) {
		return true
	}
	// Spellings of a listed version, as 1.0 of 1.0.0, matter only where no range
	// says the same more exactly.
	return len(a.Ranges) == 0 && slices.ContainsFunc(a.Versions, func(v string) bool { return o.IsVersion(v) && o.Compare(v, version) == 0 })
}

// contains walks the events in the order of their versions: an introduction that
// is not later than the version opens, a fix that is not later closes, and so
// does a last affected version before it. A limit bounds all of it. A range
// with an event that is no version holds nothing.
func (r Range) contains(o Order, version string) bool {
	events, limits, ok := r.sorted(o)
	if !ok || len(limits) > 0 && !slices.ContainsFunc(limits, func(l string) bool { return l == "*" || o.Compare(version, l) < 0 }) {
		return false
	}
	inside := false
	for _, e := range events {
		switch {
		case e.Introduced == "0", e.Introduced != "" && o.Compare(version, e.Introduced) >= 0:
			inside = true
		case e.Fixed != "" && o.Compare(version, e.Fixed) >= 0:
			inside = false
		case e.LastAffected != "" && o.Compare(version, e.LastAffected) > 0:
			inside = false
		}
	}
	return inside
}

// sorted returns the events in the order of their versions, introductions
// before what closes at the same version, and the limits.
func (r Range) sorted(o Order) (events []Event, limits []string, ok bool) {
	for _, e := range r.Events {
		v := e.version()
		if e.Limit != "" {
			limits = append(limits, e.Limit)
		} else {
			events = append(events, e)
		}
		if v != "0" && v != "*" && !o.IsVersion(v) {
			return nil, nil, false
		}
	}
	slices.SortStableFunc(events, func(a, b Event) int {
		x, y := a.version(), b.version()
		switch {
		case x == "0" && y != "0":
			return -1
		case y == "0" && x != "0":
			return 1
		case x != "0":
			if sign := o.Compare(x, y); sign != 0 {
				return sign
			}
		}
		return cmp.Compare(a.rank(), b.rank())
	})
	return events, limits, true
}

func (e Event) version() string { return cmp.Or(e.Introduced, e.Fixed, e.LastAffected, e.Limit) }

func (e Event) rank() int {
	if e.Introduced != "" {
		return 0
	}
	return 1
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

// lowestFix returns the lowest fixed version above one that none of the records
// affects: of all of them where there is one that fixes them all, else of the
// first group alone. It is empty where none is known.
func lowestFix(o Order, version string, first, all []*Affected) string {
	if !o.IsVersion(version) {
		return ""
	}
	for _, records := range [][]*Affected{all, first} {
		var candidates []string
		for _, a := range records {
			for _, f := range a.Fixes() {
				if o.IsVersion(f) && o.Compare(f, version) > 0 {
					candidates = append(candidates, f)
				}
			}
		}
		slices.SortFunc(candidates, o.Compare)
		for _, c := range candidates {
			if !slices.ContainsFunc(records, func(a *Affected) bool { return a.affects(o, c) }) {
				return c
			}
		}
	}
	return ""
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
	if len(parts) == 0 && len(a.Versions) > 0 {
		parts = append(parts, strings.Join(a.Versions[:min(len(a.Versions), 20)], ", "))
	}
	return strings.Join(parts, " ")
}
