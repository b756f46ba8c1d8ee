package ticket

import (
	"context"
	"errors"
	"slices"
	"strings"

	"github.com/redoubt/redoubt/internal/model"
)

// destinations determines where one caller may create tickets. It caches the data that it reads.
//
// Trackers are called with the credential of the deployment, which has wider access than a caller
// bound to projects. Such a caller is limited to the repositories of projects that its globs allow,
// by project name, which may differ from the host's. Of Jira, it is limited to the project in the
// setting of the deployment.
type destinations struct {
	store        Store
	globs        model.ProjectGlobs
	setting      model.TicketSetting
	connections  []model.Connection
	own          map[int64]model.Repository   // of the findings' projects
	repositories map[int64][]model.Repository // cached, by connection
	names        map[int64]string             // cached, by project
}

// newDestinations reads the data that tickets about findings require.
func newDestinations(
	ctx context.Context, s Store, globs model.ProjectGlobs, findings []model.Finding,
) (p *destinations, err error) {
	p = &destinations{store: s, globs: globs, repositories: map[int64][]model.Repository{}, names: map[int64]string{}}
	if p.setting, err = s.TicketSetting(ctx); err != nil {
		return nil, err
	}
	if p.connections, err = s.Connections(ctx); err != nil || len(findings) == 0 {
		return p, err
	}
	projects := model.Map(findings, func(f model.Finding) int64 { return f.ProjectID })
	slices.Sort(projects)
	p.own, err = s.RepositoriesOf(ctx, slices.Compact(projects))
	return p, err
}

// repository returns a repository of a connection by its full name, or a zero value.
func (p *destinations) repository(
	ctx context.Context, connectionID int64, name string,
) (r model.Repository, err error) {
	for _, own := range p.own { // the common case, without a list of the whole connection
		if own.ConnectionID == connectionID && strings.EqualFold(own.FullName, name) {
			return own, nil
		}
	}
	list, known := p.repositories[connectionID]
	if !known {
		if list, err = p.store.Repositories(ctx, connectionID); err != nil {
			return r, err
		}
		p.repositories[connectionID] = list
	}
	if i := slices.IndexFunc(list, func(x model.Repository) bool { return strings.EqualFold(x.FullName, name) }); i >= 0 {
		r = list[i]
	}
	return r, nil
}

// Possible reports whether a ticket can be created about at least one of the findings.
func Possible(ctx context.Context, s Store, findings []model.Finding) (bool, error) {
	had, err := s.TicketsOfLineages(ctx, lineagesOf(findings))
	if err != nil {
		return false, err
	}
	where, err := newDestinations(ctx, s, nil, findings)
	if err != nil {
		return false, err
	}
	checked := map[[2]int64]bool{} // project and failed ticket
	for _, f := range findings {
		was := had[f.LineageID]
		if was.State != model.TicketFailed {
			was = model.Ticket{}
		}
		key := [2]int64{f.ProjectID, was.ID}
		if checked[key] {
			continue
		}
		checked[key] = true
		_, err := Request{}.destination(ctx, where, f.ProjectID, was)
		if _, invalid := errors.AsType[*model.InvalidError](err); !invalid {
			return err == nil, err
		}
	}
	return false, nil
}

// allows reports whether a repository has a project that is visible to the caller.
func (p *destinations) allows(ctx context.Context, r model.Repository) (bool, error) {
	if r.ProjectID == 0 || len(p.globs) == 0 {
		return r.ProjectID != 0, nil
	}
	name, known := p.names[r.ProjectID]
	if !known {
		project, err := p.store.Project(ctx, r.ProjectID)
		if err != nil {
			return false, err
		}
		name = project.Name
		p.names[r.ProjectID] = name
	}
	return p.globs.Allows(name), nil
}

// mayRead reports whether the caller may read ticket states of a tracker's project. It must be a
// repository with a visible project, or the configured Jira project.
func (p *destinations) mayRead(ctx context.Context, c model.Connection, project string) (bool, error) {
	if c.Kind == model.HostJira {
		return p.setting.ConnectionID == c.ID && p.setting.Project == project, nil
	}
	r, err := p.repository(ctx, c.ID, project)
	if err != nil {
		return false, err
	}
	return p.allows(ctx, r)
}

// mayName reports whether the caller may name a tracker's project for a ticket. A caller bound to
// projects may only name those that mayRead allows.
func (p *destinations) mayName(ctx context.Context, c model.Connection, project string) (bool, error) {
	if c.Kind == model.HostJira && len(p.globs) == 0 {
		return true, nil
	}
	return p.mayRead(ctx, c, project)
}

