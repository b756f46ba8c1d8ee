package managed

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"unicode/utf8"

	"github.com/danielgtaylor/huma/v2"

	"github.com/redoubt/redoubt/api"
	"github.com/redoubt/redoubt/internal/apihttp/core"
	"github.com/redoubt/redoubt/internal/gate"
	"github.com/redoubt/redoubt/internal/model"
	"github.com/redoubt/redoubt/internal/store"
)

func runOf(r model.Run, project, runner string) api.Run {
	return api.Run{
		ID: r.ID, Project: project, Kind: r.Kind.String(), Cause: r.Cause.String(),
		Ref: r.Ref, Commit: r.Commit, Base: r.Base, ChangeRequest: core.IDOrNull(r.Change),
		State: r.State.String(), Attempt: int64(r.Attempt), Failure: r.Failure.String(),
		Reason: r.Reason, Runner: runner, ScanID: core.IDOrNull(r.ScanID), LogBytes: r.LogSize,
		CreatedAt: api.Time{Time: r.CreatedAt}, DueAt: api.Time{Time: r.DueAt},
		BegunAt: core.TimeOrNull(r.BegunAt), EndedAt: core.TimeOrNull(r.EndedAt),
	}
}

// runsOf converts runs, with the names of their projects and runners.
func runsOf(ctx context.Context, c *core.Call, list ...model.Run) ([]api.Run, error) {
	ids := model.Map(list, func(r model.Run) int64 { return r.ProjectID })
	projects, err := projectNames(ctx, c, ids)
	if err != nil {
		return nil, err
	}
	known, err := c.Tx.Runners(ctx)
	runners := map[int64]string{}
	for _, r := range known {
		runners[r.ID] = r.Name
	}
	out := make([]api.Run, len(list))
	for i, r := range list {
		out[i] = runOf(r, projects[r.ProjectID], runners[r.RunnerID])
	}
	return out, err
}

// defaultRuns is the default number of runs in a response.
const defaultRuns = 100

// runsInput is the query for a page of runs.
type runsInput struct {
	api.RunsQuery
	core.IDPosition
	states []model.RunState
}

// Resolve decodes the cursor.
func (in *runsInput) Resolve(ctx huma.Context) []error {
	in.states = core.Parsed(in.State, model.ParseRunState)
	return in.Find(ctx, "runs", []any{core.CallOf(ctx.Context()).Caller.Globs(), in.Project, in.states}, in.Cursor)
}

func listRuns(ctx context.Context, c *core.Call, in *runsInput) (*api.ListRunsResponse, error) {
	limit := cmp.Or(int(in.Limit), defaultRuns)
	q := store.RunQuery{Globs: c.Caller.Globs(), States: in.states, Before: in.After, Limit: limit + 1}
	if in.Project != "" {
		p, err := core.ProjectNamed(ctx, c, in.Project)
		if errors.Is(err, model.ErrNotFound) {
			return &api.ListRunsResponse{Runs: []api.Run{}}, nil
		}
		if err != nil {
			return nil, err
		}
		q.ProjectID = p.ID
	}
	list, err := c.Tx.Runs(ctx, q)
	if err != nil {
		return nil, err
	}
	out := &api.ListRunsResponse{}
	if len(list) > limit {
		list = list[:limit]
		if out.Cursor, err = c.Server.Cursors().Encode(in.List, list[limit-1].ID); err != nil {
			return nil, err
		}
	}
	out.Runs, err = runsOf(ctx, c, list...)
	return out, err
}

// noRun rejects the tokens of managed runs. The scanned code may have compromised the scanner, so
// these tokens must not start or read runs.
func noRun(ctx context.Context, c *core.Call) error {
	is, err := gate.OfRun(ctx, c.Tx, c.Caller)
	if err == nil && is {
		err = core.NewProblem(api.CodePermissionDenied,
			"This token belongs to a managed run. It can only upload the results of its run.", nil)
	}
	return err
}

// run returns the run of the path if its project is visible to the token.
func run(ctx context.Context, c *core.Call) (r model.Run, err error) {
	if err := noRun(ctx, c); err != nil {
		return r, err
	}
	id := c.PathID("runId")
	if r, err = c.Tx.Run(ctx, id); err != nil {
		return r, err
	}
	_, err = c.VisibleProject(c.Tx.Project(ctx, r.ProjectID))
	return r, err
}

func runResponse(ctx context.Context, c *core.Call, r model.Run) (*api.RunResponse, error) {
	list, err := runsOf(ctx, c, r)
	if err != nil {
		return nil, err
	}
	return &api.RunResponse{Run: list[0]}, nil
}

