package inventory

// idSetPage is how many ids one page of an idSet covers.
const idSetPage = 4096

// idSet is a set of ids that costs little where they lie close together, and to which
// the answer is a look into a small map.
type idSet struct {
	pages map[int64]*[idSetPage / 64]uint64
	Few   []int64 // the ids that were added, unless there are more than fewIDs
	N     int
}

// fewIDs bounds the sets whose ids are looked up one by one.
const fewIDs = 100

// Add puts in an id that is not there.
func (s *idSet) Add(id int64) {
	page := s.pages[id/idSetPage]
	if page == nil {
		if s.pages == nil {
			s.pages = map[int64]*[idSetPage / 64]uint64{}
		}
		page = new([idSetPage / 64]uint64)
		s.pages[id/idSetPage] = page
	}
	page[id%idSetPage/64] |= 1 << (id % 64)
	if s.N++; s.N <= fewIDs {
		s.Few = append(s.Few, id)
	}
}

func (s *idSet) Has(id int64) bool {
	page := s.pages[id/idSetPage]
	return page != nil && id >= 0 && page[id%idSetPage/64]&(1<<(id%64)) != 0
}
