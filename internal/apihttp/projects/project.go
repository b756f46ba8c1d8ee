package projects

import (
	"context"
	"math"
	"slices"
	"strings"

	"github.com/danielgtaylor/huma/v2"

	"github.com/redoubt/redoubt/api"
	"github.com/redoubt/redoubt/internal/apihttp/core"
	"github.com/redoubt/redoubt/internal/gate"
	"github.com/redoubt/redoubt/internal/model"
	"github.com/redoubt/redoubt/internal/store"
)

// defaultPage is the default number of projects on a page.
const defaultPage = 100

func listProjects(ctx context.Context, c *core.Call, in *api.ProjectsQuery) (*api.ListProjectsResponse, error) {
	size := in.PageSize
	if size == 0 {
		size = defaultPage
	}
	out := &api.ListProjectsResponse{Projects: []api.Project{}}
	if in.Page > math.MaxInt32 || size > math.MaxInt32 {
		size = min(size, math.MaxInt32)
		if in.Page > 0 {
			return out, nil // more than any deployment has
		}
	}
	list, err := c.Tx.Projects(ctx, store.ProjectQuery{
		Globs:  c.Caller.Globs(),
		Offset: int(in.Page * size),
		Limit:  int(size),
	})
	for _, p := range list {
		out.Projects = append(out.Projects, projectOf(p))
	}
	return out, err
}

func getProject(ctx context.Context, c *core.Call, _ *core.None) (*api.ProjectResponse, error) {
	p, err := c.Project(ctx)
	if err != nil {
		return nil, err
	}
	return projectResponse(ctx, c, p)
}

// projectOf converts a project for lists.
func projectOf(p model.Project) api.Project {
	tags := p.Tags
	if tags == nil {
		tags = []string{}
	}
	return api.Project{
		ID: p.ID, Name: p.Name, URL: p.URL, Tags: tags,
		CreatedAt: api.Time{Time: p.CreatedAt}, LatestScanAt: api.NewTime(p.LatestScanAt),
		DefaultBranch: p.Default(), PrimaryBranch: p.Primary(), Visibility: p.Visibility.String(),
	}
}

// projectResponse returns the response with a project and its managed scans: configuration and
// status.
func projectResponse(ctx context.Context, c *core.Call, p model.Project) (*api.ProjectResponse, error) {
	c.Tag = core.ProjectTag(p)
	out := &api.ProjectResponse{Project: projectOf(p)}
	out.Project.ManagedScanConfig = &api.ManagedScan{
		DiffScan: &api.Enabled{Enabled: p.ManagedScan.Diff}, FullScan: &api.Enabled{Enabled: p.ManagedScan.Full},
	}
	facts, err := c.Tx.RunFacts(ctx, p)
	out.Project.ManagedScanStatus = managedStatusOf(facts.Status(c.Server.Clock()))
	return out, err
}

// createInput is a request for creating a project.
type createInput struct {
	Body    api.CreateProjectRequest
	project model.Project
}

// Resolve checks what the schema cannot.
func (in *createInput) Resolve(ctx huma.Context) []error {
	bad := core.Faults(core.Copies(ctx, &in.Body))
	b := &in.Body
	if b.Name != "" {
		if err := model.CheckNewProjectName(b.Name); err != nil {
			bad.Add("body.name", b.Name, err.Error())
		}
	}
	if b.URL != "" && !core.WebAddress(b.URL) {
		bad.Add("body.url", nil, core.NotWebAddress)
	}
	in.project = model.Project{Name: b.Name, URL: b.URL, Tags: tagsOf(b.Tags, &bad)}
	in.project.Visibility, _ = model.ParseVisibility(b.Visibility)
	if b.PrimaryBranch != "" {
		in.project.PrimaryBranch = branchOf(b.PrimaryBranch, &bad)
	}
	return bad
}

func tagsOf(list []string, bad *core.Faults) []string {
	tags, err := model.NormalTags(list)
	if err != nil {
		bad.Add("body.tags", nil, err.Error())
	}
	return tags
}

// branchOf returns a full branch ref. None becomes "", which means the default branch.
func branchOf(text string, bad *core.Faults) string {
	if text == "None" {
		return ""
	}
	full := model.FullRef(text)
	branch, ok := strings.CutPrefix(full, "refs/heads/")
	if !ok || branch == "" || model.HasControls(branch) || strings.Contains(branch, " ") {
		bad.Add("body.primary_branch", text, "expected a branch, such as refs/heads/main or main, or None")
	}
	return full
}

func createProject(ctx context.Context, c *core.Call, in *createInput) (*api.ProjectResponse, error) {
	if err := gate.CanUseProject(c.Caller.Globs(), in.project.Name); err != nil {
		return nil, err
	}
	p, err := c.Tx.CreateProjectWithin(ctx, c.Caller.Globs(), in.project)
	if err != nil {
		return nil, err
	}
	return projectResponse(ctx, c, p)
}

// updateInput is a request for changing a project.
type updateInput struct {
	Body  api.UpdateProjectRequest
	patch store.ProjectPatch
}

