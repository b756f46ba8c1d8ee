package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"path"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/redoubt/redoubt/api"
	"github.com/redoubt/redoubt/internal/admin"
	"github.com/redoubt/redoubt/internal/advisory"
	"github.com/redoubt/redoubt/internal/cli/command"
	"github.com/redoubt/redoubt/internal/cli/rulefiles"
	"github.com/redoubt/redoubt/internal/demo"
	"github.com/redoubt/redoubt/internal/exceptions"
	"github.com/redoubt/redoubt/internal/httpx"
	"github.com/redoubt/redoubt/internal/model"
	"github.com/redoubt/redoubt/internal/policy"
	"github.com/redoubt/redoubt/internal/store"
	"github.com/redoubt/redoubt/internal/updater"
)

// demoClock returns a fixed time while the history is played, and the real time afterwards.
type demoClock struct {
	real func() time.Time
	past atomic.Pointer[time.Time]
}

func (c *demoClock) now() time.Time {
	if at := c.past.Load(); at != nil {
		return *at
	}
	return c.real()
}

// freeze sets a fixed time; unfreeze returns to the real time.
func (c *demoClock) freeze(at time.Time) { c.past.Store(&at) }
func (c *demoClock) unfreeze()           { c.past.Store(nil) }

// player plays the demo's history. It sends uploads and triage to the Web API, and performs the
// other events like the commands do.
type player struct {
	app        *command.App
	service    *service
	clock      *demoClock
	start      time.Time
	deployment model.Deployment
	people     map[string]model.Actor
	clients    map[string]*api.Client // by person; "" is CI
	tagged     map[string]bool        // projects
}

// play creates the deployment and its contents.
func (p *player) play() (err error) {
	history := demo.History()
	p.clock.freeze(p.start.Add(-history[0].Age - time.Hour))
	defer p.clock.unfreeze()
	if p.deployment, err = p.service.store.CreateDeployment(p.app.Ctx, "demo", "Demo", p.app.Actor()); err != nil {
		return err
	}
	p.people, p.clients, p.tagged = map[string]model.Actor{}, map[string]*api.Client{}, map[string]bool{}
	if err := p.Update(p.app.Actor(), p.prepare); err != nil {
		return err
	}
	for _, e := range history {
		p.clock.freeze(p.start.Add(-e.Age))
		if err := p.apply(e); err != nil {
			return fmt.Errorf("play the demo's history, %d days ago: %w", int(e.Age.Hours()/24), err)
		}
	}
	return nil
}

func (p *player) Update(by model.Actor, fn func(context.Context, *store.Tx) error) error {
	return p.service.store.Update(p.app.Ctx, p.deployment.ID, by, fn)
}

// prepare creates the people, their tokens and the scanners' rules.
func (p *player) prepare(ctx context.Context, tx *store.Tx) error {
	for _, person := range demo.People {
		u, err := tx.CreateUser(ctx, model.User{Name: person.Name, DisplayName: person.DisplayName}, person.Role)
		if err != nil {
			return err
		}
		p.people[person.Name] = u.Actor()
		if err := p.client(ctx, tx, person.Name, model.Token{
			Name:   person.DisplayName,
			UserID: u.ID,
			Scopes: []model.Scope{model.ScopeWebAPI},
		}); err != nil {
			return err
		}
	}
	if err := p.client(ctx, tx, "", model.Token{Name: "ci", Scopes: []model.Scope{model.ScopeCI}}); err != nil {
		return err
	}
	for _, name := range demo.Rules {
		text, err := demo.Samples.ReadFile(name)
		if err != nil {
			return err
		}
		rules, err := policy.Parse(text)
		if err != nil {
			return rulefiles.InFile(name, err)
		}
		if err := admin.ServeRules(ctx, tx, rules, store.Serving{Checked: true}); err != nil {
			return err
		}
	}
	return nil
}

// client creates a token and a Web API client with it.
func (p *player) client(ctx context.Context, tx *store.Tx, name string, t model.Token) error {
	t.Dialect = model.DialectContract
	secret, _, err := command.CreateToken(ctx, tx, t)
	p.clients[name] = api.New("http://demo", secret)
	p.clients[name].HTTP = &http.Client{Transport: httpx.InProcess{Handler: p.service.server.Handler()}}
	return err
}

