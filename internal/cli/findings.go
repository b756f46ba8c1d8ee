// Package cli contains the commands that use the Web API, one file per noun, and redoubt login, man
// and completion. Results are printed as tables, JSON or CSV.
package cli

import (
	"cmp"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/redoubt/redoubt/api"
	"github.com/redoubt/redoubt/internal/cli/command"
	"github.com/redoubt/redoubt/internal/cli/webapi"
)

// FindingsCmd lists, shows and triages findings.
type FindingsCmd struct {
	List   FindingsListCmd   `cmd:"" default:"withargs" help:"List findings."`
	Show   findingsShowCmd   `cmd:"" help:"Show a finding."`
	Export findingsExportCmd `cmd:"" help:"Export findings as CSV, JSON Lines, SARIF or XLSX."`
	Triage findingsTriageCmd `cmd:"" help:"Triage findings."`
}

// coreRow returns the columns that code and supply-chain findings share.
func coreRow(f api.FindingCore) []string {
	return []string{strconv.FormatInt(f.ID, 10), f.Severity, f.Status, f.Repository.Name, shortBranch(f.Ref), f.RuleName}
}

// dueWord returns the last day before a finding is overdue, and marks overdue findings. It returns
// "-" without a due date.
func dueWord(f api.FindingCore) string {
	switch {
	case f.DueAt == nil:
		return webapi.NoDue
	case f.Overdue != nil && *f.Overdue:
		return f.DueAt.Format(time.DateOnly) + " (overdue)"
	}
	return f.DueAt.Format(time.DateOnly)
}

func locationText(l api.Location) string { return l.FilePath + ":" + strconv.FormatInt(l.Line, 10) }

func shortBranch(ref string) string { return cmp.Or(strings.TrimPrefix(ref, "refs/heads/"), "-") }

func lowerAfter(prefix, word string) string { return strings.ToLower(strings.TrimPrefix(word, prefix)) }

type findingsShowCmd struct {
	webapi.Flags
	ID int64 `arg:"" help:"Id of the finding."`
}

// Run shows one finding of any type.
func (c findingsShowCmd) Run(a *command.App) error {
	client, deployment, err := c.Connect(a)
	if err != nil {
		return err
	}
	answer, err := client.GetFinding(a.Ctx, deployment, c.ID)
	if err != nil {
		return err
	}
	f := answer.Finding
	rows := rowsOf(f)
	past, err := client.GetFindingHistory(a.Ctx, deployment, c.ID)
	if err != nil {
		return err
	}
	for _, o := range past.Others {
		rows = append(rows, []string{"elsewhere", fmt.Sprintf("%d on %s, %s", o.ID, shortBranch(o.Ref), o.Status)})
	}
	for _, e := range past.Events {
		rows = append(rows, []string{command.Day(e.At.Time), happened(e)})
	}
	return c.Print(a, "WHAT VALUE", rows, struct {
		api.Finding
		*api.FindingHistoryResponse
	}{f, past})
}

// rowsOf returns the properties of a finding, one per row.
func rowsOf(f api.Finding) [][]string {
	message := f.Rule.Message
	if f.RuleMessage != nil {
		message = *f.RuleMessage
	}
	rows := [][]string{
		{"finding", strconv.FormatInt(f.ID, 10)},
		{"rule", f.RuleName},
		{"message", strings.Join(strings.Fields(message), " ")},
		{"severity", command.SeverityWord(f.Severity, f.Unrated)},
		{"confidence", f.Confidence},
		{"status", f.Status},
		{"triage", f.TriageState},
		{"project", f.Repository.Name},
		{"ref", shortBranch(f.Ref)},
		{"where", locationText(f.Location)},
		{"link", cmp.Or(f.LineOfCodeURL, "-")},
		{"since", command.Day(f.RelevantSince.Time)},
	}
	optional := func(name string, value *string) {
		if value != nil && *value != "" {
			rows = append(rows, []string{name, *value})
		}
	}
	optional("reason", f.TriageReason)
	optional("note", f.TriageComment)
	optional("until", &f.TriageUntil)
	optional("assignee", &f.Assignee)
	if f.DueAt != nil {
		rows = append(rows, []string{"due", dueWord(f.FindingCore)})
	}
	if d := f.FoundDependency; d != nil {
		rows = append(rows, []string{
			"dependency", fmt.Sprintf("%s %s (%s, %s)", d.Package, d.Version, d.Ecosystem, d.Transitivity),
		}, []string{"reachability", f.Reachability})
		optional("vulnerability", f.VulnerabilityIdentifier)
		for _, fix := range f.FixRecommendations {
			rows = append(rows, []string{"fix", fix.Package + " " + fix.Version})
		}
	}
	optional("secret", f.SecretType)
	if t := f.ExternalTicket; t != nil {
		rows = append(rows, []string{"ticket", t.ExternalSlug + " " + t.URL})
	}
	return rows
}

