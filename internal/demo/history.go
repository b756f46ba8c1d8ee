package demo

import (
	"cmp"
	"crypto/sha1"
	"fmt"
	"slices"
	"time"

	"github.com/redoubt/redoubt/internal/model"
)

// Event is one event of the history. Besides the age and the person, exactly one field is set.
type Event struct {
	Age       time.Duration // before the start of the demo
	By        string        // name of the person; empty for CI and the server
	Scan      *Step
	Triage    *Triage
	Condition *model.PolicyCondition   // for the supply-chain policy
	Due       map[string]model.DueDays // new due days, by slug of the policy
	View      *model.SavedView         // a new shared view
	Exception *model.Exception         // Until is unset: Lasts is relative to the event
	Request   *ExceptionRequest        // Lasts is the requested end, relative to the event
	Comment   *Comment
	Lasts     time.Duration
	Block     []string // rules whose findings block builds from then on
	News      []string // directories and files of Samples: the advisories from then on
}

// Triage is a decision of a person about all findings of some rules.
type Triage struct {
	Type     model.IssueType
	Projects []string
	Rules    []string
	State    model.TriageState
	Reason   model.TriageReason
	Note     string
	Assignee string        // name of a person; empty: unchanged
	Lasts    time.Duration // relative to the event; 0: without end
}

// ExceptionRequest is a request for an exception for the open findings of a rule in a project.
type ExceptionRequest struct {
	Project, Rule string
	TriageReason  model.TriageReason
	Reason        string
}

// Comment is a comment on the newest open finding of a rule in a project.
type Comment struct{ Project, Rule, Text string }

// Person is a user of the demo.
type Person struct {
	Name, DisplayName string
	Role              model.Role
}

// Owner is the person responsible for the projects.
const Owner = "maya"

// People contains the persons in the history.
var People = []Person{
	{"maya", "Maya Okafor", model.RoleAdmin},
	{"jonas", "Jonas Weber", model.RoleTriager},
	{"ines", "Inês Duarte", model.RoleTriager},
	{"sam", "Sam Whitfield", model.RoleViewer},
}

// Rules lists the rule files of Samples that the scanners use.
var Rules = []string{
	"samples/rules/go.yaml", "samples/rules/infrastructure.yaml",
	"samples/rules/javascript.yaml", "samples/rules/python.yaml",
}

