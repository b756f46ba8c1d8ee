package web

import (
	"context"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/redoubt/redoubt/internal/index"
	"github.com/redoubt/redoubt/internal/model"
	"github.com/redoubt/redoubt/internal/store"
)

// news tells on an open page what came since it was opened. The page itself
// stays as it is until its reader asks for more.
type news struct {
	Words   string // what is new or gone; empty while nothing is
	New     int    // as Words says it
	Gone    int
	Self    string // address of the page
	Address string // to ask again
}

// newsOf begins to follow a page that shows so many findings.
func newsOf(req *request, view *index.View, s *search, total int) (news, error) {
	var at time.Time // of the newest commit, or later: the clock alone may be behind it
	err := req.view(func(_ context.Context, tx *store.Tx) error {
		at = tx.Now()
		return nil
	})
	q := url.Values{
		"version": {decimal(view.Version())},
		"at":      {decimal(at.UnixMicro() + 1)},
		"had":     {strconv.Itoa(total)},
	}
	self := req.to("/overview")
	if s != nil {
		self = s.address()
		q.Set("type", s.product.Type.String())
		q.Set("query", s.addressed().Encode())
	}
	return news{Self: self, Address: req.to("/news?" + q.Encode())}, err
}

// showNews answers with what came since, or that there is nothing.
func showNews(req *request) error {
	if !req.partial() {
		req.redirect(req.to("/overview"))
		return nil
	}
	q, bad := req.r.URL.Query(), &model.InvalidError{}
	version, at, had := whole(q, "version", bad), whole(q, "at", bad), int(whole(q, "had", bad))
	if len(bad.Fields) > 0 {
		return bad
	}
	view, err := req.findings()
	if err != nil {
		return err
	}
	if view.Version() == version {
		req.w.WriteHeader(http.StatusNoContent)
		return nil
	}
	filters, s, err := followedFilters(req, q)
	if err != nil {
		return err
	}
	n := news{Self: req.to("/overview"), Address: req.r.URL.Path + "?" +
		strings.Replace(req.r.URL.RawQuery, "version="+decimal(version), "version="+decimal(view.Version()), 1)}
	if s != nil {
		n.Self = s.address()
	}
	total, fresh := 0, 0
	since := time.UnixMicro(at).UTC()
	for _, filter := range filters {
		total += view.Count(filter)
		if filter.Since.Before(since) {
			filter.Since = since
		}
		fresh += view.Count(filter)
	}
	fresh = max(fresh, total-had)
	if had == 0 && total > 0 { // there is nothing on the page to disturb
		req.w.Header().Set("HX-Refresh", "true")
	}
	n.New, n.Gone = fresh, had+fresh-total
	n.Words = newsWords(n.New, n.Gone)
	return req.show(http.StatusOK, pageView{Template: "overview", Data: n, Part: "newspart"})
}

// followedFilters are the filters of the page that asks: a findings page, or with no
// type the overview.
func followedFilters(req *request, q url.Values) ([]model.FindingFilter, *search, error) {
	if q.Get("type") == "" {
		filters := make([]model.FindingFilter, len(products))
		for i, p := range products {
			filters[i] = every(p)
			filters[i].Statuses = []model.Status{model.StatusOpen}
		}
		return filters, nil, nil
	}
	t, ok := model.ParseIssueType(q.Get("type"))
	if !ok {
		return nil, nil, model.Invalid("type", "is sast, sca or secrets")
	}
	query, err := url.ParseQuery(q.Get("query"))
	if err != nil {
		return nil, nil, model.Invalid("query", "is no query")
	}
	s, err := searched(req, productOf(t), query)
	if err != nil {
		return nil, nil, err
	}
	return []model.FindingFilter{s.filter}, s, nil
}

func newsWords(fresh, gone int) string {
	var parts []string
	if fresh > 0 {
		parts = append(parts, count(fresh)+" new")
	}
	if gone > 0 {
		parts = append(parts, count(gone)+" no longer here")
	}
	if len(parts) == 0 {
		return ""
	}
	return strings.Join(parts, ", ") + " since you opened this page"
}

// whole reads a number that is not negative.
func whole(q url.Values, name string, bad *model.InvalidError) int64 {
	n, err := strconv.ParseInt(q.Get(name), 10, 64)
	if err != nil || n < 0 || n > 1<<53 {
		bad.Fields = append(bad.Fields, model.FieldError{Location: name, Message: "is a whole number", Value: q.Get(name)})
	}
	return n
}
