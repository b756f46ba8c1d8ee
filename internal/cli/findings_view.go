package cli

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"strconv"
	"strings"

	"github.com/redoubt/redoubt/api"
	"github.com/redoubt/redoubt/internal/cli/command"
	"github.com/redoubt/redoubt/internal/cli/webapi"
)

// savedView returns a saved view by id, or by name in any case. The user's own views take
// precedence over shared ones.
func savedView(a *command.App, client *api.Client, deployment, name string) (issueType string, id int64, err error) {
	list, err := client.ListSavedViews(a.Ctx, deployment)
	if err != nil {
		return "", 0, err
	}
	var found *api.SavedView
	var names []string
	for i := range list.Views {
		v := &list.Views[i]
		names = append(names, strconv.Quote(v.Name))
		matches := strings.EqualFold(v.Name, name) || strconv.FormatInt(v.ID, 10) == name
		if matches && (found == nil || found.Shared) {
			found = v
		}
	}
	switch {
	case found == nil && len(names) == 0:
		return "", 0, errors.New("no saved views found: create one on a findings page")
	case found == nil:
		return "", 0, fmt.Errorf("saved view %q not found; existing views: %s", name, strings.Join(names, ", "))
	case found.Problem != "":
		fmt.Fprintf(a.Err, "warning: saved view %q: %s\n", found.Name, found.Problem)
	}
	return found.IssueType, found.ID, nil
}

// secretsOfView reads the secrets of a view from an export, as the list of secrets does not support
// views.
func secretsOfView(
	a *command.App, client *api.Client, deployment string, selection api.FindingsSelection,
) iter.Seq2[webapi.Item, error] {
	return itemsOf(exportedFindings(a, client, deployment, selection), func(f api.Finding) []string {
		kind := "-"
		if f.SecretType != nil && *f.SecretType != "" {
			kind = *f.SecretType
		}
		return []string{
			strconv.FormatInt(f.ID, 10), f.Severity, f.Status, f.Repository.Name, shortBranch(f.Ref), kind, f.Location.FilePath,
		}
	})
}

// exportedFindings reads the findings of an export.
func exportedFindings(
	a *command.App, client *api.Client, deployment string, selection api.FindingsSelection,
) iter.Seq2[api.Finding, error] {
	return func(yield func(api.Finding, error) bool) {
		body, err := client.ExportFindings(
			a.Ctx, deployment, api.ExportFindingsQuery{Format: "jsonl", FindingsSelection: selection},
		)
		if err != nil {
			yield(api.Finding{}, err)
			return
		}
		defer body.Close()
		for lines := json.NewDecoder(body); ; {
			var f api.Finding
			err := lines.Decode(&f)
			if errors.Is(err, io.EOF) || !yield(f, err) || err != nil {
				return
			}
		}
	}
}
