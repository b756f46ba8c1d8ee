package dependencies

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/danielgtaylor/huma/v2"

	"github.com/redoubt/redoubt/api"
	"github.com/redoubt/redoubt/internal/apihttp/core"
	"github.com/redoubt/redoubt/internal/model"
	"github.com/redoubt/redoubt/internal/purl"
	"github.com/redoubt/redoubt/internal/weblink"
)

// dependenciesInput is the query for a page of dependencies.
type dependenciesInput struct {
	Body   api.ListDependenciesRequest
	filter model.DependencyFilter
	list   core.List
	after  int64
}

// Resolve converts the body to a filter and decodes the cursor.
func (in *dependenciesInput) Resolve(ctx huma.Context) []error {
	bad := core.Faults(core.Copies(ctx, &in.Body))
	c := core.CallOf(ctx.Context())
	in.filter = dependencyFilter(c, in.Body.DependencyFilter, &bad)
	in.list = c.List("dependencies", in.filter)
	var err error
	if in.after, err = c.Server.Cursors().DecodeNumber(core.AsText, in.list, string(in.Body.Cursor)); err != nil {
		bad.Add("body.cursor", string(in.Body.Cursor), err.Error())
	}
	return bad
}

func dependencyFilter(c *core.Call, f *api.DependencyFilter, bad *core.Faults) model.DependencyFilter {
	out := model.DependencyFilter{Projects: c.Caller.Globs()}
	if f == nil {
		return out
	}
	out.Name, out.Version, out.Lockfile, out.Licenses = f.Name, f.Version, f.LockfilePath, f.License
	for _, t := range f.Transitivity {
		// The schema reports invalid values.
		if kind, ok := model.ParseTransitivity(strings.ToLower(strings.TrimSuffix(t, "_TRANSITIVITY"))); ok {
			out.Transitivities = append(out.Transitivities, kind)
		}
	}
	out.Ecosystems = f.Ecosystem // resolveEcosystems corrects the spelling
	for _, id := range f.RepositoryID {
		out.ProjectIDs = append(out.ProjectIDs, int64(id))
	}
	if c.HostedQuery.Nothing {
		out.ProjectIDs = []int64{0} // no project has this id
	}
	for i, p := range f.PackageFilters {
		if p == (api.PackageFilter{}) || p == (api.PackageFilter{ExactNameMatch: true}) {
			bad.Add(fmt.Sprintf("body.dependencyFilter.packageFilters[%d]", i), nil, "has neither a name nor a version")
		}
		out.Packages = append(out.Packages, model.PackageFilter{
			Name: p.Name, ExactName: p.ExactNameMatch, Version: strings.TrimSpace(p.ExactVersion),
			Lower: strings.TrimSpace(p.VersionLowerBound), Upper: strings.TrimSpace(p.VersionUpperBound),
		})
	}
	return out
}

// resolveEcosystems replaces the ecosystems of a filter by their stored spelling. An unknown
// ecosystem is an error: it would select nothing, which could be mistaken for a result.
func resolveEcosystems(ctx context.Context, c *core.Call, f *model.DependencyFilter) error {
	if len(f.Ecosystems) == 0 {
		return nil
	}
	stored, err := c.Tx.Ecosystems(ctx)
	if err != nil {
		return err
	}
	var bad model.InvalidError
	resolved := slices.Clone(f.Ecosystems)
	for i, sent := range f.Ecosystems {
		found := false
		for _, name := range stored {
			full := purl.Ecosystem(name)
			release, _, _ := strings.Cut(full, ":") // debian also matches debian:12
			if want := purl.Ecosystem(sent); want == full || want == release {
				resolved, found = append(resolved, name), true
			}
		}
		if !found && !purl.IsEcosystem(sent) {
			bad.Fields = append(bad.Fields, model.FieldError{
				Location: fmt.Sprintf("body.dependencyFilter.ecosystem[%d]", i), Value: sent,
				Message: "unknown ecosystem without dependencies: use a known one, such as npm or pypi",
			})
		}
	}
	f.Ecosystems = resolved
	if len(bad.Fields) > 0 {
		return &bad
	}
	return nil
}

func listDependencies(ctx context.Context, c *core.Call, in *dependenciesInput) (*api.ListDependenciesResponse, error) {
	if err := resolveEcosystems(ctx, c, &in.filter); err != nil {
		return nil, err
	}
	rows, more, err := c.Tx.Dependencies(ctx, in.filter, in.after, int(in.Body.PageSize))
	if err != nil {
		return nil, err
	}
	out := &api.ListDependenciesResponse{Dependencies: make([]api.Dependency, len(rows)), HasMore: more}
	for i, d := range rows {
		out.Dependencies[i] = dependencyOf(d)
	}
	if more {
		out.Cursor, err = c.Server.Cursors().EncodeNumber(core.AsText, in.list, rows[len(rows)-1].ID)
	}
	return out, err
}

