package mcp

import (
	"context"
	"errors"
	"fmt"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/redoubt/redoubt/api"
	"github.com/redoubt/redoubt/internal/model"
)

func (a *assistant) projectTools(s *sdk.Server) {
	reader(s, tool{
		"list_projects", "List projects",
		"Lists projects by name, 25 per page, with their branches, tags and last scan.",
	}, a.listProjects)
	reader(s, tool{
		"search_scans", "Search scans",
		"Lists scans, newest first, 25 per page, with project, branch, status and number of findings.",
	}, a.searchScans)
	reader(s, tool{"get_scan", "Read a scan", "Returns a scan by its id."}, a.getScan)
}

type projectsInput struct {
	Page int64 `json:"page,omitempty" jsonschema:"page of 25 projects, starting at 0"`
}

func (a *assistant) listProjects(ctx context.Context, in projectsInput) (*sdk.CallToolResult, error) {
	if in.Page < 0 {
		return nil, fmt.Errorf("invalid page %d: pages start at 0", in.Page)
	}
	list, err := a.Client.ListProjects(ctx, a.Deployment, api.ProjectsQuery{Page: in.Page, PageSize: pageSize})
	if err != nil {
		return nil, err
	}
	message := fmt.Sprintf("%d projects on page %d.", len(list.Projects), in.Page)
	if len(list.Projects) == pageSize {
		message += fmt.Sprintf(" There may be more: request page %d.", in.Page+1)
	}
	return answer(message, list.Projects)
}

// ofProject identifies one project.
type ofProject struct {
	Project   string `json:"project,omitempty" jsonschema:"name of one project, such as acme/payments; all projects when absent" also:"projects"`
	ProjectID int64  `json:"project_id,omitempty" jsonschema:"id of the project, instead of its name"`
}

// projectID returns the id of the project, or 0 if none is given.
func (a *assistant) projectID(ctx context.Context, of ofProject) (int64, error) {
	switch {
	case of.Project == "":
		return of.ProjectID, nil
	case of.ProjectID != 0:
		return 0, errors.New("project and project_id are both set: use one of them")
	}
	ids, err := a.projectIDs(ctx, []string{of.Project})
	if err != nil {
		return 0, err
	}
	return ids[0], nil
}

// projectIDs returns the ids of projects by name.
func (a *assistant) projectIDs(ctx context.Context, names []string) (ids []int64, err error) {
	if len(names) > pageSize {
		return nil, fmt.Errorf("projects has %d names: use at most %d", len(names), pageSize)
	}
	for _, name := range names {
		if err := model.CheckProjectName(name); err != nil {
			return nil, err
		}
		found, err := a.Client.GetProject(ctx, a.Deployment, name)
		if err != nil {
			return nil, err
		}
		ids = append(ids, found.Project.ID)
	}
	return ids, nil
}

type scansInput struct {
	ofProject
	Branch   string   `json:"branch,omitempty" jsonschema:"branch, full or short"`
	Since    string   `json:"since,omitempty" jsonschema:"only scans after this date or time"`
	Statuses []string `json:"statuses,omitempty" jsonschema:"SCAN_STATUS_RUNNING, SCAN_STATUS_COMPLETED, SCAN_STATUS_ERROR or SCAN_STATUS_NEVER_FINISHED"`
	Cursor   string   `json:"cursor,omitempty" jsonschema:"cursor returned with the previous page"`
}

func (a *assistant) searchScans(ctx context.Context, in scansInput) (*sdk.CallToolResult, error) {
	id, err := a.projectID(ctx, in.ofProject)
	if err != nil {
		return nil, err
	}
	r := api.SearchScansRequest{
		Branch:       in.Branch,
		Since:        api.Instant(in.Since),
		RepositoryID: api.Int(id),
		Cursor:       api.ID(in.Cursor),
		Limit:        pageSize,
	}
	for _, s := range in.Statuses {
		r.Statuses = append(r.Statuses, api.ScanStatus(s))
	}
	list, err := a.Client.SearchScans(ctx, a.Deployment, r)
	if err != nil {
		return nil, err
	}
	return answer(fmt.Sprintf("%d scans.%s", len(list.Scans), next(list.Cursor)), list.Scans)
}

type scanInput struct {
	ID int64 `json:"id" jsonschema:"id of the scan"`
}

func (a *assistant) getScan(ctx context.Context, in scanInput) (*sdk.CallToolResult, error) {
	scan, err := a.Client.GetScan(ctx, a.Deployment, in.ID)
	if err != nil {
		return nil, err
	}
	return answer(fmt.Sprintf("Scan %d.", in.ID), scan)
}
