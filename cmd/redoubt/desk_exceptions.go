package main

import (
	"cmp"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/redoubt/redoubt"
	"github.com/redoubt/redoubt/api"
)

type exceptionsCmd struct {
	Ask      exceptionsAskCmd      `cmd:"" help:"Ask to have findings ignored, for a while. Whoever may look may ask."`
	List     exceptionsListCmd     `cmd:"" help:"List what people asked for, the newest first: what waits to be decided."`
	Approve  exceptionsApproveCmd  `cmd:"" help:"Ignore what somebody asked about, until a day."`
	Refuse   exceptionsRefuseCmd   `cmd:"" help:"Refuse what somebody asked for, and say why."`
	Withdraw exceptionsWithdrawCmd `cmd:"" help:"Take back what you asked for."`
}

type exceptionsAskCmd struct {
	webAPI
	IDs    []int64 `arg:"" name:"id" help:"Ids of the findings, all of one project."`
	Reason string  `help:"Why they should be ignored." required:"" placeholder:"TEXT"`
	As     string  `help:"What they would show: acceptable_risk, false_positive or no_time." enum:"acceptable_risk,false_positive,no_time,no_triage_reason" default:"acceptable_risk" placeholder:"REASON"`
	Until  string  `help:"The last day that you wish, in UTC, as 2027-01-31." placeholder:"DAY"`
}

// Run asks.
func (c exceptionsAskCmd) Run(a *app) error {
	client, deployment, err := c.connect(a)
	if err != nil {
		return err
	}
	ask := api.AskExceptionRequest{Reason: c.Reason, TriageReason: c.As, Until: c.Until}
	for _, id := range c.IDs {
		ask.IssueIDs = append(ask.IssueIDs, api.Int(id))
	}
	answer, err := client.AskException(a.ctx, deployment, ask)
	if err != nil {
		return err
	}
	return c.printExceptionRequests(a, answer.Request)
}

type exceptionsListCmd struct {
	webAPI
	State string `help:"open, approved, refused, withdrawn, ended or any." enum:"open,approved,refused,withdrawn,ended,any" default:"open" placeholder:"STATE"`
	Mine  bool   `help:"Only what you asked for."`
	Limit int    `help:"List at most this many." default:"100" placeholder:"N"`
}

// Run lists requests.
func (c exceptionsListCmd) Run(a *app) error {
	client, deployment, err := c.connect(a)
	if err != nil {
		return err
	}
	if c.Limit < 1 {
		return errors.New("--limit must be 1 or more")
	}
	q := api.ExceptionRequestsQuery{State: strings.TrimSuffix(c.State, "any"), Mine: c.Mine}
	var list []api.ExceptionRequest
	for len(list) < c.Limit {
		q.Limit = int64(min(c.Limit-len(list), 500))
		page, err := client.ListExceptionRequests(a.ctx, deployment, q)
		if err != nil {
			return err
		}
		list = append(list, page.Requests...)
		if q.Cursor = page.Cursor; q.Cursor == "" {
			break
		}
	}
	if err := c.printExceptionRequests(a, list...); err != nil || q.Cursor == "" {
		return err
	}
	_, err = fmt.Fprintf(a.err, "more: %d shown, list further with --limit N\n", len(list))
	return err
}

// printExceptionRequests tells requests in a line each.
func (w webAPI) printExceptionRequests(a *app, list ...api.ExceptionRequest) error {
	rows, items := [][]string{}, []any{}
	day := func(t *api.Time) string {
		if t == nil {
			return "-"
		}
		return redoubt.LastDay(t.Time)
	}
	for _, r := range list {
		ids := make([]string, len(r.IssueIDs))
		for i, id := range r.IssueIDs {
			ids[i] = strconv.FormatInt(id, 10)
		}
		end := r.Until
		if r.State == "approved" {
			end = r.GrantedUntil
		}
		rows = append(rows, []string{strconv.FormatInt(r.ID, 10), r.State, r.Project, strings.Join(ids, " "), day(end), r.AskedBy, r.Reason, cmp.Or(r.Answer, "-")})
		items = append(items, r)
	}
	return w.print(a, "ID STATE PROJECT FINDINGS UNTIL BY REASON ANSWER", rows, items)
}

// ofExceptionRequest is a command about one request.
type ofExceptionRequest struct {
	Request int64 `arg:"" help:"Id of the request."`
}

type exceptionsApproveCmd struct {
	webAPI
	ofExceptionRequest
	Until   string `help:"The last day of it, in UTC, as 2027-01-31; without it, the day that was wished." placeholder:"DAY"`
	Forever bool   `help:"It never expires."`
	Answer  string `help:"What to say. It becomes the comment on the findings." placeholder:"TEXT"`
}

// Run approves a request.
func (c exceptionsApproveCmd) Run(a *app) error {
	client, deployment, err := c.connect(a)
	if err != nil {
		return err
	}
	answer, err := client.ApproveException(a.ctx, deployment, c.Request, api.ApproveExceptionRequest{Until: c.Until, Forever: c.Forever, Answer: c.Answer})
	if err != nil {
		return err
	}
	return c.printExceptionRequests(a, answer.Request)
}

type exceptionsRefuseCmd struct {
	webAPI
	ofExceptionRequest
	Answer string `help:"Why, for who asked." required:"" placeholder:"TEXT"`
}

// Run refuses a request.
func (c exceptionsRefuseCmd) Run(a *app) error {
	client, deployment, err := c.connect(a)
	if err != nil {
		return err
	}
	answer, err := client.RefuseException(a.ctx, deployment, c.Request, api.RefuseExceptionRequest{Answer: c.Answer})
	if err != nil {
		return err
	}
	return c.printExceptionRequests(a, answer.Request)
}

type exceptionsWithdrawCmd struct {
	webAPI
	ofExceptionRequest
}

// Run withdraws a request.
func (c exceptionsWithdrawCmd) Run(a *app) error {
	client, deployment, err := c.connect(a)
	if err != nil {
		return err
	}
	answer, err := client.WithdrawException(a.ctx, deployment, c.Request)
	if err != nil {
		return err
	}
	return c.printExceptionRequests(a, answer.Request)
}
