package account

import (
	"context"
	"encoding/json"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/redoubt/redoubt/internal/model"
	"github.com/redoubt/redoubt/internal/store"
	"github.com/redoubt/redoubt/internal/web/ui"
)

// auditPage is the number of audit events on a page.
const auditPage = 50

// auditRow is an audit event with its links.
type auditRow struct {
	model.AuditEvent
	Detail []auditMember
	Actor  string // address of the page that lists only this actor's events
}

// auditMember is a value that an event changed.
type auditMember struct{ Name, Before, After string }

// auditView is a page of the audit log.
type auditView struct {
	Rows    []auditRow
	Actions []string
	Action  string
	By      model.Actor
	Older   string // address of the next page; empty on the last
	Newest  string // address of the first page; empty on it
}

// audit shows the audit log, newest first.
func audit(req *ui.Request) error {
	q := req.HTTP.URL.Query()
	f := store.AuditFilter{
		Action: q.Get("action"),
		By:     model.Actor{Kind: q.Get("kind"), ID: q.Get("id"), Name: q.Get("name")},
	}
	if text := q.Get("before"); text != "" {
		n, err := strconv.ParseInt(text, 10, 64)
		if err != nil || n <= 0 {
			return model.Invalid("before", "invalid event number %.20q", text)
		}
		f.Before = n
	}
	s := auditView{Action: f.Action, By: f.By}
	var events []model.AuditEvent
	err := req.View(func(ctx context.Context, tx *store.Tx) (err error) {
		if s.Actions, err = tx.AuditActions(ctx); err != nil {
			return err
		}
		events, err = tx.AuditPage(ctx, f, auditPage+1)
		return err
	})
	if err != nil {
		return err
	}
	if f.Before > 0 {
		s.Newest = auditAddress(req, f.Action, f.By, 0)
	}
	if len(events) > auditPage {
		events = events[:auditPage]
		s.Older = auditAddress(req, f.Action, f.By, events[auditPage-1].ID)
	}
	for _, e := range events {
		s.Rows = append(s.Rows, auditRow{e, differences(e.Before, e.After), auditAddress(req, f.Action, e.By, 0)})
	}
	return req.Show(http.StatusOK, ui.Page{Template: "audit", Title: "Audit log", Section: "audit", Data: s})
}

func auditAddress(req *ui.Request, action string, by model.Actor, before int64) string {
	q := url.Values{}
	for name, value := range map[string]string{"action": action, "kind": by.Kind, "id": by.ID, "name": by.Name} {
		if value != "" {
			q.Set(name, value)
		}
	}
	if before > 0 {
		q.Set("before", strconv.FormatInt(before, 10))
	}
	address := req.To("/settings/audit")
	if len(q) > 0 {
		address += "?" + q.Encode()
	}
	return address
}

// differences returns the changed members of two JSON objects, sorted by name.
func differences(before, after string) []auditMember {
	was, is := map[string]json.RawMessage{}, map[string]json.RawMessage{}
	_ = json.Unmarshal([]byte(before), &was) // empty for a new object
	_ = json.Unmarshal([]byte(after), &is)
	names := map[string]bool{}
	for name := range was {
		names[name] = true
	}
	for name := range is {
		names[name] = true
	}
	list := make([]auditMember, 0, len(names))
	for name := range names {
		list = append(list, auditMember{name, plainJSON(was[name]), plainJSON(is[name])})
	}
	slices.SortFunc(list, func(a, b auditMember) int { return strings.Compare(a.Name, b.Name) })
	return list
}

// plainJSON formats a JSON value for people: a string without quotes, a time in UTC, a list of
// strings with commas, and other values unchanged.
func plainJSON(raw json.RawMessage) string {
	var at time.Time
	if json.Unmarshal(raw, &at) == nil && !at.IsZero() {
		return at.UTC().Format("2006-01-02 15:04 UTC")
	}
	var text string
	if json.Unmarshal(raw, &text) == nil {
		return text
	}
	var list []string
	if json.Unmarshal(raw, &list) == nil {
		return strings.Join(list, ", ")
	}
	return string(raw)
}
