package findings

import (
	"slices"
	"strings"

	"github.com/redoubt/redoubt/internal/index"
	"github.com/redoubt/redoubt/internal/model"
	"github.com/redoubt/redoubt/internal/web/component"
)

// orderWords contains the display names of the orders, in menu order.
var orderWords = []struct {
	order index.Order
	label string
}{
	{index.MostSevere, "Severity"},
	{index.LeastSevere, "Least severe"},
	{index.Newest, "Newest"},
	{index.Oldest, "Oldest"},
	{index.Soonest, "Due date"},
	{index.LatestDue, "Due date, latest first"},
	{index.ExploitedFirst, "Known exploited first"},
	{index.MostLikely, "Highest EPSS"},
	{index.LeastLikely, "Lowest EPSS"},
	{index.MostReachable, "Most reachable"},
	{index.LeastReachable, "Least reachable"},
}

// readOrder validates the order. The default order is stored as "".
func (s *search) readOrder(bad *model.InvalidError) {
	var words []string
	for _, o := range index.Orders(s.product.Type) {
		words = append(words, o.String())
	}
	s.oneOf(&s.order, bad, "sort", words...)
	if s.order == index.MostSevere.String() {
		s.order = ""
	}
}

// column is an optional column of a list.
type column struct {
	key      string // also the value in the address
	label    string
	products model.Products
}

// columns lists the columns in display order.
var columns = []column{
	{"message", "Message", everything},
	{"project", "Project", everything},
	{"branch", "Branch", everything},
	{"assignee", "Assignee", everything},
	{"due", "Due date", everything},
	{"exploited", "Known exploited", supply},
	{"epss", "EPSS", supply},
	{"reachability", "Reachability", supply},
	{"validation", "Validation", secrets},
	{"age", "Age", everything},
}

// columnsOf returns the columns of a product.
func columnsOf(t model.IssueType) []column {
	return slices.DeleteFunc(slices.Clone(columns), func(c column) bool { return !c.products.Has(t) })
}

// readColumns validates the selected columns and sorts them in display order. A selection of all
// columns is stored as nil.
func (s *search) readColumns(bad *model.InvalidError) {
	var known, chosen []string
	for _, c := range columnsOf(s.product.Type) {
		known = append(known, c.key)
		if slices.Contains(s.columns, c.key) {
			chosen = append(chosen, c.key)
		}
	}
	for _, word := range s.columns {
		if !slices.Contains(known, word) {
			bad.Fields = append(bad.Fields, model.FieldError{
				Location: "columns",
				Message:  "must be any of " + strings.Join(known, ", "),
				Value:    word,
			})
		}
	}
	if s.columns = chosen; len(chosen) == len(known) {
		s.columns = nil
	}
}

// columnChoice is an option of the column menu.
type columnChoice struct {
	Key, Label string
	Chosen     bool
}

func (s *search) columnChoices() (out []columnChoice) {
	for _, c := range columnsOf(s.product.Type) {
		out = append(out, columnChoice{c.key, c.label, s.Shows(c.key)})
	}
	return out
}

// Unchosen returns the hidden fields of the form that selects columns.
func (s *search) Unchosen() []component.Param { return s.hidden(func(o *search) { o.columns = nil }) }

// Shows reports whether a column is visible.
func (s *search) Shows(key string) bool {
	return len(s.columns) == 0 || slices.Contains(s.columns, key)
}
