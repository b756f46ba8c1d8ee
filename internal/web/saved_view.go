package web

// viewWord names a saved view in the address of a findings page.
const viewWord = "view"

// kept is the state as a saved view keeps it: without where one is in the list.
func (s *search) kept() string {
	q := s.params()
	for _, name := range []string{viewWord, "page", "finding", "facet"} {
		q.Del(name)
	}
	return q.Encode()
}
