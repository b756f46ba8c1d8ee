package version

import "slices"

// Scale sorts versions and returns a function that returns the rank of any version among them. The
// rank of the i-th lowest version, counted from 0, is 2i+1. A version between it and the previous
// one has rank 2i. Ranks compare as Compare does if at least one of the two versions is on the
// scale. An invalid version has rank 0 and ok is false. Each version on the scale is parsed once.
// The function is safe for concurrent use.
func (o Order) Scale(versions []string) func(version string) (rank int, ok bool) {
	return newScale(o.parse, versions).rank
}

// scale is a sorted list of versions without duplicates.
type scale struct {
	parse  func(string) (parsed, bool)
	sorted []parsed
	ranks  map[string]int // ranks of the versions passed to newScale; 0 if invalid
}

func newScale(parse func(string) (parsed, bool), versions []string) *scale {
	s := &scale{parse: parse, ranks: make(map[string]int, len(versions))}
	type spelling struct {
		text    string
		version parsed
	}
	var spellings []spelling
	for _, text := range versions {
		if _, known := s.ranks[text]; known {
			continue
		}
		s.ranks[text] = 0
		if v, ok := parse(text); ok {
			spellings = append(spellings, spelling{text, v})
		}
	}
	slices.SortFunc(spellings, func(a, b spelling) int { return a.version.compare(b.version) })
	for i, one := range spellings {
		if i == 0 || one.version.compare(spellings[i-1].version) != 0 {
			s.sorted = append(s.sorted, one.version)
		}
		s.ranks[one.text] = 2*len(s.sorted) - 1
	}
	return s
}

func (s *scale) rank(version string) (int, bool) {
	if rank, known := s.ranks[version]; known {
		return rank, rank > 0
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
