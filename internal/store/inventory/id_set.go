package inventory

// idSetPage is the number of ids in one page of an idSet.
const idSetPage = 4096

// idSet is a set of ids as a paged bitmap. It needs little memory if ids are close to each other.
type idSet struct {
	pages map[int64]*[idSetPage / 64]uint64
	Few   []int64 // all ids, if there are at most fewIDs
	N     int
}

// fewIDs is the limit for queries by single ids.
const fewIDs = 100

// Add adds an id that is not in the set.
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