func dependencyOf(d model.Dependency) api.Dependency {
	licenses := d.Licenses
	if licenses == nil {
		licenses = []string{}
	}
	transitivity := d.Transitivity
	if transitivity == 0 {
		transitivity = model.TransitivityUnknown
	}
	return api.Dependency{
		ID: core.Decimal(d.ID), Name: d.Name, Version: d.Version,
		Ecosystem: d.Ecosystem, RepositoryID: core.Decimal(d.ProjectID),
		LockfilePath: d.Lockfile, Transitivity: transitivity.String(), Licenses: licenses, PURL: d.PURL, Line: int64(d.Line),
		Link: weblink.New(d.RepositoryURL, d.Commit, d.Ref).Line(d.Lockfile, d.Line),
	}
}

// repositoriesInput is the query for a page of projects with dependencies.
type repositoriesInput struct {
	Body   api.ListDependencyRepositoriesRequest
	filter model.DependencyFilter
	list   core.List
	after  int64
}

// Resolve converts the body to a filter and decodes the cursor.
func (in *repositoriesInput) Resolve(ctx huma.Context) []error {
	bad := core.Faults(core.Copies(ctx, &in.Body))
	c := core.CallOf(ctx.Context())
	in.filter = dependencyFilter(c, in.Body.DependencyFilter, &bad)
	in.list = c.List("repositories", in.filter)
	var err error
	if in.after, err = c.Server.Cursors().DecodeNumber(core.AsNumber, in.list, string(in.Body.Cursor)); err != nil {
		bad.Add("body.cursor", string(in.Body.Cursor), err.Error())
	}
	return bad
}

func listDependencyRepositories(
	ctx context.Context, c *core.Call, in *repositoriesInput,
) (*api.ListDependencyRepositoriesResponse, error) {
	if err := resolveEcosystems(ctx, c, &in.filter); err != nil {
		return nil, err
	}
	rows, more, err := c.Tx.DependencyProjects(ctx, in.filter, in.after, int(in.Body.PageSize))
	if err != nil {
		return nil, err
	}
	out := &api.ListDependencyRepositoriesResponse{
		RepositorySummaries: make([]api.RepositorySummary, len(rows)),
		HasMore:             more,
	}
	for i, r := range rows {
		out.RepositorySummaries[i] = api.RepositorySummary{ID: r.ID, Name: r.Name, NumDependencies: int64(r.Dependencies)}
	}
	if more {
		out.Cursor, err = c.Server.Cursors().EncodeNumber(core.AsNumber, in.list, rows[len(rows)-1].ID)
	}
	return out, err
}

// lockfilesInput is the query for a page of lockfiles.
type lockfilesInput struct {
	Body   api.ListLockfilesRequest
	filter model.DependencyFilter
	list   core.List
	after  int64
}

// Resolve converts the body to a filter and decodes the cursor.
func (in *lockfilesInput) Resolve(ctx huma.Context) []error {
	bad := core.Faults(core.Copies(ctx, &in.Body))
	c := core.CallOf(ctx.Context())
	in.filter = dependencyFilter(c, in.Body.DependencyFilter, &bad)
	in.list = c.List("lockfiles "+ctx.Param("repositoryId"), in.filter)
	position, err := c.Server.Cursors().Decode(in.list, string(in.Body.Cursor), 1)
	if err != nil {
		bad.Add("body.cursor", string(in.Body.Cursor), err.Error())
	}
	if position != nil {
		in.after = position[0]
	}
	return bad
}

func listLockfiles(ctx context.Context, c *core.Call, in *lockfilesInput) (*api.ListLockfilesResponse, error) {
	id := c.PathID("repositoryId")
	if _, err := c.VisibleProject(c.Tx.Project(ctx, id)); err != nil {
		return nil, err
	}
	if err := resolveEcosystems(ctx, c, &in.filter); err != nil {
		return nil, err
	}
	rows, more, err := c.Tx.Lockfiles(ctx, id, in.filter, in.after, int(in.Body.PageSize))
	if err != nil {
		return nil, err
	}
	out := &api.ListLockfilesResponse{LockfileSummaries: make([]api.LockfileSummary, len(rows)), HasMore: more}
	for i, l := range rows {
		out.LockfileSummaries[i] = api.LockfileSummary{LockfilePath: l.Path, NumDependencies: int64(l.Dependencies)}
	}
	if more {
		out.Cursor, err = c.Server.Cursors().Encode(in.list, rows[len(rows)-1].ID)
	}
	return out, err
}
