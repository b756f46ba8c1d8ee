package policies

import (
	"context"

	"github.com/redoubt/redoubt/api"
	"github.com/redoubt/redoubt/internal/apihttp/core"
	"github.com/redoubt/redoubt/internal/model"
	"github.com/redoubt/redoubt/internal/policy"
)

func dueDaysOf(d model.DueDays) api.DueDays {
	return api.DueDays{
		Critical: int64(d.Critical), High: int64(d.High), Medium: int64(d.Medium), Low: int64(d.Low),
		NotRated: int64(d.NotRated), KnownExploited: int64(d.Exploited),
	}
}

func getDueDays(ctx context.Context, c *core.Call, _ *core.None) (*api.DueDaysResponse, error) {
	p, err := policyInPath(ctx, c)
	if err != nil {
		return nil, err
	}
	return &api.DueDaysResponse{Policy: policyOf(p), DueDays: dueDaysOf(p.Due)}, nil
}

func setDueDays(
	ctx context.Context, c *core.Call, in *core.Request[api.SetDueDaysRequest],
) (*api.DueDaysResponse, error) {
	p, err := policyInPath(ctx, c)
	if err != nil {
		return nil, err
	}
	b := &in.Body
	p.Due = model.DueDays{
		Critical: int(b.Critical), High: int(b.High), Medium: int(b.Medium),
		Low: int(b.Low), NotRated: int(b.NotRated), Exploited: int(b.KnownExploited),
	}
	p, _, err = policy.Save(ctx, c.Tx, p)
	return &api.DueDaysResponse{Policy: policyOf(p), DueDays: dueDaysOf(p.Due)}, err
}
