package web

import (
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/redoubt/redoubt/internal/model"
)

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

// lists returns the values that let newsOf follow a findings page.
func (s *search) lists() url.Values {
	return url.Values{"type": {s.product.Type.String()}, "query": {s.addressed().Encode()}}
}
