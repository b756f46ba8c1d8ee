package hosts

import (
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/redoubt/redoubt/internal/model"
)

// TestTicketTextRespectsLengthLimit checks that a ticket with many long paths is shortened:
// hosts reject texts over their limit.
func TestTicketTextRespectsLengthLimit(t *testing.T) {
	o := order{project: "acme/payments"}
	for range 60 {
		o.items = append(o.items, ticketItem{item: item{
			finding: 1, rule: strings.Repeat("rule.", 200), path: strings.Repeat("a#b@c!", 600), line: 1, severity: model.SeverityHigh, message: strings.Repeat("Why it matters. ", 4000),
		}, ref: "refs/heads/" + strings.Repeat("b", 200)})
	}
	d := o.draft("https://redoubt.example/acme")
	if n := utf8.RuneCountInString(d.Title); n > maxTicketTitle+1 {
		t.Errorf("the title has %d signs", n)
	}
	size := 0
	for _, p := range d.Parts {
		size += len(p.Name) + len(p.Text) + len(p.URL)
	}
	if size > 16_000 || len(d.Markdown) > 32_000 {
		t.Errorf("the parts have %d bytes, the Markdown %d", size, len(d.Markdown))
	}
}
