package cli

import (
	"cmp"
	"errors"
	"fmt"
	"iter"
	"reflect"
	"slices"
	"strings"

	"github.com/redoubt/redoubt/api"
	"github.com/redoubt/redoubt/internal/cli/command"
	"github.com/redoubt/redoubt/internal/cli/webapi"
)

// FindingsListCmd lists findings.
type FindingsListCmd struct {
	webapi.Flags
	Type   string   `help:"Type: sast (code), sca (supply chain) or secrets. Default: sast, or the view's." enum:",sast,sca,secrets" default:"" placeholder:"TYPE"`
	Status []string `help:"Limit by status: open, fixed, ignored, reviewing, fixing. Default: open." enum:"open,fixed,ignored,reviewing,fixing" placeholder:"STATUS"`
	View   string   `help:"Use the filter and order of this saved view (name or id); excludes other filters." placeholder:"NAME"`
	Sort   string   `help:"Order: newest, oldest, risk (severity), severity_asc, due, due_desc; for sca also epss, epss_asc, kev, reachability, reachability_asc. Default: newest, or the view's." enum:",newest,oldest,risk,severity_asc,due,due_desc,epss,epss_asc,kev,reachability,reachability_asc" default:"" placeholder:"ORDER"`
	FindingFlags
	changeFlags
	webapi.Cut
}

// Help adds what the flags do not explain.
func (c FindingsListCmd) Help() string {
	return c.Reach.Help() + "\n\nWithout --ref, each finding is listed once for all refs. Secrets support --project, " +
		"--status, --severity, --validation and --since; redoubt findings export supports all flags for secrets."
}

// Run lists findings of one type, or changed findings.
func (c FindingsListCmd) Run(a *command.App) error {
	if c.wantsChanges() {
		return c.listChanges(a)
	}
	if c.View == "" {
		c.Type = cmp.Or(c.Type, "sast")
		if len(c.Status) == 0 {
			c.Status = []string{"open"}
		}
	}
	selection, err := c.Check()
	if err != nil {
		return err
	}
	client, deployment, err := c.Connect(a)
	if err != nil {
		return err
	}
	if c.View != "" {
		kind, id, err := savedView(a, client, deployment, c.View)
		if err != nil {
			return err
		}
		if c.Type != "" && c.Type != kind {
			return fmt.Errorf("--type %s does not match the view's type %s", c.Type, kind)
		}
		c.Type, selection.View = kind, id
	}
	if err := findProjects(a, client, deployment, selection.Repos); err != nil {
		return err
	}
	total := func() (int64, error) {
		n, err := client.CountFindings(a.Ctx, deployment, api.CountFindingsQuery{FindingsSelection: selection})
		if err != nil {
			return 0, err
		}
		return n.Total, nil
	}
	switch {
	case c.Type == "secrets" && c.Sort != "":
		return errors.New("--sort does not apply to secrets: they are listed by id, or newest first in a view")
	case c.Type == "secrets" && c.View != "":
		return c.List(
			a, c.Cut, "ID SEVERITY STATUS PROJECT REF RULE WHERE", secretsOfView(a, client, deployment, selection), total,
		)
	case c.Type == "secrets":
		return c.List(a, c.Cut, "ID SEVERITY STATUS PROJECT REF RULE WHERE",
			secretItems(client.Secrets(a.Ctx, deployment, c.secrets(selection))), total)
	}
	query := listing(selection)
	query.IssueType, query.Sort = c.Type, c.Sort
	query.PageSize = c.Page(c.Output, 100, 3000)
	items := codeItems(client.Findings(a.Ctx, deployment, query))
	if c.Type == "sca" {
		items = supplyItems(client.SupplyChainFindings(a.Ctx, deployment, query))
	}
	return c.List(a, c.Cut, "ID SEVERITY STATUS PROJECT REF RULE WHERE DUE", items, total)
}

// findProjects replaces project names in any case or former names by the current names.
func findProjects(a *command.App, client *api.Client, deployment string, names []string) error {
	for i, name := range names {
		p, err := findProject(a, client, deployment, name)
		if err != nil {
			return err
		}
		names[i] = p.Name
	}
	return nil
}

