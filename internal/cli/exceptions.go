package cli

import (
	"cmp"
	"errors"
	"fmt"
	"iter"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/redoubt/redoubt/api"
	"github.com/redoubt/redoubt/internal/cli/command"
	"github.com/redoubt/redoubt/internal/cli/webapi"
	"github.com/redoubt/redoubt/internal/model"
)

// ExceptionsCmd manages exceptions.
type ExceptionsCmd struct {
	List     ExceptionsListCmd     `cmd:"" default:"withargs" help:"List exceptions, newest first."`
	Show     exceptionsShowCmd     `cmd:"" help:"Show an exception or a VEX document."`
	Create   exceptionsCreateCmd   `cmd:"" help:"Ignore present and future findings of a rule or vulnerability."`
	Delete   exceptionsDeleteCmd   `cmd:"" help:"End an active exception and reopen its findings."`
	Import   exceptionsImportCmd   `cmd:"" help:"Import VEX documents for multiple projects."`
	Request  exceptionsRequestCmd  `cmd:"" help:"Request an exception; viewers are also allowed to."`
	Approve  exceptionsApproveCmd  `cmd:"" help:"Approve requested exceptions or proposed VEX documents."`
	Refuse   exceptionsRefuseCmd   `cmd:"" help:"Refuse requested exceptions."`
	Withdraw exceptionsWithdrawCmd `cmd:"" help:"Withdraw your exception requests."`
}

const exceptionColumns = "ID STATE TARGET WHERE UNTIL IGNORES BY REASON ANSWER"

// ExceptionsListCmd lists exceptions.
type ExceptionsListCmd struct {
	webapi.Flags
	webapi.Cut
	State string `help:"State: requested, active, refused, withdrawn, ended or any." enum:"requested,active,refused,withdrawn,ended,any" default:"any" placeholder:"STATE"`
	Kind  string `help:"Kind: target (rule or vulnerability), findings, document (VEX) or any." enum:"target,findings,document,any" default:"any" placeholder:"KIND"`
	Mine  bool   `help:"List only your own requests."`
}

// Run lists exceptions.
func (c ExceptionsListCmd) Run(a *command.App) error {
	if err := c.Check(); err != nil {
		return err
	}
	client, deployment, err := c.Connect(a)
	if err != nil {
		return err
	}
	chosen := func(flag string) string { return strings.TrimSuffix(flag, "any") }
	q := api.ExceptionsQuery{State: chosen(c.State), Kind: chosen(c.Kind), Mine: c.Mine, Limit: c.Page(c.Output, 1, 500)}
	return c.List(a, c.Cut, exceptionColumns, exceptionRows(client.Exceptions(a.Ctx, deployment, q)), nil)
}

func exceptionRows(list iter.Seq2[api.Exception, error]) iter.Seq2[webapi.Item, error] {
	return func(yield func(webapi.Item, error) bool) {
		for e, err := range list {
			if !yield(webapi.Item{Value: e, Row: exceptionRow(e)}, err) {
				return
			}
		}
	}
}

// exceptionRow returns the table row of an exception.
func exceptionRow(e api.Exception) []string {
	what, where, reason := e.Target, cmp.Or(e.Project, whereOf(e)), e.Reason
	switch {
	case e.Document != nil:
		what, reason = e.Document.Name, e.Document.Format+", "+webapi.Statements(int(e.Document.Statements))
		if e.Document.Ref != "" {
			where += " on " + strings.TrimPrefix(e.Document.Ref, "refs/heads/")
		}
	case e.Target == "":
		ids := make([]string, len(e.IssueIDs))
		for i, id := range e.IssueIDs {
			ids[i] = strconv.FormatInt(id, 10)
		}
		what = strings.Join(ids, " ")
	}
	return []string{
		strconv.FormatInt(e.ID, 10), e.State, what, where, untilOf(e),
		strconv.FormatInt(e.Ignores, 10), e.CreatedBy, reason, cmp.Or(e.Answer, "-"),
	}
}

// printExceptions prints exceptions, one per line.
func printExceptions(a *command.App, w webapi.Flags, list ...api.Exception) error {
	rows := make([][]string, len(list))
	for i, e := range list {
		rows[i] = exceptionRow(e)
	}
	return w.Print(a, exceptionColumns, rows, list)
}

// untilOf describes the end of an exception.
func untilOf(e api.Exception) string {
	if e.Until == nil {
		return "forever"
	}
	return (&model.Exception{Until: e.Until.Time}).UntilText()
}

// whereOf describes the projects and paths of an exception.
func whereOf(e api.Exception) string {
	return (&model.Exception{Projects: e.Projects, Paths: e.Paths}).Where()
}