// decisions contains the events of people and advisories, oldest first.
var decisions = []Event{
	{Age: 149 * day, News: []string{
		"samples/advisories/first", "samples/advisories/epss.csv", "samples/advisories/kev.json",
	}},
	{Age: 146 * day, By: "jonas", Triage: &Triage{
		Type: model.SAST, Projects: []string{"acme/web-shop"},
		Rules: []string{"redoubt.javascript.console-log", "redoubt.javascript.loose-equality"},
		State: model.TriageIgnored, Reason: model.AcceptableRisk, Note: "Style, not security: the linter covers these.",
	}},
	{Age: 133 * day, By: "ines", Triage: &Triage{
		Type: model.SAST, Projects: []string{"acme/payments"}, Rules: []string{"B101"},
		State: model.TriageIgnored, Reason: model.FalsePositive, Note: "Only the tests assert.",
	}},
	{Age: 120 * day, By: "maya", Condition: &model.PolicyCondition{
		ID: 1, Mode: model.ModeBlock, Severity: model.SeverityCritical, Fixable: true, GraceDays: 14,
	}},
	{Age: 120*day - time.Minute, By: "maya", Condition: &model.PolicyCondition{
		ID:        2,
		Mode:      model.ModeBlock,
		Exploited: true,
	}},
	{Age: 119 * day, By: "maya", Due: map[string]model.DueDays{
		"code": {Critical: 14, High: 60, Medium: 120}, "supply-chain": {Exploited: 7, Critical: 14, High: 45, Medium: 120},
		"secrets": {Critical: 1, High: 3, Medium: 14, Low: 30},
	}},
	{Age: 119*day - time.Hour, By: "maya", View: &model.SavedView{
		Name: "Likely to be exploited", IssueType: model.SCA,
		Query: "epss_probability=high&epss_probability=low&epss_probability=medium&sort=epss",
	}},
	{Age: 119*day - 2*time.Hour, By: "maya", View: &model.SavedView{
		Name: "Overdue, by due date", IssueType: model.SAST,
		Query: "due=overdue&severities=critical&severities=high&sort=due",
	}},
	{Age: 118 * day, By: "maya", Block: []string{
		"redoubt.python.os-command-from-request", "redoubt.python.sql-string-format",
		"redoubt.javascript.child-process-concatenation",
		"redoubt.javascript.sql-concatenation", "redoubt.javascript.xss",
		"redoubt.go.shell-command", "redoubt.go.tls-skip-verify",
		"redoubt.terraform.public-bucket",
	}},
	{Age: 112 * day, By: "maya", Lasts: 150 * day, Exception: &model.Exception{
		Target: "CKV_AWS_144", Projects: []string{"platform/**"}, TriageReason: model.AcceptableRisk,
		Reason: "We promise one region only; see the disaster recovery plan.",
	}},
	{Age: 98 * day, By: "maya", Lasts: 60 * day, Exception: &model.Exception{
		Target: "redoubt.python.weak-hash", Paths: []string{"payments/accounts.py"},
		Projects: []string{"acme/*"}, TriageReason: model.NoTime,
		Reason: "Old passwords are rehashed at sign-in; done in two months.",
	}},
	{Age: 92 * day, By: "jonas", Triage: &Triage{
		Type: model.SAST, Projects: []string{"acme/payments"}, Rules: []string{"redoubt.python.insecure-random-token"},
		State: model.TriageReviewing, Note: "Are these tokens ever handed out?",
	}},
	{Age: 79 * day, By: "ines", Triage: &Triage{
		Type: model.SAST, Projects: []string{"acme/gateway"},
		Rules: []string{"redoubt.go.tls-skip-verify", "redoubt.go.sql-sprintf"},
		State: model.TriageFixing, Note: "Planned for the next release.", Assignee: "ines",
	}},
	{Age: 44 * day, By: "ines", Triage: &Triage{
		Type: model.SCA, Projects: []string{"platform/infra/terraform-modules"}, Rules: []string{"CVE-2021-44228"},
		State: model.TriageFixing, Note: "The new image is in review.",
	}},
	{Age: 60 * day, By: "ines", Triage: &Triage{
		Type: model.Secrets, Projects: []string{"acme/web-shop"}, Rules: []string{"generic-api-key"},
		State: model.TriageIgnored, Reason: model.FalsePositive, Note: "The documented key of the public sandbox.",
	}},
	{Age: 47 * day, By: "jonas", Triage: &Triage{
		Type: model.SAST, Projects: []string{"acme/payments"}, Rules: []string{"redoubt.python.requests-no-timeout"},
		State: model.TriageIgnored, Reason: model.NoTime, Note: "After the move to httpx.",
	}},
	{Age: 24 * day, By: "ines", Triage: &Triage{
		Type: model.SAST, Projects: []string{"acme/gateway"}, Rules: []string{"redoubt.go.http-no-timeout"},
		State: model.TriageIgnored, Reason: model.NoTime, Note: "Until the new router is deployed.", Lasts: 50 * day,
	}},
	{Age: 16 * day, By: "maya", Triage: &Triage{
		Type: model.SAST, Projects: []string{"acme/web-shop", "acme/payments"},
		Rules:    []string{"redoubt.javascript.child-process-concatenation", "redoubt.python.os-command-from-request"},
		Assignee: "maya",
	}},
	{Age: 15 * day, News: []string{"samples/advisories/later"}},
	{Age: 13 * day, By: "maya", Triage: &Triage{
		Type: model.SAST, Projects: []string{"acme/payments"}, Rules: []string{"redoubt.python.requests-no-timeout"},
		State: model.TriageReopened, Note: "It took the checkout down last night.",
	}},
	{Age: 3 * day, By: "jonas", Triage: &Triage{
		Type: model.SCA, Projects: []string{"acme/payments"}, Rules: []string{"CVE-2023-43804", "CVE-2024-3651"},
		State: model.TriageFixing, Note: "Waiting for Thursday's release.", Assignee: "jonas",
	}},
	{Age: 26 * time.Hour, By: "sam", Lasts: 45 * day, Request: &ExceptionRequest{
		Project: "acme/web-shop", Rule: "redoubt.javascript.child-process-concatenation", TriageReason: model.AcceptableRisk,
		Reason: "Only the nightly job calls it, with names that we generate. The rewrite is planned for next month.",
	}},
	{Age: 25 * time.Hour, By: "sam", Comment: &Comment{
		Project: "acme/web-shop", Rule: "redoubt.javascript.child-process-concatenation",
		Text: "@maya could you look at my request? The nightly job is the only caller, I checked.",
	}},
	{Age: 20 * time.Hour, By: "maya", Comment: &Comment{
		Project: "acme/web-shop", Rule: "redoubt.javascript.child-process-concatenation",
		Text: "@jonas does the import of partners still go through this? If so, 45 days is too long for me.",
	}},
	{Age: 5 * time.Hour, News: []string{
		"samples/advisories/first", "samples/advisories/later", "samples/advisories/epss.csv", "samples/advisories/kev.json",
	}},
}

// rescanEvery is the interval of scans of unchanged branches, except in projects without an owner.
const rescanEvery = 10 * day

// History returns all events, oldest first: imports, scans of commits without relevant changes,
// decisions and news.
func History() []Event {
	events := slices.Clone(decisions)
	steps := Timeline()
	for i, step := range steps {
		events = append(events, Event{Age: step.Age, Scan: &steps[i]})
		if step.Full && step.Ref == "main" && step.Project != gateway.name {
			events = append(events, rescans(step, nextScanAge(steps[i+1:], step))...)
		}
	}
	slices.SortStableFunc(events, func(a, b Event) int { return cmp.Compare(b.Age, a.Age) })
	return events
}

// nextScanAge returns the age of the next scan of the branch, or 0.
func nextScanAge(later []Step, step Step) time.Duration {
	for _, s := range later {
		if s.Project == step.Project && s.Ref == step.Ref {
			return s.Age
		}
	}
	return 0
}

// rescans returns repeated scans of a step at generated commits, until an end.
func rescans(step Step, end time.Duration) (events []Event) {
	for age := step.Age - rescanEvery; age > end+day; age -= rescanEvery {
		later := step
		later.Age = age
		later.Commit = laterCommit(step.Commit, age)
		events = append(events, Event{Age: age, Scan: &later})
	}
	return events
}

// laterCommit returns a generated commit id that follows another one.
func laterCommit(commit string, age time.Duration) string {
	return fmt.Sprintf("%x", sha1.Sum([]byte(commit+age.String())))
}
