package web

import (
	"net/url"

	"github.com/redoubt/redoubt/internal/model"
)

// pageOf is the page of a list that an address asks for, from 1.
func pageOf(q url.Values) (int, error) {
	bad := &model.InvalidError{}
	page := max(number(q, "page", bad), 1)
	if len(bad.Fields) > 0 {
		return 0, bad
	}
	return page, nil
}

// pager leads through the pages of a list.
type pager struct {
	From, To, Total int
	Previous, Next  string // addresses; empty at the ends
	Page, Pages     int
	Noun            string
}

// newPager is the pager of a page, from 1, of a list.
func newPager(page, size, total int, address func(int) string) pager {
	p := pager{
		Page:  page,
		Pages: max((total+size-1)/size, 1),
		Total: total,
		From:  min((page-1)*size+1, total),
		To:    min(page*size, total),
	}
	if page > 1 {
		p.Previous = address(min(page-1, p.Pages))
	}
	if page < p.Pages {
		p.Next = address(page + 1)
	}
	return p
}

// perPage is how many rows a page lists.
const perPage = 50
