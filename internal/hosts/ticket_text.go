package hosts

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/redoubt/redoubt/internal/model"
	"github.com/redoubt/redoubt/internal/scm"
	"github.com/redoubt/redoubt/internal/store"
)

// Limits of the text of a ticket.
const (
	maxPlaces       = 20 // findings listed
	maxTicketTitle  = 200
	maxTicketReason = 3000
	maxTicketPart   = 300 // any other part; some hosts limit the text to 32,767 characters
)

// ticketItem is a finding of a ticket.
type ticketItem struct {
	item
	ref           string
	vulnerability string
	found         model.FoundDependency // of a dependency
	fixes         []model.Fix
}

func readTicketItem(ctx context.Context, tx *store.Tx, f model.Finding) (i ticketItem, err error) {
	i = ticketItem{
		item: item{finding: f.ID, rule: f.RuleName, path: f.Path, line: f.Line, severity: f.Severity},
		ref:  f.Ref,
	}
	bodies, err := tx.FindingBodies(ctx, []int64{f.ID})
	if err != nil {
		return i, err
	}
	var body struct {
		Message       *string               `json:"rule_message"`
		Fixes         []model.Fix           `json:"fix_recommendations"`
		Found         model.FoundDependency `json:"found_dependency"`
		Vulnerability *string               `json:"vulnerability_identifier"`
	}
	if members := bodies[f.ID].Body; len(members) > 0 {
		if err := json.Unmarshal([]byte("{"+string(members)+"}"), &body); err != nil {
			return i, fmt.Errorf("read finding %d: %w", f.ID, err)
		}
	}
	if body.Message != nil {
		i.message = *body.Message
	}
	if body.Vulnerability != nil {
		i.vulnerability = *body.Vulnerability
	}
	i.found, i.fixes = body.Found, body.Fixes
	return i, nil
}

// draft returns the text of a ticket: the findings, their places, reasons and remedies.
func (o order) draft(base string) scm.Draft {
	first := o.items[0]
	where := fmt.Sprintf("%s:%d", first.path, first.line)
	if n := len(o.items) - 1; n > 0 {
		where += fmt.Sprintf(" and %d more", n)
	}
	parts := []scm.Part{
		{Name: "Rule", Text: first.rule, Code: true},
		{Name: "Severity", Text: first.severity.String()},
		{Name: "Project", Text: o.project, Code: true},
	}
	if first.vulnerability != "" {
		parts = append(parts, scm.Part{Name: "Vulnerability", Text: first.vulnerability})
	}
	if first.found.Package != "" {
		parts = append(parts, scm.Part{Name: "Dependency", Text: first.found.Package + " " + first.found.Version, Code: true})
	}
	if first.message != "" {
		parts = append(parts, scm.Part{Name: "Why", Text: first.message})
	}
	if fix := upgrades(first.fixes); fix != "" {
		parts = append(parts, scm.Part{Name: "Fix", Text: fix})
	}
	for _, i := range o.items[:min(len(o.items), maxPlaces)] {
		parts = append(parts, scm.Part{
			Name: "Where",
			Text: fmt.Sprintf("%s:%d (%s)", i.path, i.line, strings.TrimPrefix(i.ref, "refs/heads/")),
			URL:  fmt.Sprintf("%s/findings/%d", base, i.finding),
		})
	}
	if more := len(o.items) - maxPlaces; more > 0 {
		parts = append(parts, scm.Part{Text: fmt.Sprintf("And %d more.", more)})
	}
	for i := range parts {
		most := maxTicketPart
		if parts[i].Name == "Why" {
			most = maxTicketReason
		}
		parts[i].Text = model.Shorten(model.Line(strings.Join(strings.Fields(parts[i].Text), " ")), most)
	}
	return scm.Draft{
		Title: title(fmt.Sprintf("[%s] %s in %s", first.severity, first.rule, where)), Parts: parts,
		Markdown: ticketMarkdown(parts, o.ticket.Marker),
	}
}

func upgrades(fixes []model.Fix) string {
	var list []string
	for _, f := range fixes[:min(len(fixes), 5)] {
		list = append(list, f.Package+" "+f.Version)
	}
	if len(list) == 0 {
		return ""
	}
	return "Upgrade to " + strings.Join(list, " or ")
}

// title returns a line without mentions: hosts detect names and numbers in titles, too.
func title(s string) string {
	named := strings.NewReplacer("@", "@\u200b", "#", "#\u200b", "!", "!\u200b").Replace(
		model.Shorten(model.Line(s), maxTicketTitle),
	)
	return model.Shorten(named, maxTicketTitle)
}

// ticketMarkdown formats parts as Markdown, with a hidden marker.
func ticketMarkdown(parts []scm.Part, marker string) string {
	var b strings.Builder
	for _, p := range parts {
		text := plain(p.Text, maxTicketReason)
		if p.Code {
			text = code(p.Text, maxTicketReason)
		}
		if p.URL != "" {
			text = "[" + code(p.Text, maxTicketReason) + "](" + p.URL + ")"
		}
		if p.Name != "" {
			text = "**" + p.Name + ":** " + text
		}
		b.WriteString(text + "\n\n")
	}
	return b.String() + "<!-- " + marker + " -->"
}
