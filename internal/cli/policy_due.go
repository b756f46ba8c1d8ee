package cli

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/redoubt/redoubt/api"
	"github.com/redoubt/redoubt/internal/cli/command"
	"github.com/redoubt/redoubt/internal/model"
)

// dueFlags are due days by class of findings, as in critical=7.
type dueFlags map[string]int

// set changes the named classes of a policy's due days.
func (f dueFlags) set(into *model.DueDays) error {
	for _, class := range slices.Sorted(maps.Keys(f)) {
		days := into.Class(class)
		if days == nil {
			return fmt.Errorf("--due %s=%d: unknown class: use %s", class, f[class], strings.Join(model.DueClasses(), ", "))
		}
		*days = f[class]
	}
	return nil
}

// Update changes the due days of a policy and returns all of them.
func (f dueFlags) Update(a *command.App, client *api.Client, deployment, policyID string) (api.DueDays, error) {
	now, err := client.GetDueDays(a.Ctx, deployment, policyID)
	if err != nil || len(f) == 0 {
		return dueDays(now), err
	}
	d := dueOf(now.DueDays)
	if err := f.set(&d); err != nil {
		return now.DueDays, err
	}
	now, err = client.SetDueDays(a.Ctx, deployment, policyID, api.SetDueDaysRequest{
		Critical: int64(d.Critical), High: int64(d.High), Medium: int64(d.Medium), Low: int64(d.Low),
		NotRated: int64(d.NotRated), KnownExploited: int64(d.Exploited),
	})
	return dueDays(now), err
}

func dueDays(answer *api.DueDaysResponse) (d api.DueDays) {
	if answer != nil {
		d = answer.DueDays
	}
	return d
}

func dueOf(d api.DueDays) model.DueDays {
	return model.DueDays{
		Critical: int(d.Critical), High: int(d.High), Medium: int(d.Medium), Low: int(d.Low),
		NotRated: int(d.NotRated), Exploited: int(d.KnownExploited),
	}
}

// dueText describes the due days of a policy; empty if it has none.
func dueText(d api.DueDays) string {
	text := dueOf(d).String()
	if text == "" {
		return ""
	}
	return "; due: " + text
}
