package version

import "slices"

// Scale sorts versions and returns a function that returns the place of any version among them. The
// place of the i-th lowest version, counted from 0, is 2i+1. A version between it and the previous
// one has place 2i. Places compare as Compare does if at least one of the two versions is on the
// scale. An invalid version has place 0 and ok is false. Each version on the scale is parsed once.
// The function is safe for concurrent use.
func (o Order) Scale(versions []string) func(version string) (place int, ok bool) {
	return newScale(o.parse, versions).place
}

// scale is a sorted list of versions without duplicates.
type scale struct {
	parse  func(string) (parsed, bool)
	sorted []parsed
	places map[string]int // places of the versions passed to newScale; 0 if invalid
}

func newScale(parse func(string) (parsed, bool), versions []string) *scale {
	s := &scale{parse: parse, places: make(map[string]int, len(versions))}
	type spelling struct {
		text    string
		version parsed
	}
	var spellings []spelling
	for _, text := range versions {
		if _, known := s.places[text]; known {
			continue
		}
		s.places[text] = 0
		if v, ok := parse(text); ok {
			spellings = append(spellings, spelling{text, v})
		}
	}
	slices.SortFunc(spellings, func(a, b spelling) int { return a.version.compare(b.version) })
	for i, one := range spellings {
		if i == 0 || one.version.compare(spellings[i-1].version) != 0 {
			s.sorted = append(s.sorted, one.version)
		}
		s.places[one.text] = 2*len(s.sorted) - 1
	}
	return s
}

func (s *scale) place(version string) (int, bool) {
	if place, known := s.places[version]; known {
		return place, place > 0
	}
	v, ok := s.parse(version)
	if !ok {
		return 0, false
	}
	i, equal := slices.BinarySearchFunc(s.sorted, v, parsed.compare)
	if equal {
		return 2*i + 1, true
	}
	return 2 * i, true
}
