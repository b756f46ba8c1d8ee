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
	List     exceptionsListCmd     `cmd:"" help:"List exceptions, the newest first: those that wait for a decision, that are active, and past ones."`
	Show     exceptionsShowCmd     `cmd:"" help:"Show an exception."`
	Create   exceptionsCreateCmd   `cmd:"" help:"Ignore what a rule or a vulnerability finds, now and later, until a day."`
	Delete   exceptionsDeleteCmd   `cmd:"" help:"End an active exception, and reopen what it ignored."`
	Request  exceptionsRequestCmd  `cmd:"" aliases:"ask" help:"Ask to have findings ignored, for a while. Viewers may ask."`
	Approve  exceptionsApproveCmd  `cmd:"" help:"Make a requested exception active, until a day."`
	Refuse   exceptionsRefuseCmd   `cmd:"" help:"Refuse a requested exception, and say why."`
	Withdraw exceptionsWithdrawCmd `cmd:"" help:"Take back what you asked for."`
}

type exceptionsListCmd struct {
	desk
	State string `help:"requested, active, refused, withdrawn, ended or any." enum:"requested,active,refused,withdrawn,ended,any" default:"any" placeholder:"STATE"`
	Mine  bool   `help:"Only what you asked for."`
	Limit int    `help:"List at most this many." default:"100" placeholder:"N"`
}

// Run lists exceptions.
func (c exceptionsListCmd) Run(a *app) error {
	client, deployment, err := c.connect(a)
	if err != nil {
		return err
	}
	if c.Limit < 1 {
		return errors.New("--limit must be 1 or more")
	}
	q := api.ExceptionsQuery{State: strings.TrimSuffix(c.State, "any"), Mine: c.Mine}
	var list []api.Exception
	for len(list) < c.Limit {
		q.Limit = int64(min(c.Limit-len(list), 500))
		page, err := client.ListExceptions(a.ctx, deployment, q)
		if err != nil {
			return err
		}
		list = append(list, page.Exceptions...)
		if q.Cursor = page.Cursor; q.Cursor == "" {
			break
		}
	}
	if err := c.printExceptions(a, list...); err != nil || q.Cursor == "" {
		return err
	}
	_, err = fmt.Fprintf(a.err, "more: %d shown, list further with --limit N\n", len(list))
	return err
}

// printExceptions prints exceptions, one on a line.
func (d desk) printExceptions(a *app, list ...api.Exception) error {
	rows, items := [][]string{}, []any{}
	for _, e := range list {
		what, where := e.Target, whereOf(e)
		if e.Target == "" {
			ids := make([]string, len(e.IssueIDs))
			for i, id := range e.IssueIDs {
				ids[i] = strconv.FormatInt(id, 10)
			}
			what, where = strings.Join(ids, " "), e.Project
		}
		rows = append(rows, []string{
			strconv.FormatInt(e.ID, 10), e.State, what, where, untilOf(e), strconv.FormatInt(e.Ignores, 10), e.CreatedBy, e.Reason, cmp.Or(e.Answer, "-"),
		})
		items = append(items, e)
	}
	return d.print(a, "ID STATE TARGET WHERE UNTIL IGNORES BY REASON ANSWER", rows, items)
}

// untilOf is when an exception ends.
func untilOf(e api.Exception) string {
	if e.Until == nil {
		return "forever"
	}
	return (&redoubt.Exception{Until: e.Until.Time}).UntilText()
}

// whereOf says where the exception of a target holds.
func whereOf(e api.Exception) string {
	return (&redoubt.Exception{Projects: e.Projects, Paths: e.Paths}).Where()
}

type exceptionsCreateCmd struct {
	desk
	Target       string   `arg:"" help:"A rule, by its name, or a vulnerability, by its CVE, GHSA or other id."`
	Reason       string   `help:"Why that is accepted." required:"" placeholder:"TEXT"`
	Until        string   `help:"The last day of it, in UTC, as 2027-01-31; or an instant, as 2027-01-31T12:00:00Z." placeholder:"DAY"`
	Forever      bool     `help:"It never expires."`
	Path         []string `help:"Only findings on paths, or in lockfiles, that fit, as in .gitignore. May be repeated: one of them is enough." sep:"none" placeholder:"GLOB"`
	Project      []string `help:"Only in projects whose name matches: * for anything but /, ** for anything. May be repeated: one of them is enough." sep:"none" placeholder:"GLOB"`
	TriageReason string   `help:"The reason that findings show: acceptable_risk, false_positive, no_time or no_triage_reason." enum:"acceptable_risk,false_positive,no_time,no_triage_reason" default:"acceptable_risk" placeholder:"REASON"`
}

