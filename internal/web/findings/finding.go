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

// findingDetail is everything that is known of one finding.
type findingDetail struct {
	component.ShownFinding
	Product  ui.Product
	Own      string // its permalink
	Back     string // where deciding about it leads
	Shut     string // the list without it; empty where it stands alone
	Code     []component.CodeLine
	CodeOf   string      // where and when the code was, if that is not here and now
	NoCode   string      // why there is no code
	NoLink   string      // why there is no link to the code
	Commit   string      // where a secret of the history was found
	Gate     *gateSaying // nil where builds do not fail on it
	Rule     model.Rule
	Project  model.Project
	Steps    []flowStep // of the data flow
	Upgrade  *upgrade   // how to get rid of it; nil where nothing sure is known
	Triage   model.Triage
	Others   []component.ShownFinding // the same on other refs
	History  []moment
	Like     precedent
	Snapshot snapshot
	Removed  bool          // no list shows it any more
	Gone     store.Removal // why, where it is removed
	Advisory string        // address of what the advisories say of it; empty for none
	KEV      *model.KEV
	Way      *model.DependencyPath // how the package gets in; nil where nobody knows
	Done     *decision
	People   *people
	Today    string // in UTC
	Mine     bool
	Ticket   *model.Ticket    // nil: it has none
	Asked    *model.Exception // that waits to be decided; nil: none
	Comment  commentForm

	TicketPossible bool   // one can be created
	TicketFault    string // why a change of the ticket was refused
}

// Touches says what the button does beyond the finding itself.
func (d *findingDetail) Touches() string {
	if len(d.Others) == 0 {
		return ""
	}
	return "holds on " + ui.Plural(len(d.Others), "other branch")
}

// precedent says what was decided about other findings of the rule.
type precedent struct {
	Total, Ignored, FalsePositive, Fixed int
	Address                              string
}

// showFinding is the page of one finding, of whatever product.
func showFinding(req *ui.Request) error { return finding(req, http.StatusOK, nil) }

// findingAgain shows a finding after a refused form: in the panel of the list that back
// names, or else on its own page.
func findingAgain(req *ui.Request, status int, id int64, back string, refused func(*findingDetail)) error {
	if u, err := url.Parse(back); err == nil && req.IsLocal(back) && u.Query().Get("finding") == ui.Decimal(id) {
		for _, p := range ui.Products {
			if u.Path == req.To(p.Path) {
				return showFindings(req, status, p.Type, u.Query(), viewForm{}, refused)
			}
		}
	}
	return finding(req, status, refused)
}

// finding shows the finding that the path names; refused adds the faults of a form.
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
	if err := askGate(req, view, d); err != nil {
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

// without is an address without a parameter; empty where it has none of that name.
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

// detail gathers what there is of a finding. One that no list shows any more,
// as its rule or branch is gone, still answers to its id.
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

// dependencyPath finds how the package of a supply-chain finding gets in.
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
	ways, err := tx.DependencyPaths(ctx, []int64{id})
	if way := ways[id]; way.Direct || len(way.Steps) > 1 {
		d.Way = &way
	}
	return err
}

// advised finds what the advisories say of a vulnerability.
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

// occurrences finds the finding as lists show it, and the same on other refs.
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

// fromStore fills in what lists would show of a finding that they do not.
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

// Fingerprint is what tells the finding from all others of its project.
func (d *findingDetail) Fingerprint() string {
	if d.MatchBasedID != "" {
		return d.MatchBasedID
	}
	return d.SyntacticID
}

// findPrecedent counts what was decided about the rule elsewhere.
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