// Resolve converts the body to a patch.
func (in *updateInput) Resolve(ctx huma.Context) []error {
	bad := core.Faults(core.Copies(ctx, &in.Body))
	b := &in.Body
	if b.Tags != nil {
		in.patch.Tags = new(tagsOf(*b.Tags, &bad))
	}
	if b.PrimaryBranch != nil {
		in.patch.PrimaryBranch = new(branchOf(*b.PrimaryBranch, &bad))
	}
	if v, ok := model.ParseVisibility(b.Visibility); ok {
		in.patch.Visibility = &v
	}
	if m := b.ManagedScanConfig; m != nil {
		in.patch.ManagedDiff, in.patch.ManagedFull = switched(m.DiffScan), switched(m.FullScan)
	}
	return bad
}

// switched returns the new value of a switch; nil leaves it unchanged.
func switched(s *api.Switch) *bool {
	if s == nil {
		return nil
	}
	return s.Enabled
}

func updateProject(ctx context.Context, c *core.Call, in *updateInput) (*api.ProjectResponse, error) {
	return patchProject(ctx, c, in.patch, 0)
}

func toggleManagedScan(
	ctx context.Context, c *core.Call, in *core.Request[api.ToggleManagedScanRequest],
) (*api.ProjectResponse, error) {
	every, _ := model.ParseRunEvery(in.Body.Schedule)
	return patchProject(ctx, c, store.ProjectPatch{
		ManagedDiff: switched(in.Body.DiffScan),
		ManagedFull: switched(in.Body.FullScan),
	}, every)
}

// patchProject changes a project, and its schedule if every is not 0.
func patchProject(
	ctx context.Context, c *core.Call, patch store.ProjectPatch, every model.RunEvery,
) (*api.ProjectResponse, error) {
	p, err := c.Project(ctx)
	if err != nil {
		return nil, err
	}
	if err := c.Unchanged("project", core.ProjectTag(p)); err != nil {
		return nil, err
	}
	if p, err = c.Tx.UpdateProject(ctx, p.ID, patch); err == nil && every != 0 {
		err = c.Tx.PutRunPlan(ctx, model.RunPlan{ProjectID: p.ID, Every: every, QueuedAt: c.Tx.Now()})
	}
	if err != nil {
		return nil, err
	}
	return projectResponse(ctx, c, p)
}

// tagsInput is a request for adding tags.
type tagsInput struct {
	Body api.ProjectTagsRequest
	tags []string
}

// Resolve checks what the schema cannot.
func (in *tagsInput) Resolve(ctx huma.Context) []error {
	bad := core.Faults(core.Copies(ctx, &in.Body))
	in.tags = tagsOf(in.Body.Tags, &bad)
	return bad
}

func addProjectTags(ctx context.Context, c *core.Call, in *tagsInput) (*api.ProjectResponse, error) {
	return editTags(ctx, c, func(tags []string) []string { return append(tags, in.tags...) })
}

// tagsRemoval is a request for removing tags, in the query or in the body.
type tagsRemoval struct {
	api.RemoveProjectTagsQuery
	Body api.RemoveProjectTagsRequest
	tags []string
}

// Resolve checks what the schema cannot.
func (in *tagsRemoval) Resolve(ctx huma.Context) []error {
	bad := core.Faults(core.Copies(ctx, &in.Body))
	in.tags = tagsOf(append(in.Tags, in.Body.Tags...), &bad)
	if len(in.Tags)+len(in.Body.Tags) == 0 {
		bad.Add("query.tags", nil, "contains no tag to remove: send tags=NAME, or a body with tags")
	}
	return bad
}

func removeProjectTags(ctx context.Context, c *core.Call, in *tagsRemoval) (*api.ProjectResponse, error) {
	return editTags(ctx, c, func(tags []string) []string {
		return slices.DeleteFunc(tags, func(tag string) bool { return slices.Contains(in.tags, tag) })
	})
}

// editTags changes the tags of the project of the path.
func editTags(ctx context.Context, c *core.Call, edit func([]string) []string) (*api.ProjectResponse, error) {
	p, err := c.Project(ctx)
	if err != nil {
		return nil, err
	}
	tags, err := model.NormalTags(edit(slices.Clone(p.Tags)))
	if err != nil {
		return nil, model.Invalid("body.tags", "%v", err)
	}
	return patchProject(ctx, c, store.ProjectPatch{Tags: &tags}, 0)
}

func deleteProject(ctx context.Context, c *core.Call, _ *core.None) (*api.DeleteProjectResponse, error) {
	p, err := c.Project(ctx)
	if err != nil {
		return nil, err
	}
	return &api.DeleteProjectResponse{ProjectName: p.Name}, c.Tx.DeleteProject(ctx, p.ID)
}

// managedStatusOf converts the effective state of managed scans.
func managedStatusOf(s model.RunStatus) *api.ManagedScanStatus {
	return &api.ManagedScanStatus{
		State: s.State.String(), Reason: s.Reason, Schedule: s.Every.String(),
		NextAt: core.TimeOrNull(s.NextAt), LastRunAt: core.TimeOrNull(s.LastAt),
		LastRunID: core.IDOrNull(s.LastRun), OpenRunID: core.IDOrNull(s.OpenRun),
		LastScanID: core.IDOrNull(s.LastScan), Warning: s.Warning,
	}
}