// reaches reports whether a bound caller may know a connection: the configured one, those of the
// findings' projects, and the one with the named repository.
func (p *destinations) reaches(ctx context.Context, c model.Connection, project string) (bool, error) {
	if len(p.globs) == 0 || c.ID == p.setting.ConnectionID {
		return true, nil
	}
	for _, r := range p.own {
		if r.ConnectionID == c.ID {
			return true, nil
		}
	}
	return p.mayRead(ctx, c, project)
}

// stillExists reports whether the intended destination of a ticket still exists and the caller may
// name it.
func (p *destinations) stillExists(ctx context.Context, was model.Ticket) (bool, error) {
	i := slices.IndexFunc(p.connections, func(c model.Connection) bool { return c.ID == was.ConnectionID })
	switch {
	case i < 0:
		return false, nil
	case len(p.globs) > 0 || p.connections[i].Kind == model.HostJira:
		return p.mayName(ctx, p.connections[i], was.Project)
	}
	r, err := p.repository(ctx, was.ConnectionID, was.Project)
	return r.ID != 0, err
}

// destination returns where a ticket about findings of a project is created. The order is: the
// named destination, the previous destination of a retried ticket if it still exists, and the
// setting. If there is no valid destination, it returns a model.InvalidError with a text for users.
func (r Request) destination(
	ctx context.Context, p *destinations, projectID int64, was model.Ticket,
) (t model.Ticket, err error) {
	setting, own := p.setting, p.own[projectID]
	if r.Connection == "" && r.Project == "" {
		exists, err := p.stillExists(ctx, was)
		if err != nil {
			return t, err
		}
		if exists {
			setting.ConnectionID, setting.Project = was.ConnectionID, was.Project
		}
	}
	otherwise := setting.ConnectionID
	if otherwise == 0 {
		otherwise = own.ConnectionID
	}
	c, err := r.connection(ctx, p, otherwise)
	if err != nil {
		return t, err
	}
	t = model.Ticket{ConnectionID: c.ID, Project: r.Project}
	if t.Project == "" && c.ID == setting.ConnectionID {
		t.Project = setting.Project
	}
	if c.Kind == model.HostJira {
		return t, r.jira(ctx, p, c, t.Project)
	}
	if t.Project == "" && own.ConnectionID == c.ID {
		t.Project = own.FullName
	}
	return r.repository(ctx, p, t, c)
}

// connection returns the named connection, or else the one with the given id.
func (r Request) connection(ctx context.Context, p *destinations, otherwise int64) (c model.Connection, err error) {
	i := slices.IndexFunc(p.connections, func(c model.Connection) bool {
		return r.Connection != "" && c.Name == r.Connection || r.Connection == "" && c.ID == otherwise
	})
	known := i >= 0
	if known && r.Connection != "" {
		if known, err = p.reaches(ctx, p.connections[i], r.Project); err != nil {
			return c, err
		}
	}
	switch {
	case !known && r.Connection != "":
		return c, model.Invalid("connection", "Connection %.100q does not exist.", r.Connection)
	case !known:
		return c, model.Invalid("connection",
			"No issue tracker is configured for this project. Set one with redoubt connections tickets, or link an "+
				"existing ticket.")
	case !p.connections[i].Kind.HasIssues():
		return c, model.Invalid("connection", "The connection %s is a plain Git remote, which has no issues.",
			p.connections[i].Name)
	}
	return p.connections[i], nil
}

// jira validates that the caller may name the Jira project of a ticket.
func (r Request) jira(ctx context.Context, p *destinations, c model.Connection, project string) error {
	if !model.IsJiraProject(project) {
		return model.Invalid("project", "Name the Jira project, such as SEC, or set one with redoubt connections tickets.")
	}
	if r.Project == "" {
		return nil
	}
	may, err := p.mayName(ctx, c, project)
	if err == nil && !may {
		err = model.Invalid("project",
			"This token is bound to projects and can use only the configured Jira project, which is not %.100s.", project)
	}
	return err
}

// repository validates the repository of a ticket: the project's own, the one in the setting, or
// that of another project visible to the caller.
func (r Request) repository(
	ctx context.Context, p *destinations, t model.Ticket, c model.Connection,
) (model.Ticket, error) {
	if t.Project == "" {
		return t, model.Invalid("project",
			"The project is not a repository of the connection %s: name the repository for the ticket.", c.Name)
	}
	at, err := p.repository(ctx, c.ID, t.Project)
	if err != nil {
		return t, err
	}
	allowed := at.ID != 0
	if r.Project != "" {
		if allowed, err = p.allows(ctx, at); err != nil {
			return t, err
		}
	}
	switch {
	case !allowed:
		return t, model.Invalid("project", "%.200s is not a repository of a project here.", t.Project)
	case IsPublic(c, at, p.setting):
		return t, model.Invalid("project", "%s", PublicReason(t.Project))
	}
	t.Project = at.FullName
	return t, nil
}