// Check rejects flags that the list of the type does not support. Ignoring them would widen the
// list.
func (c FindingsListCmd) Check() (api.FindingsSelection, error) {
	if c.View != "" {
		if !reflect.ValueOf(c.FindingFlags).IsZero() || len(c.Status) > 0 {
			return api.FindingsSelection{}, errors.New("--view cannot be combined with other filters")
		}
		return api.FindingsSelection{}, c.Cut.Check()
	}
	selection, err := c.selection(c.Status)
	if err != nil {
		return selection, err
	}
	selection.IssueType = []string{c.Type}
	if c.Type != "secrets" {
		selection.Dedup = c.Ref == ""
		return selection, c.Cut.Check()
	}
	if slices.ContainsFunc(c.Status, func(s string) bool { return s == "reviewing" || s == "fixing" }) {
		return selection, errors.New("invalid --status for secrets: use open, ignored or fixed")
	}
	left := c.FindingFlags
	left.Project, left.Severity, left.Validation, left.Since = nil, nil, nil, ""
	for v, i := reflect.ValueOf(left), 0; i < v.NumField(); i++ {
		if !v.Field(i).IsZero() {
			return selection, fmt.Errorf("--%s does not apply to the list of secrets: use redoubt findings export",
				flagName(v.Type().Field(i)))
		}
	}
	return selection, c.Cut.Check()
}

// flagName returns the name of a flag, as the parser derives it from the struct field.
func flagName(f reflect.StructField) string {
	if name := f.Tag.Get("name"); name != "" {
		return name
	}
	var name strings.Builder
	for i, r := range f.Name {
		if i > 0 && r >= 'A' && r <= 'Z' {
			name.WriteByte('-')
		}
		name.WriteString(strings.ToLower(string(r)))
	}
	return name.String()
}

// listing converts a selection to the query of a list.
func listing(s api.FindingsSelection) api.FindingsQuery {
	return api.FindingsQuery{
		Since: s.Since, Dedup: s.Dedup, Repos: s.Repos, Status: s.Status,
		TriageReasons: s.TriageReasons, Severities: s.Severities, Ref: s.Ref,
		Rules: s.Rules, Categories: s.Categories, Confidence: s.Confidence,
		AutotriageVerdict: s.AutotriageVerdict, ComponentTags: s.ComponentTags,
		Exposures: s.Exposures, Transitivities: s.Transitivities,
		IsMalicious: s.IsMalicious, ClickToFixPRStates: s.ClickToFixPRStates,
		Assignees: s.Assignees, Due: s.Due, DueBefore: s.DueBefore, FurtherFilters: s.FurtherFilters, View: s.View,
	}
}

// secrets converts a selection to the query of the list of secrets.
func (c FindingsListCmd) secrets(s api.FindingsSelection) api.SecretsQuery {
	q := api.SecretsQuery{Repo: s.Repos, Limit: c.Page(c.Output, 1, 3000)}
	if c.Since != "" {
		q.Since = c.Since + "T00:00:00Z"
	}
	for _, word := range s.Severities {
		q.Severity = append(q.Severity, "SEVERITY_"+strings.ToUpper(word))
	}
	for _, word := range s.Status {
		q.Status = append(q.Status, "FINDING_STATUS_"+strings.ToUpper(word))
	}
	for _, word := range s.ValidationState {
		q.ValidationState = append(q.ValidationState, "VALIDATION_STATE_"+strings.ToUpper(word))
	}
	return q
}

func codeItems(all iter.Seq2[api.CodeFinding, error]) iter.Seq2[webapi.Item, error] {
	return itemsOf(all, func(f api.CodeFinding) []string {
		return append(coreRow(f.FindingCore), locationText(f.Location), dueWord(f.FindingCore))
	})
}

func supplyItems(all iter.Seq2[api.SupplyChainFinding, error]) iter.Seq2[webapi.Item, error] {
	return itemsOf(all, func(f api.SupplyChainFinding) []string {
		row := append(coreRow(f.FindingCore), f.FoundDependency.Package+" "+f.FoundDependency.Version, dueWord(f.FindingCore))
		row[1] = command.SeverityWord(f.Severity, f.Unrated)
		return row
	})
}

func secretItems(all iter.Seq2[api.Secret, error]) iter.Seq2[webapi.Item, error] {
	return itemsOf(all, func(f api.Secret) []string {
		return []string{
			f.ID, lowerAfter("SEVERITY_", f.Severity), lowerAfter("FINDING_STATUS_", f.Status),
			f.Repository.Name, shortBranch(f.Ref), f.Type, f.FindingPath,
		}
	})
}

// itemsOf adds a row to each item.
func itemsOf[T any](all iter.Seq2[T, error], row func(T) []string) iter.Seq2[webapi.Item, error] {
	return func(yield func(webapi.Item, error) bool) {
		for item, err := range all {
			if err != nil {
				yield(webapi.Item{}, err)
				return
			}
			if !yield(webapi.Item{Value: item, Row: row(item)}, nil) {
				return
			}
		}
	}
}