// apply performs one event at the time of the demo's clock.
func (p *player) apply(e demo.Event) error {
	switch {
	case e.Scan != nil:
		return p.scan(e.Scan)
	case e.Triage != nil:
		return p.triage(e.By, e.Triage)
	case e.Request != nil:
		return p.requestException(e)
	case e.Comment != nil:
		return p.comment(e.By, *e.Comment)
	case e.Due != nil:
		return p.Update(p.people[e.By], func(ctx context.Context, tx *store.Tx) error { return setDue(ctx, tx, e.Due) })
	case e.View != nil:
		return p.Update(p.people[e.By], func(ctx context.Context, tx *store.Tx) error {
			_, err := tx.AddSavedView(ctx, *e.View)
			return err
		})
	case e.Condition != nil:
		return p.Update(p.people[e.By], func(ctx context.Context, tx *store.Tx) error {
			return addCondition(ctx, tx, *e.Condition)
		})
	case e.Block != nil:
		return p.Update(p.people[e.By], func(ctx context.Context, tx *store.Tx) error { return block(ctx, tx, e.Block) })
	case e.Exception != nil:
		return p.Update(p.people[e.By], func(ctx context.Context, tx *store.Tx) error {
			made := *e.Exception
			made.Until = p.clock.now().Add(e.Lasts).Truncate(24 * time.Hour)
			_, _, err := exceptions.Add(ctx, tx, made)
			return err
		})
	}
	return p.publishAdvisories(e.News)
}

// addCondition adds a condition to the supply-chain policy.
func addCondition(ctx context.Context, tx *store.Tx, c model.PolicyCondition) error {
	supply, err := policyNamed(ctx, tx, "supply-chain")
	if err != nil {
		return err
	}
	supply.Conditions = append(slices.Clip(supply.Conditions), c)
	_, _, err = policy.Save(ctx, tx, supply)
	return err
}

// setDue sets the due days of policies.
func setDue(ctx context.Context, tx *store.Tx, days map[string]model.DueDays) error {
	for _, slug := range slices.Sorted(maps.Keys(days)) {
		p, err := policyNamed(ctx, tx, slug)
		if err != nil {
			return err
		}
		p.Due = days[slug]
		if _, _, err := policy.Save(ctx, tx, p); err != nil {
			return err
		}
	}
	return nil
}

// policyNamed returns a policy by its slug.
func policyNamed(ctx context.Context, tx *store.Tx, slug string) (model.Policy, error) {
	policies, err := tx.Policies(ctx)
	i := slices.IndexFunc(policies, func(p model.Policy) bool { return p.Slug == slug })
	if err == nil && i < 0 {
		err = fmt.Errorf("policy %s: %w", slug, model.ErrNotFound)
	}
	if err != nil {
		return model.Policy{}, err
	}
	return policies[i], nil
}

// block sets the mode of rules to block in all policies with them.
func block(ctx context.Context, tx *store.Tx, rules []string) error {
	policies, err := tx.Policies(ctx)
	for _, rule := range rules {
		for _, p := range policies {
			if _, err := tx.SetRuleMode(ctx, p.ID, rule, model.ModeBlock); err != nil && !errors.Is(err, model.ErrNotFound) {
				return fmt.Errorf("%s: %w", rule, err)
			}
		}
	}
	return err
}

// scan uploads the results of a CI run.
func (p *player) scan(step *demo.Step) error {
	files := make([]api.File, 0, len(step.Files))
	for _, file := range step.Files {
		text, err := demo.Samples.ReadFile(file.Path)
		if err != nil {
			return err
		}
		files = append(files, api.File{Name: file.Name, Data: text})
	}
	_, err := p.clients[""].ImportReports(p.app.Ctx, p.deployment.Slug, api.ImportQuery{
		Project: step.Project, Ref: step.Ref, Commit: step.Commit, RepoURL: step.RepoURL, Full: step.Full, Diff: !step.Full,
	}, files)
	if err != nil || p.tagged[step.Project] {
		return err
	}
	p.tagged[step.Project] = true
	tags := api.List[string](step.Tags)
	_, err = p.clients[demo.Owner].UpdateProject(p.app.Ctx, p.deployment.Slug, step.Project,
		api.UpdateProjectRequest{Tags: &tags})
	return err
}

