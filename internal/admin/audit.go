package admin

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/redoubt/redoubt/internal/cli/command"
	"github.com/redoubt/redoubt/internal/model"
	"github.com/redoubt/redoubt/internal/store"
)

// AuditCmd prints the audit log.
type AuditCmd struct {
	command.Tenant
	After int64 `help:"List only events after this id." placeholder:"ID"`
	Limit int   `help:"Maximum number of events, oldest first." default:"100" placeholder:"N"`
	// Events without a deployment include failed sign-ins with unknown user names.
	Server bool `help:"List events of the server instead of a deployment."`
}

// auditLine is the output format of an event: a JSON object per line.
type auditLine struct {
	ID      int64           `json:"id"`
	At      time.Time       `json:"at"`
	By      string          `json:"by"`
	Action  string          `json:"action"`
	Subject string          `json:"subject"`
	Before  json.RawMessage `json:"before,omitempty"`
	After   json.RawMessage `json:"after,omitempty"`
}

// Run prints the events of the audit log.
func (c AuditCmd) Run(a *command.App) error {
	if c.Server {
		st, err := a.Open(c.Storage)
		if err != nil {
			return err
		}
		events, err := st.ServerEvents(a.Ctx, c.After, c.Limit)
		if err == nil {
			err = printEvents(a, events)
		}
		return errors.Join(err, st.Close())
	}
	return c.View(a, func(ctx context.Context, tx *store.Tx) error {
		events, err := tx.AuditEvents(ctx, c.After, c.Limit)
		if err != nil {
			return err
		}
		return printEvents(a, events)
	})
}

func printEvents(a *command.App, events []model.AuditEvent) error {
	for _, e := range events {
		line, err := json.Marshal(auditLine{
			ID: e.ID, At: e.At, By: e.By.String(), Action: e.Action, Subject: e.Subject,
			Before: json.RawMessage(e.Before), After: json.RawMessage(e.After),
		})
		if err != nil {
			return err
		}
		if _, err := fmt.Fprintln(a.Out, string(line)); err != nil {
			return err
		}
	}
	return nil
}
