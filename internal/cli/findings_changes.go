package cli

import (
	"errors"
	"fmt"
	"iter"
	"reflect"
	"strconv"
	"time"

	"github.com/redoubt/redoubt/api"
	"github.com/redoubt/redoubt/internal/cli/command"
	"github.com/redoubt/redoubt/internal/cli/webapi"
)

// changeFlags select changed findings instead of a list.
type changeFlags struct {
	UpdatedSince string `help:"List all findings changed or removed since this time; excludes filters." placeholder:"2026-01-31T09:00:00Z"`
	Cursor       string `help:"Continue from the cursor of an earlier --updated-since or --cursor." placeholder:"CURSOR"`
}

func (c FindingsListCmd) wantsChanges() bool { return c.changeFlags != (changeFlags{}) }

// listChanges prints changed and removed findings, and the next cursor on standard error.
func (c FindingsListCmd) listChanges(a *command.App) error {
	if !reflect.ValueOf(c.FindingFlags).IsZero() || len(c.Status) > 0 || c.Type != "" || c.View != "" ||
		c.Sort != "" || c.Cut != (webapi.Cut{}) {
		return errors.New("--updated-since and --cursor list all changes: remove filters, order and limit")
	}
	query := api.FindingChangesQuery{Cursor: c.Cursor}
	if c.UpdatedSince != "" {
		since, err := momentFlag("updated-since", c.UpdatedSince)
		if err != nil {
			return err
		}
		query.UpdatedSince = since.Format(time.RFC3339Nano)
	}
	client, deployment, err := c.Connect(a)
	if err != nil {
		return err
	}
	var next string
	items := changedItems(client.FollowFindings(a.Ctx, deployment, query), &next)
	if err := c.List(a, webapi.Cut{All: true}, "ID SEVERITY STATUS PROJECT REF RULE WHERE", items, nil); err != nil {
		return err
	}
	_, err = fmt.Fprintf(a.Err, "Continue with: --cursor %s\n", next)
	return err
}

// momentFlag parses a time or a date. A date means its start in UTC.
func momentFlag(flag, text string) (time.Time, error) {
	for _, layout := range []string{time.RFC3339, time.DateOnly} {
		if t, err := time.Parse(layout, text); err == nil {
			return t, nil
		}
	}
	return time.Time{}, fmt.Errorf("--%s: invalid time %q: use a time such as 2026-01-31T09:00:00Z, or YYYY-MM-DD",
		flag, text)
}

// removedFinding is the JSON form of a removed finding.
type removedFinding struct {
	ID      int64 `json:"id"`
	Removed bool  `json:"removed"`
}

// changedItems returns the items of a feed and stores its last cursor in next.
func changedItems(parts iter.Seq2[*api.FindingChangesResponse, error], next *string) iter.Seq2[webapi.Item, error] {
	return func(yield func(webapi.Item, error) bool) {
		for part, err := range parts {
			if err != nil {
				yield(webapi.Item{}, err)
				return
			}
			*next = part.Cursor
			for _, f := range part.Changed {
				if !yield(webapi.Item{Value: f, Row: changedRow(f)}, nil) {
					return
				}
			}
			for _, id := range part.Removed {
				if !yield(webapi.Item{
					Value: removedFinding{id, true},
					Row:   []string{strconv.FormatInt(id, 10), "-", "removed", "-", "-", "-", "-"},
				}, nil) {
					return
				}
			}
		}
	}
}

func changedRow(f api.ChangedFinding) []string {
	row := append(coreRow(f.FindingCore), locationText(f.Location))
	if f.FoundDependency != nil {
		row[1], row[len(row)-1] = command.SeverityWord(f.Severity, f.Unrated), f.FoundDependency.Package+" "+
			f.FoundDependency.Version
	}
	return row
}
