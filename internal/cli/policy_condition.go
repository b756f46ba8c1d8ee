package cli

import (
	"fmt"
	"strconv"

	"github.com/redoubt/redoubt/api"
	"github.com/redoubt/redoubt/internal/cli/command"
	"github.com/redoubt/redoubt/internal/cli/webapi"
	"github.com/redoubt/redoubt/internal/model"
)

type policiesConditionsCmd struct {
	List   conditionsListCmd   `cmd:"" default:"withargs" help:"List the conditions of one policy or all policies."`
	Create conditionsCreateCmd `cmd:"" help:"Add a condition for findings that match all flags."`
	Delete conditionsDeleteCmd `cmd:"" help:"Remove a condition."`
}

// conditionFrom converts a condition of the Web API.
func conditionFrom(c api.PolicyCondition) model.PolicyCondition {
	out := model.PolicyCondition{
		ID: c.ID, Reachable: c.Reachable, EPSS: c.EPSS, Exploited: c.Exploited,
		Malicious: c.Malicious, Fixable: c.Fixable, Direct: c.Direct,
		GraceDays: int(c.GraceDays), Scope: model.PolicyScope{Projects: c.Projects, Tags: c.Tags}, Branches: c.Branches,
	}
	out.Mode, _ = model.ParsePolicyMode(c.Mode)
	if c.Severity != nil {
		out.Severity, _ = model.ParseSeverity(*c.Severity)
	}
	if c.Confidence != nil {
		out.Confidence, _ = model.ParseConfidence(*c.Confidence)
	}
	return out
}

func conditionText(c api.PolicyCondition) string {
	one := conditionFrom(c)
	return one.String()
}

func conditionRow(p api.Policy, c api.PolicyCondition) []string {
	return []string{p.Slug, strconv.FormatInt(c.ID, 10), c.Mode, conditionText(c)}
}

const conditionHead = "POLICY ID MODE CONDITION"

type conditionsCreateCmd struct {
	ofPolicy
	Mode       string  `help:"Effect of a match: block (fail the build), comment (show it with the build) or monitor (record it)." enum:"monitor,comment,block" default:"block" placeholder:"MODE"`
	Severity   string  `help:"Minimum severity of the finding: low, medium, high or critical." enum:"low,medium,high,critical," default:"" placeholder:"SEVERITY"`
	Confidence string  `help:"Minimum confidence of the finding: low, medium or high." enum:"low,medium,high," default:"" placeholder:"CONFIDENCE"`
	Reachable  bool    `help:"Supply chain only: reachable from code, or dangerous regardless."`
	EPSS       float64 `name:"epss" help:"Supply chain only: minimum EPSS score, from 0 to 1." placeholder:"SCORE"`
	KEV        bool    `name:"kev" help:"Supply chain only: in the catalog of known exploited vulnerabilities."`
	Malicious  bool    `help:"Supply chain only: malicious package."`
	Fixable    bool    `help:"Supply chain only: a fixed version exists."`
	Direct     bool    `help:"Supply chain only: direct dependency."`
	Grace      int64   `help:"Minimum age of the finding in days." placeholder:"DAYS"`

	Project []string `help:"Limit to matching projects: * matches all but /, ** everything; repeatable, one match is enough." sep:"none" placeholder:"GLOB"`
	Tag     []string `help:"Limit to projects with the tag; repeatable, one match is enough." sep:"none" placeholder:"TAG"`
	Branch  []string `help:"Limit to matching branches (release/*) or full refs (refs/pull/**); repeatable, one match is enough." sep:"none" placeholder:"GLOB"`
}

// Run adds the condition to the policy.
func (c conditionsCreateCmd) Run(a *command.App) error {
	client, deployment, p, err := c.Find(a)
	if err != nil {
		return err
	}
	made, err := client.CreatePolicyCondition(a.Ctx, deployment, p.ID, api.CreatePolicyConditionRequest{
		Mode: c.Mode, Severity: c.Severity, Confidence: c.Confidence, Reachable: c.Reachable, EPSS: c.EPSS, Exploited: c.KEV,
		Malicious: c.Malicious, Fixable: c.Fixable, Direct: c.Direct, GraceDays: c.Grace,
		Projects: c.Project, Tags: c.Tag, Branches: c.Branch,
	})
	if err != nil {
		return err
	}
	one := made.Condition
	sentence := fmt.Sprintf("condition %d of %s, in mode %s: %s", one.ID, p.Slug, one.Mode, conditionText(one))
	return c.PrintChange(a, sentence, conditionHead, conditionRow(p, one), one)
}

type conditionsListCmd struct {
	webapi.Flags
	Policy string `arg:"" optional:"" help:"Slug or id of the policy (default: all policies)."`
}

// Run lists the conditions.
func (c conditionsListCmd) Run(a *command.App) error {
	client, deployment, err := c.Connect(a)
	if err != nil {
		return err
	}
	var policies []api.Policy
	if c.Policy != "" {
		p, err := findPolicy(a, client, deployment, c.Policy)
		if err != nil {
			return err
		}
		policies = append(policies, p)
	} else {
		all, err := client.ListPolicies(a.Ctx, deployment)
		if err != nil {
			return err
		}
		policies = all.Policies
	}
	items, rows := []*api.ListPolicyConditionsResponse{}, [][]string{}
	for _, p := range policies {
		answer, err := client.ListPolicyConditions(a.Ctx, deployment, p.ID)
		if err != nil {
			return err
		}
		items = append(items, answer)
		for _, one := range answer.Conditions {
			rows = append(rows, conditionRow(p, one))
		}
	}
	return c.Print(a, conditionHead, rows, items)
}

type conditionsDeleteCmd struct {
	ofPolicy
	ID int64 `arg:"" help:"Id of the condition in the policy."`
}

// Run removes the condition.
func (c conditionsDeleteCmd) Run(a *command.App) error {
	client, deployment, p, err := c.Find(a)
	if err != nil {
		return err
	}
	gone, err := client.DeletePolicyCondition(a.Ctx, deployment, p.ID, c.ID)
	if isMissing(err) {
		return fmt.Errorf("%s has no condition %d: run redoubt policies conditions list", p.Slug, c.ID)
	}
	if err != nil {
		return err
	}
	sentence := fmt.Sprintf("deleted condition %d of %s", c.ID, p.Slug)
	return c.PrintChange(a, sentence, conditionHead, conditionRow(p, gone.Condition), gone.Condition)
}