func getRun(ctx context.Context, c *core.Call, _ *core.None) (*api.RunResponse, error) {
	r, err := run(ctx, c)
	if err != nil {
		return nil, err
	}
	return runResponse(ctx, c, r)
}

// startRun queues a full scan of a project.
func startRun(ctx context.Context, c *core.Call, in *core.Request[api.StartRunRequest]) (*api.RunResponse, error) {
	if err := noRun(ctx, c); err != nil {
		return nil, err
	}
	p, err := core.ProjectNamed(ctx, c, in.Body.Project)
	if err != nil {
		return nil, err
	}
	r, err := c.Tx.FullRun(ctx, p, model.RunByHand)
	if errors.Is(err, model.ErrNotFound) {
		return nil, fmt.Errorf("no connection to a code host has the repository of %s: add one and follow the "+
			"repository: %w", p.Name, model.ErrConflict)
	}
	if err != nil {
		return nil, err
	}
	if in.Body.Ref != "" {
		r.Ref = model.FullRef(in.Body.Ref)
	}
	if r, err = c.Tx.QueueRun(ctx, r); err != nil {
		return nil, core.InBody(err)
	}
	return runResponse(ctx, c, r)
}

func cancelRun(ctx context.Context, c *core.Call, _ *core.None) (*api.RunResponse, error) {
	r, err := run(ctx, c)
	if err != nil {
		return nil, err
	}
	if err := c.Tx.CancelRun(ctx, r.ID, model.RunStopped); err != nil {
		return nil, err
	}
	return getRun(ctx, c, nil)
}

func retryRun(ctx context.Context, c *core.Call, _ *core.None) (*api.RunResponse, error) {
	r, err := run(ctx, c)
	if err != nil {
		return nil, err
	}
	if r, err = c.Tx.RetryRun(ctx, r.ID); err != nil {
		return nil, err
	}
	return runResponse(ctx, c, r)
}

// maxLogPiece limits the bytes of a log in a response.
const maxLogPiece = 64 << 10

func getRunLog(ctx context.Context, c *core.Call, in *api.RunLogQuery) (*api.RunLogResponse, error) {
	r, err := run(ctx, c)
	if err != nil {
		return nil, err
	}
	shown, err := runResponse(ctx, c, r)
	if err != nil {
		return nil, err
	}
	from := min(in.Offset, r.LogSize)
	log, err := c.Tx.RunLog(ctx, r.ID, from)
	piece := cutText(log, maxLogPiece)
	next := from + int64(len(piece))
	return &api.RunLogResponse{
		Run:        shown.Run,
		Offset:     from,
		NextOffset: next,
		Text:       string(piece),
		Ended:      r.State.Ended() && next >= r.LogSize,
	}, err
}

// cutText returns the start of a text without splitting a character. Its length is at most the
// parameter most, in bytes.
func cutText(text []byte, most int) []byte {
	if len(text) <= most {
		return text
	}
	for most > 0 && !utf8.RuneStart(text[most]) {
		most--
	}
	return text[:most]
}

func listRunners(ctx context.Context, c *core.Call, _ *core.None) (*api.ListRunnersResponse, error) {
	list, err := c.Tx.Runners(ctx)
	if err != nil {
		return nil, err
	}
	begun, err := c.Tx.Runs(ctx, store.RunQuery{States: model.RunStatesBegun(), Limit: model.MaxRunners})
	out := &api.ListRunnersResponse{Runners: make([]api.RunnerInfo, len(list))}
	for i, r := range list {
		out.Runners[i] = api.RunnerInfo{
			ID: r.ID, Name: r.Name, Labels: core.OrEmpty(r.Labels), Version: r.Version,
			Isolation: r.Isolation, TokenID: r.TokenID, Present: r.Present(c.Server.Clock()),
			FirstSeenAt: api.Time{Time: r.FirstAt}, LastSeenAt: api.Time{Time: r.SeenAt},
		}
		if at := slices.IndexFunc(begun, func(u model.Run) bool { return u.RunnerID == r.ID }); at >= 0 {
			out.Runners[i].RunID = &begun[at].ID
		}
	}
	return out, err
}

func revokeRunner(ctx context.Context, c *core.Call, _ *core.None) (*api.RevokeRunnerResponse, error) {
	id := c.PathID("runnerId")
	gone, err := c.Tx.RevokeRunner(ctx, id)
	out := &api.RevokeRunnerResponse{Runners: []string{}}
	for _, r := range gone {
		out.Runners = append(out.Runners, r.Name)
	}
	return out, err
}
