package ui

import (
	"net/url"

	"github.com/redoubt/redoubt/internal/model"
)

// PageOf is the page of a list that an address asks for, from 1.
func PageOf(q url.Values) (int, error) {
	bad := &model.InvalidError{}
	page := max(Number(q, "page", bad), 1)
	if len(bad.Fields) > 0 {
		return 0, bad
	}
	return page, nil
}

// Pager leads through the pages of a list.
type Pager struct {
	From, To, Total int
	Previous, Next  string // addresses; empty at the ends
	Page, Pages     int
	Noun            string
}

// NewPager is the pager of a page, from 1, of a list.
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

// PerPage is how many rows a page lists.
const PerPage = 50