// Run makes the exception, which ignores what is there at once.
func (c exceptionsCreateCmd) Run(a *app) error {
	if c.Forever == (c.Until != "") {
		return errors.New("say until when, with --until DAY, or --forever")
	}
	client, deployment, err := c.connect(a)
	if err != nil {
		return err
	}
	answer, err := client.CreateException(a.ctx, deployment, api.CreateExceptionRequest{
		Target: c.Target, Reason: c.Reason, Until: c.Until, Forever: c.Forever, Paths: c.Path, Projects: c.Project, TriageReason: c.TriageReason,
	})
	if err != nil {
		return err
	}
	e := answer.Exception
	return c.printed(a, answer, fmt.Sprintf("exception %d: %s is accepted in %s until %s; %s", e.ID, e.Target, whereOf(e), untilOf(e), decided(int(answer.Changed))))
}

// printed prints a sentence about a change, or the answer where the output is for programs.
func (d desk) printed(a *app, answer *api.ExceptionChangeResponse, sentence string) error {
	if d.Output != "table" {
		return d.printExceptions(a, answer.Exception)
	}
	_, err := fmt.Fprintln(a.out, sentence)
	return err
}

// ofException is a command about one exception.
type ofException struct {
	ID int64 `arg:"" help:"Id of the exception."`
}

type exceptionsShowCmd struct {
	desk
	ofException
}

// Run shows an exception.
func (c exceptionsShowCmd) Run(a *app) error {
	client, deployment, err := c.connect(a)
	if err != nil {
		return err
	}
	answer, err := client.GetException(a.ctx, deployment, c.ID, api.ExceptionQuery{})
	if err != nil {
		return err
	}
	return c.printExceptions(a, answer.Exception)
}

type exceptionsDeleteCmd struct {
	desk
	ofException
}

// Run ends the exception.
func (c exceptionsDeleteCmd) Run(a *app) error {
	client, deployment, err := c.connect(a)
	if err != nil {
		return err
	}
	answer, err := client.DeleteException(a.ctx, deployment, c.ID, api.DeleteExceptionQuery{})
	if p, is := errors.AsType[*api.Problem](err); is && p.Status == 404 {
		return fmt.Errorf("there is no active exception %d; redoubt exceptions list shows what there is", c.ID)
	}
	if err != nil {
		return err
	}
	e := answer.Exception
	what := e.Target
	if what == "" {
		what = "the findings"
	}
	return c.printed(a, answer, fmt.Sprintf("exception %d is removed: %s is no longer accepted in %s; %s", e.ID, what, cmp.Or(e.Project, whereOf(e)), decided(int(answer.Changed))))
}

type exceptionsRequestCmd struct {
	desk
	IDs    []int64 `arg:"" name:"id" help:"Ids of the findings, all of one project."`
	Reason string  `help:"Why they should be ignored." required:"" placeholder:"TEXT"`
	As     string  `help:"What they would show: acceptable_risk, false_positive or no_time." enum:"acceptable_risk,false_positive,no_time,no_triage_reason" default:"acceptable_risk" placeholder:"REASON"`
	Until  string  `help:"The last day that you wish, in UTC, as 2027-01-31." placeholder:"DAY"`
}

// Run asks.
func (c exceptionsRequestCmd) Run(a *app) error {
	client, deployment, err := c.connect(a)
	if err != nil {
		return err
	}
	r := api.RequestExceptionRequest{Reason: c.Reason, TriageReason: c.As, Until: c.Until}
	for _, id := range c.IDs {
		r.IssueIDs = append(r.IssueIDs, api.Int(id))
	}
	answer, err := client.RequestException(a.ctx, deployment, r)
	return c.decided(a, answer, err)
}

// decided prints the exception of an answer.
func (d desk) decided(a *app, answer *api.ExceptionChangeResponse, err error) error {
	if err != nil {
		return err
	}
	return d.printExceptions(a, answer.Exception)
}

type exceptionsApproveCmd struct {
	desk
	ofException
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
	answer, err := client.ApproveException(a.ctx, deployment, c.ID, api.ApproveExceptionRequest{Until: c.Until, Forever: c.Forever, Answer: c.Answer})
	return c.decided(a, answer, err)
}

type exceptionsRefuseCmd struct {
	desk
	ofException
	Answer string `help:"Why, for the person who asked." required:"" placeholder:"TEXT"`
}

// Run refuses a request.
func (c exceptionsRefuseCmd) Run(a *app) error {
	client, deployment, err := c.connect(a)
	if err != nil {
		return err
	}
	answer, err := client.RefuseException(a.ctx, deployment, c.ID, api.RefuseExceptionRequest{Answer: c.Answer})
	return c.decided(a, answer, err)
}

type exceptionsWithdrawCmd struct {
	desk
	ofException
}

// Run withdraws a request.
func (c exceptionsWithdrawCmd) Run(a *app) error {
	client, deployment, err := c.connect(a)
	if err != nil {
		return err
	}
	answer, err := client.WithdrawException(a.ctx, deployment, c.ID)
	return c.decided(a, answer, err)
}