type exceptionsCreateCmd struct {
	webapi.Flags
	Target       string   `arg:"" help:"Name of a rule, or id of a vulnerability (CVE, GHSA or other)."`
	Reason       string   `help:"Justification." required:"" placeholder:"TEXT"`
	Until        string   `help:"Last day in UTC, or a time; such as 2027-01-31 or 2027-01-31T12:00:00Z." placeholder:"DAY"`
	Forever      bool     `help:"Set no expiry date."`
	Path         []string `help:"Limit to matching paths or lockfiles (.gitignore syntax); repeatable, one match is enough." sep:"none" placeholder:"GLOB"`
	Project      []string `help:"Limit to matching projects: * matches all but /, ** everything; repeatable, one match is enough." sep:"none" placeholder:"GLOB"`
	TriageReason string   `help:"Triage reason: acceptable_risk, false_positive, no_time or no_triage_reason." enum:"acceptable_risk,false_positive,no_time,no_triage_reason" default:"acceptable_risk" placeholder:"REASON"`
}

// Run creates the exception. It applies to existing findings immediately.
func (c exceptionsCreateCmd) Run(a *command.App) error {
	if c.Forever == (c.Until != "") {
		return errors.New("missing or conflicting expiry: use either --until DAY or --forever")
	}
	client, deployment, err := c.Connect(a)
	if err != nil {
		return err
	}
	answer, err := client.CreateException(a.Ctx, deployment, api.CreateExceptionRequest{
		Target: c.Target, Reason: c.Reason, Until: c.Until, Forever: c.Forever,
		Paths: c.Path, Projects: c.Project, TriageReason: c.TriageReason,
	})
	if err != nil {
		return err
	}
	e := answer.Exception
	return printExceptionChange(a, c.Flags, answer, fmt.Sprintf("created exception %d: %s is ignored in %s until %s; %s",
		e.ID, e.Target, whereOf(e), untilOf(e), webapi.Decided(int(answer.Changed))))
}

// printExceptionChange prints a sentence about a change, or the exception for other formats than
// table.
func printExceptionChange(a *command.App, w webapi.Flags, answer *api.ExceptionChangeResponse, sentence string) error {
	if w.Output != "table" {
		return printExceptions(a, w, answer.Exception)
	}
	_, err := fmt.Fprintln(a.Out, sentence)
	return err
}

// noException adds a hint to the error about an exception that does not exist or has another state.
func noException(id int64, what string, err error) error {
	if p, is := errors.AsType[*api.Problem](err); is && p.Status == http.StatusNotFound {
		return fmt.Errorf("%s %d not found: run redoubt exceptions list", what, id)
	}
	return err
}

type exceptionsShowCmd struct {
	webapi.Flags
	ID int64 `arg:"" help:"Id of the exception."`
}

// Run shows an exception. For a VEX document it includes the statements.
func (c exceptionsShowCmd) Run(a *command.App) error {
	client, deployment, err := c.Connect(a)
	if err != nil {
		return err
	}
	answer, err := client.GetException(a.Ctx, deployment, c.ID, api.ExceptionQuery{Limit: 1})
	if err != nil {
		return noException(c.ID, "exception", err)
	}
	d := answer.Exception.Document
	if d == nil {
		return printExceptions(a, c.Flags, answer.Exception)
	}
	if c.Output == "table" {
		issued := "-"
		if d.IssuedAt != nil {
			issued = d.IssuedAt.UTC().Format(time.DateOnly)
		}
		fmt.Fprintf(a.Out, "%s %s, %s\nversion %d of %s, by %s, read from %s\nfor %s, since %s by %s\n\n",
			d.Format, d.Name, answer.Exception.State, d.Version, issued,
			cmp.Or(d.Author, "-"), cmp.Or(d.File, "-"), exceptionRow(answer.Exception)[3],
			answer.Exception.CreatedAt.UTC().Format(time.DateOnly), answer.Exception.CreatedBy)
	}
	return c.List(a, webapi.Cut{
		All: true,
	}, "VULNERABILITY PRODUCT STATUS TRIAGE DETAIL", func(yield func(webapi.Item, error) bool) {
		for s, err := range client.VEXStatements(a.Ctx, deployment, c.ID, api.ExceptionQuery{Limit: 500}) {
			row := []string{
				strings.Join(s.Vulnerabilities, " "), s.About, strings.TrimSpace(s.Status + " " + s.Justification),
				strings.TrimSpace(s.TriageState + " " + s.TriageReason), strings.Join(strings.Fields(s.Detail), " "),
			}
			if !yield(webapi.Item{Value: s, Row: row}, err) {
				return
			}
		}
	}, nil)
}

