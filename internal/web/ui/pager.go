package ui

import (
	"net/url"

	"github.com/redoubt/redoubt/internal/model"
)

// PageOf returns the page number in a query, starting at 1.
func PageOf(q url.Values) (int, error) {
	bad := &model.InvalidError{}
	page := max(Number(q, "page", bad), 1)
	if len(bad.Fields) > 0 {
		return 0, bad
	}
	return page, nil
}

// Pager contains the links between the pages of a list.
type Pager struct {
	From, To, Total int
	Previous, Next  string // addresses; empty at the first and last page
	Page, Pages     int
	Noun            string
}

// NewPager returns the pager for a page of a list. Pages start at 1.
func NewPager(page, size, total int, address func(int) string) Pager {
	p := Pager{
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

// PerPage is the number of rows on a page.
const PerPage = 50
