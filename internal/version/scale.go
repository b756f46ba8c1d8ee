package version

import "slices"

// Scale parses versions, each distinct one once, sorts them once, and returns
// where any version stands among them: 2i+1 if it is a spelling of the i-th
// lowest, counted from 0, and 2i if it lies below that and above the one before.
// Places compare as Compare does wherever one of the two is on the scale. What
// is not a version there has place 0 and is not ok. The function is safe for
// concurrent use; it parses only what was not handed to Scale.
func (o Order) Scale(versions []string) func(version string) (place int, ok bool) {
	return newScale(o.parse, versions).place
}

// scale is a sorted list of versions, of those with several spellings one each.
type scale struct {
	parse  func(string) (parsed, bool)
	sorted []parsed
	places map[string]int // of what it was made of; 0 where that is no version
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