// triage triages findings as a person. If no findings match, the history is wrong and an error is
// returned.
func (p *player) triage(by string, t *demo.Triage) error {
	r := api.TriageRequest{
		IssueType: t.Type.String(), NewNote: t.Note,
		TriageFilter: api.TriageFilter{Repos: t.Projects, Rules: t.Rules},
	}
	if t.State != 0 {
		r.NewTriageState, r.NewTriageReason = t.State.String(), t.Reason.String()
	}
	if t.Assignee != "" {
		r.NewAssignee = &t.Assignee
	}
	if t.Lasts != 0 {
		r.NewTriageUntil = p.clock.now().Add(t.Lasts).UTC().Format(time.DateOnly)
	}
	done, err := p.clients[by].TriageFindings(p.app.Ctx, p.deployment.Slug, r)
	if err == nil && done.NumTriaged == 0 {
		err = fmt.Errorf("triage by %s of %s in %s: no matching findings",
			by, strings.Join(t.Rules, " "), strings.Join(t.Projects, " "))
	}
	return err
}

// Open lists the open findings of a rule in a project.
func (p *player) Open(by, project, rule string) ([]api.CodeFinding, error) {
	found, err := p.clients[by].ListFindings(p.app.Ctx, p.deployment.Slug, api.FindingsQuery{
		Repos: []string{project}, Rules: []string{rule}, Status: []string{"open"}, Dedup: true,
	})
	if err != nil {
		return nil, err
	}
	return found.SASTFindings.Findings, nil
}

// comment comments on the newest open finding of a rule in a project.
func (p *player) comment(by string, c demo.Comment) error {
	found, err := p.Open(by, c.Project, c.Rule)
	if err != nil {
		return err
	}
	if len(found) == 0 {
		return fmt.Errorf("comment by %s on %s in %s: no matching finding", by, c.Rule, c.Project)
	}
	_, err = p.clients[by].AddFindingComment(p.app.Ctx, p.deployment.Slug, found[0].ID,
		api.AddFindingCommentRequest{Text: c.Text})
	return err
}

// requestException requests an exception as a person.
func (p *player) requestException(e demo.Event) error {
	found, err := p.Open(e.By, e.Request.Project, e.Request.Rule)
	if err != nil {
		return err
	}
	r := api.RequestExceptionRequest{
		Reason: e.Request.Reason, TriageReason: e.Request.TriageReason.String(),
		Until: p.clock.now().Add(e.Lasts).UTC().Format(time.DateOnly),
	}
	for _, f := range found {
		r.IssueIDs = append(r.IssueIDs, api.Int(f.ID))
	}
	_, err = p.clients[e.By].RequestException(p.app.Ctx, p.deployment.Slug, r)
	return err
}

// publishAdvisories loads the current advisories and matches them.
func (p *player) publishAdvisories(names []string) error {
	for _, name := range names {
		s := model.AdvisorySource{Location: path.Base(name), LoadedAt: p.clock.now(), CheckedAt: p.clock.now()}
		done, err := p.load(name, &s)
		if err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		s.Records, s.Refused, s.NewestAt = done.Records, done.Refused, done.Newest
		if err := p.service.store.PutAdvisorySource(p.app.Ctx, s); err != nil {
			return err
		}
	}
	if _, err := p.service.store.PublishAdvisories(p.app.Ctx); err != nil {
		return err
	}
	return updater.MatchDeployments(p.app.Ctx, p.service.store, p.service.advisories, nil, nil)
}

// load reads a directory of records, scores, or the catalog of exploited vulnerabilities.
func (p *player) load(name string, s *model.AdvisorySource) (advisory.LoadResult, error) {
	u := updater.Loader{App: p.app, Store: p.service.store}
	switch path.Ext(name) {
	case ".csv":
		s.Kind = "epss"
	case ".json":
		s.Kind = "kev"
	default:
		s.Kind = "osv"
		folder, err := demo.Folder(name)
		if err != nil {
			return advisory.LoadResult{}, err
		}
		return advisory.Load(p.app.Ctx, p.service.store, advisory.Folder(folder), nil)
	}
	text, err := demo.Samples.ReadFile(name)
	if err != nil {
		return advisory.LoadResult{}, err
	}
	if s.Kind == "kev" {
		return u.Exploited(p.app.Ctx, bytes.NewReader(text))
	}
	today := []byte(p.clock.now().Format(time.DateOnly)) // scores are published daily
	return u.Scores(p.app.Ctx, bytes.NewReader(bytes.Replace(text, []byte(demo.ScoresOf), today, 1)))
}
