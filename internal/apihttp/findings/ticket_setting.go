package findings

import (
	"context"
	"errors"
	"fmt"

	"github.com/redoubt/redoubt/api"
	"github.com/redoubt/redoubt/internal/apihttp/core"
	"github.com/redoubt/redoubt/internal/model"
)

func getTicketSettings(ctx context.Context, c *core.Call, _ *core.None) (*api.TicketSettingsResponse, error) {
	s, err := c.Tx.TicketSetting(ctx)
	if err != nil {
		return nil, err
	}
	out := &api.TicketSettingsResponse{Settings: api.TicketSettings{
		ConnectionID: s.ConnectionID, Project: s.Project,
		IssueType: s.IssueType, Labels: core.OrEmpty(s.Labels), Public: s.Public,
	}}
	if s.ConnectionID == 0 {
		return out, nil
	}
	found, err := c.Tx.Connection(ctx, s.ConnectionID)
	switch {
	case errors.Is(err, model.ErrNotFound): // the connection was deleted
		err = nil
	case err == nil:
		out.Connection, out.Kind = found.Name, found.Kind.String()
	}
	return out, err
}

func setTicketSettings(
	ctx context.Context, c *core.Call, in *core.Request[api.SetTicketSettingsRequest],
) (*api.TicketSettingsResponse, error) {
	b := in.Body
	s := model.TicketSetting{
		ConnectionID: b.ConnectionID, Project: b.Project, IssueType: b.IssueType, Labels: b.Labels, Public: b.Public,
	}
	if err := s.Check(); err != nil {
		return nil, core.InBody(err)
	}
	if err := checkTracker(ctx, c, s); err != nil {
		return nil, err
	}
	if err := c.Tx.PutTicketSetting(ctx, s); err != nil {
		return nil, err
	}
	return getTicketSettings(ctx, c, nil)
}

// checkTracker rejects connections to hosts without issues, and Jira settings without a project
// key.
func checkTracker(ctx context.Context, c *core.Call, s model.TicketSetting) error {
	if s.ConnectionID == 0 {
		return nil
	}
	found, err := c.Tx.Connection(ctx, s.ConnectionID)
	switch {
	case errors.Is(err, model.ErrNotFound):
		return fmt.Errorf("connection %d: %w", s.ConnectionID, err)
	case err != nil:
		return err
	case !found.Kind.HasIssues():
		return model.Invalid("body.connection_id", "plain git remotes have no issue tracker")
	case found.Kind == model.HostJira && !model.IsJiraProject(s.Project):
		return model.Invalid("body.project", "expected the key of a Jira project, such as SEC")
	}
	return nil
}
