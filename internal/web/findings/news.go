package findings

import (
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/redoubt/redoubt/internal/model"
	"github.com/redoubt/redoubt/internal/web/component"
	"github.com/redoubt/redoubt/internal/web/ui"
)

// showNews renders the changes since a page was opened.
func showNews(req *ui.Request) error {
	if !req.Partial() {
		req.Redirect(req.To("/overview"))
		return nil
	}
	q, bad := req.HTTP.URL.Query(), &model.InvalidError{}
	version, at := parseNonNegative(q, "version", bad), parseNonNegative(q, "at", bad)
	had := int(parseNonNegative(q, "had", bad))
	if len(bad.Fields) > 0 {
		return bad
	}
	view, err := req.Findings()
	if err != nil {
		return err
	}
	if view.Version() == version {
		req.Writer.WriteHeader(http.StatusNoContent)
		return nil
	}
	filters, s, err := followedFilters(req, q)
	if err != nil {
		return err
	}
	n := component.News{Self: req.To("/overview"), Address: req.HTTP.URL.Path + "?" +
		strings.Replace(req.HTTP.URL.RawQuery, "version="+ui.Decimal(version), "version="+ui.Decimal(view.Version()), 1)}
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
	if had == 0 && total > 0 { // reload, as the page shows no findings
		req.Writer.Header().Set("HX-Refresh", "true")
	}
	n.New, n.Gone = fresh, had+fresh-total
	n.Words = newsWords(n.New, n.Gone)
	return req.Show(http.StatusOK, ui.Page{Template: "overview", Data: n, Part: "newspart"})
}

// followedFilters returns the filters of the requesting page: a findings page or, without a type,
// the overview.
func followedFilters(req *ui.Request, q url.Values) ([]model.FindingFilter, *search, error) {
	if q.Get("type") == "" {
		filters := make([]model.FindingFilter, len(ui.Products))
		for i, p := range ui.Products {
			filters[i] = ui.AllFindings(p)
			filters[i].Statuses = []model.Status{model.StatusOpen}
		}
		return filters, nil, nil
	}
	t, ok := model.ParseIssueType(q.Get("type"))
	if !ok {
		return nil, nil, model.Invalid("type", "must be sast, sca or secrets")
	}
	query, err := url.ParseQuery(q.Get("query"))
	if err != nil {
		return nil, nil, model.Invalid("query", "is not a valid query")
	}
	s, err := searched(req, ui.ProductOf(t), query)
	if err != nil {
		return nil, nil, err
	}
	return []model.FindingFilter{s.filter}, s, nil
}

// lists returns the parameters with which NewsOf follows a findings page.
func (s *search) lists() url.Values {
	return url.Values{"type": {s.product.Type.String()}, "query": {s.addressed().Encode()}}
}

// newsWords describes the numbers of new and resolved findings; empty for none.
func newsWords(fresh, gone int) string {
	var parts []string
	if fresh > 0 {
		parts = append(parts, ui.Count(fresh)+" new")
	}
	if gone > 0 {
		parts = append(parts, ui.Count(gone)+" removed")
	}
	if len(parts) == 0 {
		return ""
	}
	return strings.Join(parts, ", ") + " since this page was loaded"
}

// parseNonNegative parses a non-negative integer.
func parseNonNegative(q url.Values, name string, bad *model.InvalidError) int64 {
	n, err := strconv.ParseInt(q.Get(name), 10, 64)
	if err != nil || n < 0 || n > 1<<53 {
		bad.Fields = append(bad.Fields, model.FieldError{
			Location: name, Message: "must be a whole number", Value: q.Get(name),
		})
	}
	return n
}