// happened describes an event of a finding in one line.
func happened(e api.FindingEvent) string {
	text := e.Kind
	switch {
	case e.Kind == "triaged":
		text = decision(e) + " by " + strings.TrimSpace(e.By.Kind+" "+e.By.Name)
	case e.From != nil && e.To != nil:
		text += fmt.Sprintf(" from %s:%d to %s:%d", e.From.Path, e.From.Line, e.To.Path, e.To.Line)
	case e.FindingID != 0:
		text += fmt.Sprintf(", see finding %d", e.FindingID)
	}
	if e.Note != "" {
		text += ": " + strings.Join(strings.Fields(e.Note), " ")
	}
	return text
}

// decision describes a triage change.
func decision(e api.FindingEvent) string {
	var changes []string
	before, after := *e.Before, *e.After
	if before.Assignee != after.Assignee {
		changes = append(changes, "assigned to "+cmp.Or(after.Assignee, "no user"))
	}
	if before.Assignee = after.Assignee; before != after {
		what := after.TriageState
		if after.TriageReason != "" {
			what += ", " + after.TriageReason
		}
		if after.TriageUntil != "" {
			what += ", until " + after.TriageUntil
		}
		changes = append(changes, what)
	}
	return cmp.Or(strings.Join(changes, "; "), "commented")
}

type findingsTriageCmd struct {
	webapi.Flags
	IDs    []int64 `arg:"" name:"id" help:"Ids of findings of one type."`
	Type   string  `help:"Type: sast (code), sca (supply chain) or secrets." enum:"sast,sca,secrets" default:"sast" placeholder:"TYPE"`
	State  string  `help:"New state: ignored, reviewing, fixing or reopened." enum:",ignored,reviewing,fixing,reopened" default:"" placeholder:"STATE"`
	Reason string  `help:"Triage reason: acceptable_risk, false_positive or no_time." enum:",acceptable_risk,false_positive,no_time,no_triage_reason" default:"" placeholder:"REASON"`
	Note   string  `help:"Comment on the findings." placeholder:"TEXT"`
	Until  string  `help:"Last day before reopening, such as 2027-01-31." placeholder:"DAY"`
	Assign *string `help:"Username of the assignee; empty to unassign." placeholder:"USER"`
	DryRun bool    `help:"Print the number of affected findings without changes."`
}

// Run triages findings, on all their refs.
func (c findingsTriageCmd) Run(a *command.App) error {
	client, deployment, err := c.Connect(a)
	if err != nil {
		return err
	}
	r := api.TriageRequest{
		IssueType: c.Type, NewTriageState: c.State, NewTriageReason: c.Reason,
		NewNote: c.Note, NewTriageUntil: c.Until, NewAssignee: c.Assign, DryRun: c.DryRun,
	}
	for _, id := range c.IDs {
		r.IssueIDs = append(r.IssueIDs, api.Int(id))
	}
	answer, err := client.TriageFindings(a.Ctx, deployment, r)
	if err != nil {
		return err
	}
	if c.Output == "table" {
		done := "triaged"
		if c.DryRun {
			done = "would triage"
		}
		_, err = fmt.Fprintf(a.Out, "%s %d findings on all their refs\n", done, answer.NumTriaged)
	} else {
		rows := [][]string{}
		for _, id := range answer.TriagedIssues {
			rows = append(rows, []string{strconv.FormatInt(id, 10)})
		}
		err = c.Print(a, "ID", rows, answer)
	}
	if missing := c.missing(answer.TriagedIssues); err == nil && len(missing) > 0 {
		err = fmt.Errorf("%s findings not found: %s", c.Type, strings.Join(missing, ", "))
	}
	return err
}

// missing returns the requested ids that were not found.
func (c findingsTriageCmd) missing(done []int64) (ids []string) {
	found := map[int64]bool{}
	for _, id := range done {
		found[id] = true
	}
	for _, id := range c.IDs {
		if !found[id] {
			ids = append(ids, strconv.FormatInt(id, 10))
		}
	}
	return ids
}
