package findings

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"net/url"
	"strings"

	"github.com/redoubt/redoubt/internal/index"
	"github.com/redoubt/redoubt/internal/model"
	"github.com/redoubt/redoubt/internal/store"
	"github.com/redoubt/redoubt/internal/web/component"
	"github.com/redoubt/redoubt/internal/web/ui"
)

// findingDetail contains all data of one finding.
type findingDetail struct {
	component.ShownFinding
	Product        ui.Product
	Own            string // permalink
	Back           string // page to open after a decision
	Shut           string // address of the list without the panel; empty on the finding's own page
	Code           []component.CodeLine
	CodeOf         string      // where and when the code was read, if it is not the current code
	NoCode         string      // why the code is missing
	NoLink         string      // why the link to the code is missing
	Commit         string      // commit in whose history a secret was found
	Gate           *gateSaying // nil if builds do not fail on it
	Rule           model.Rule
	Project        model.Project
	Steps          []flowStep // steps of the data flow
	Upgrade        *upgrade   // how to fix it; nil if unknown
	Triage         model.Triage
	Others         []component.ShownFinding // occurrences on other refs
	History        []moment
	Like           precedent
	Snapshot       snapshot
	Removed        bool          // lists no longer contain it
	Gone           store.Removal // the reason for the removal
	Advisory       string        // address of the advisory page; empty for none
	KEV            *model.KEV
	DependencyPath *model.DependencyPath // how the package is included; nil if unknown
	Done           *decision
	People         *people
	Today          string // in UTC
	Mine           bool
	Ticket         *model.Ticket    // nil if there is none
	PendingRequest *model.Exception // pending exception request; nil if there is none
	Comment        commentForm

	TicketPossible bool   // a ticket can be created
	TicketFault    string // why a change of the ticket was rejected
}

// Touches describes the effect on other branches, for the button.
func (d *findingDetail) Touches() string {
	if len(d.Others) == 0 {
		return ""
	}
	return "also applies to " + ui.Plural(len(d.Others), "other branch")
}

// precedent counts the decisions about other findings of the rule.
type precedent struct {
	Total, Ignored, FalsePositive, Fixed int
	Address                              string
}

// showFinding shows the page of one finding of any product.
func showFinding(req *ui.Request) error { return finding(req, http.StatusOK, nil) }

// redisplayFinding shows a finding after a rejected form: in the panel of the list in back, or else
// on its own page.
func redisplayFinding(req *ui.Request, status int, id int64, back string, refused func(*findingDetail)) error {
	if u, err := url.Parse(back); err == nil && req.IsLocal(back) && u.Query().Get("finding") == ui.Decimal(id) {
		for _, p := range ui.Products {
			if u.Path == req.To(p.Path) {
				return showFindings(req, status, p.Type, u.Query(), viewForm{}, refused)
			}
		}
	}
	return finding(req, status, refused)
}

// finding shows the finding in the path; refused adds the faults of a form.
func finding(req *ui.Request, status int, refused func(*findingDetail)) error {
	view, err := req.Findings()
	if err != nil {
		return err
	}
	back := req.HTTP.URL.Query().Get("back")
	if !req.IsLocal(back) {
		back = req.To("/findings/" + ui.Decimal(req.PathID))
	}
	d, err := detail(req, view, req.PathID, back)
	if err != nil {
		return err
	}
	if err := evaluateGate(req, view, d); err != nil {
		return err
	}
	if d.Done, err = lastDecision(req, req.HTTP.URL.Query().Get("done"), d.Own); err != nil {
		return err
	}
	if refused != nil {
		refused(d)
	}
	return req.Show(status, ui.Page{
		Template: "finding",
		Title:    d.Title(),
		Section:  d.Product.Section,
		Data:     d,
		Part:     "panel",
	})
}

// without removes a parameter from an address. It returns "" if the address does not have the
// parameter.
func without(address, name string) string {
	u, err := url.Parse(address)
	if err != nil || !u.Query().Has(name) {
		return ""
	}
	q := u.Query()
	q.Del(name)
	u.RawQuery = q.Encode()
	return u.String()
}

// detail reads all data of a finding. A finding whose rule or branch was deleted is still available
// by id.
func detail(req *ui.Request, view *index.View, id int64, back string) (*findingDetail, error) {
	d := &findingDetail{Back: back, Shut: without(back, "finding"), Own: req.To("/findings/" + ui.Decimal(id))}
	var o store.Occurrence
	err := req.View(func(ctx context.Context, tx *store.Tx) (err error) {
		if o, err = tx.Finding(ctx, id); err != nil {
			return err
		}
		d.Triage, d.Product = o.Lineage.Triage, ui.ProductOf(o.IssueType)
		if d.Rule, err = tx.Rule(ctx, o.RuleID); err != nil {
			return err
		}
		if d.Project, err = tx.Project(ctx, o.ProjectID); err != nil {
			return err
		}
		if err := d.dependencyPath(ctx, tx, o); err != nil {
			return err
		}
		if err := advised(ctx, req, tx, d, model.BodyVulnerability(o.Body)); err != nil {
			return err
		}
		if err := d.evidence(ctx, tx, o); err != nil {
			return err
		}
		code, err := component.CodeOf(ctx, tx, o)
		if err != nil {
			return err
		}
		d.Code, d.CodeOf, d.NoCode = code.Lines, code.Of, code.Absent
		if err := d.linked(ctx, tx, o); err != nil {
			return err
		}
		return past(ctx, req, tx, d, o)
	})
	if err != nil {
		return nil, err
	}
	if err := occurrences(req, view, d, o); err != nil {
		return nil, err
	}
	component.Highlight(req.HTTP.Context(), o.Path, d.Code)
	d.Upgrade = upgradeOf(d.ShownFinding)
	d.Today, d.Mine = req.Today(), d.Triage.Assignee == req.Viewer.User
	if d.Assignee = d.Triage.Assignee; d.Assignee != "" {
		d.Person = d.People.label(d.Assignee)
	}
	d.Like = findPrecedent(req, view, o)
	d.Snapshot = snapshotOf(view.Version(), o.IssueType, []int64{o.ID})
	return d, nil
}