type exceptionsDeleteCmd struct {
	webapi.Flags
	ID int64 `arg:"" help:"Id of the exception."`
}

// Run ends the exception.
func (c exceptionsDeleteCmd) Run(a *command.App) error {
	client, deployment, err := c.Connect(a)
	if err != nil {
		return err
	}
	answer, err := client.DeleteException(a.Ctx, deployment, c.ID, api.DeleteExceptionQuery{})
	if err != nil {
		return noException(c.ID, "active exception", err)
	}
	e := answer.Exception
	what := "findings"
	switch {
	case e.Document != nil:
		what = e.Document.Name
	case e.Target != "":
		what = e.Target
	}
	return printExceptionChange(a, c.Flags, answer, fmt.Sprintf("deleted exception %d for %s in %s; %s",
		e.ID, what, exceptionRow(e)[3], webapi.Decided(int(answer.Changed))))
}

type exceptionsRequestCmd struct {
	webapi.Flags
	IDs    []int64 `arg:"" name:"id" help:"Ids of findings of one project."`
	Reason string  `help:"Justification." required:"" placeholder:"TEXT"`
	As     string  `help:"Triage reason: acceptable_risk, false_positive or no_time." enum:"acceptable_risk,false_positive,no_time,no_triage_reason" default:"acceptable_risk" placeholder:"REASON"`
	Until  string  `help:"Requested last day in UTC, such as 2027-01-31." placeholder:"DAY"`
}

// Run requests an exception.
func (c exceptionsRequestCmd) Run(a *command.App) error {
	client, deployment, err := c.Connect(a)
	if err != nil {
		return err
	}
	r := api.RequestExceptionRequest{Reason: c.Reason, TriageReason: c.As, Until: c.Until}
	for _, id := range c.IDs {
		r.IssueIDs = append(r.IssueIDs, api.Int(id))
	}
	answer, err := client.RequestException(a.Ctx, deployment, r)
	if err != nil {
		return err
	}
	return printExceptions(a, c.Flags, answer.Exception)
}

// ofExceptions is a command that decides about exceptions.
type ofExceptions struct {
	webapi.Flags
	IDs []int64 `arg:"" name:"id" help:"Ids of the exceptions."`
}

// decide sends a request for each exception and prints the results.
func (c ofExceptions) decide(
	a *command.App, call func(client *api.Client, deployment string, id int64) (*api.ExceptionChangeResponse, error),
) error {
	client, deployment, err := c.Connect(a)
	if err != nil {
		return err
	}
	var list []api.Exception
	for _, id := range c.IDs {
		answer, failed := call(client, deployment, id)
		if failed != nil {
			err = noException(id, "exception", failed)
			break
		}
		list = append(list, answer.Exception)
	}
	if len(list) > 0 {
		err = errors.Join(err, printExceptions(a, c.Flags, list...))
	}
	return err
}

type exceptionsApproveCmd struct {
	ofExceptions
	Until   string `help:"Last day in UTC, such as 2027-01-31 (default: as requested). Not for VEX documents." placeholder:"DAY"`
	Forever bool   `help:"Set no expiry date."`
	Answer  string `help:"Answer to the requester; becomes the comment on the findings." placeholder:"TEXT"`
}

// Run approves requests.
func (c exceptionsApproveCmd) Run(a *command.App) error {
	return c.decide(a, func(client *api.Client, deployment string, id int64) (*api.ExceptionChangeResponse, error) {
		return client.ApproveException(a.Ctx, deployment, id, api.ApproveExceptionRequest{
			Until:   c.Until,
			Forever: c.Forever,
			Answer:  c.Answer,
		})
	})
}

type exceptionsRefuseCmd struct {
	ofExceptions
	Answer string `help:"Reason for the requester; optional for VEX documents." placeholder:"TEXT"`
}

// Run refuses requests.
func (c exceptionsRefuseCmd) Run(a *command.App) error {
	return c.decide(a, func(client *api.Client, deployment string, id int64) (*api.ExceptionChangeResponse, error) {
		return client.RefuseException(a.Ctx, deployment, id, api.RefuseExceptionRequest{Answer: c.Answer})
	})
}

type exceptionsWithdrawCmd struct {
	ofExceptions
}

// Run withdraws requests.
func (c exceptionsWithdrawCmd) Run(a *command.App) error {
	return c.decide(a, func(client *api.Client, deployment string, id int64) (*api.ExceptionChangeResponse, error) {
		return client.WithdrawException(a.Ctx, deployment, id)
	})
}