// dependencyPath reads how the package of a supply-chain finding is included.
func (d *findingDetail) dependencyPath(ctx context.Context, tx *store.Tx, o store.Occurrence) error {
	if o.IssueType != model.SCA {
		return nil
	}
	id, err := tx.FindingDependency(ctx, o.ID)
	if errors.Is(err, model.ErrNotFound) {
		return nil
	}
	if err != nil {
		return err
	}
	paths, err := tx.DependencyPaths(ctx, []int64{id})
	if path := paths[id]; path.Direct || len(path.Steps) > 1 {
		d.DependencyPath = &path
	}
	return err
}

// advised sets the link to the advisory of a vulnerability.
func advised(ctx context.Context, req *ui.Request, tx *store.Tx, d *findingDetail, name string) error {
	if name == "" {
		return nil
	}
	names, err := tx.AdvisoryNames(ctx, name)
	if err != nil {
		return err
	}
	if len(names) > 0 {
		d.Advisory = req.To("/advisories/" + url.PathEscape(name))
	}
	exploited, err := tx.Exploited(ctx, append(names, strings.ToUpper(name)))
	for _, k := range exploited {
		if d.KEV == nil || k.Added.Before(d.KEV.Added) {
			d.KEV = &k
		}
	}
	return err
}

// occurrences reads the finding in its list form, and its occurrences on other refs.
func occurrences(req *ui.Request, view *index.View, d *findingDetail, o store.Occurrence) error {
	ids, err := view.Occurrences(req.HTTP.Context(), o.IssueType, []int64{o.LineageID})
	if err != nil {
		return err
	}
	page, err := view.Page(req.HTTP.Context(), model.FindingFilter{IssueType: o.IssueType, HasIDs: true, IDs: ids},
		0, max(len(ids), 1))
	if err != nil {
		return err
	}
	all, err := component.ShownFindings(page)
	if err != nil {
		return err
	}
	for _, f := range all {
		if f.ID == o.ID {
			d.ShownFinding = f
		} else {
			d.Others = append(d.Others, f)
		}
	}
	if d.Removed = d.ID == 0; d.Removed {
		return d.fromStore(o)
	}
	return nil
}

// fromStore sets the list form of a finding that no list contains.
func (d *findingDetail) fromStore(o store.Occurrence) error {
	rule, err := d.Rule.Members()
	if err != nil {
		return err
	}
	text := append(append([]byte("{"), o.Body...), ',')
	text = append(append(text, rule...), `""}}`...)
	if err := json.Unmarshal(text, &d.ShownFinding); err != nil {
		return err
	}
	f := &d.Finding
	f.ID, f.Ref, f.Severity, f.Confidence = o.ID, o.Ref, o.Severity.String(), o.Confidence.String()
	f.CreatedAt.Time, f.RelevantSince.Time = o.CreatedAt, o.RelevantSince
	f.Repository.Name, f.Repository.URL = d.Project.Name, d.Project.URL
	f.State, f.TriageState, f.Rule.Message = o.State.String(), o.Lineage.Triage.State.String(), d.Rule.Message
	return nil
}

// Fingerprint returns the identifier that distinguishes the finding from all others of its project.
func (d *findingDetail) Fingerprint() string {
	if d.MatchBasedID != "" {
		return d.MatchBasedID
	}
	return d.SyntacticID
}

// findPrecedent counts the decisions about other findings of the rule.
func findPrecedent(req *ui.Request, view *index.View, o store.Occurrence) precedent {
	p := ui.ProductOf(o.IssueType)
	s := &search{
		product: p,
		base:    req.To(p.Path),
		values:  map[string][]string{string(index.FacetRule): {o.RuleName}},
		except:  map[string][]string{},
	}
	filter := model.FindingFilter{IssueType: o.IssueType, Dedup: true, Rules: []string{o.RuleName}}
	out := precedent{Total: view.Count(filter), Address: s.address()}
	ignored, fixed := filter, filter
	ignored.Statuses, fixed.Statuses = []model.Status{model.StatusIgnored}, []model.Status{model.StatusFixed}
	out.Ignored, out.Fixed = view.Count(ignored), view.Count(fixed)
	ignored.TriageReasons = []model.TriageReason{model.FalsePositive}
	out.FalsePositive = view.Count(ignored)
	return out
}
