package projects

import (
	"cmp"
	"context"
	"net/http"
	"slices"

	"github.com/redoubt/redoubt/internal/model"
	"github.com/redoubt/redoubt/internal/store"
	"github.com/redoubt/redoubt/internal/web/component"
	"github.com/redoubt/redoubt/internal/web/ui"
)

// startState is the progress of a deployment's setup.
type startState struct {
	model.FirstStart
	Scan     model.Scan // the newest completed scan; zero if there is none
	Project  string     // of the completed or failed scan
	Failed   model.Scan // the newest failed scan, if none was completed
	Blocking int        // number of rules and conditions that fail builds
	People   int        // number of users who may sign in
	Invited  int        // number of invited users who have not signed in
	Provider bool       // an identity provider is configured

	// Connections and Failing are the numbers of connected and of failing code hosts. They are only
	// set for administrators.
	Connections, Failing int
}

// startStep is a step of the setup with its state.
type startStep struct {
	Code   string // identifies the state in tests
	Count  int    // number in Status; 0: none
	Title  string
	Done   bool
	Status string // describes the state
	Link   string // address of the result; empty if there is none
}

// Scanned reports whether a scan was completed.
func (s *startState) Scanned() bool { return s.Scan.ID != 0 }

// Decided reports whether the blocking rules were decided.
func (s *startState) Decided() bool { return s.Blocking > 0 || s.BlocksNothing }

// Accompanied reports whether other users can sign in.
func (s *startState) Accompanied() bool { return s.People > 1 || s.Provider }

// Complete reports whether all steps are done.
func (s *startState) Complete() bool { return s.Scanned() && s.Decided() && s.Accompanied() }

// Open reports whether the viewer has steps left. The steps for blocking and for users require an
// administrator.
func (s *startState) Open(v ui.Viewer) bool {
	return !s.Left && !s.Complete() && (v.May(model.RoleAdmin) || !s.Scanned())
}

// Steps returns the steps that the viewer can do.
func (s *startState) Steps(org string, v ui.Viewer) []startStep {
	scan := startStep{Code: "not-scanned", Title: "First scan", Done: s.Scanned(), Status: "Waiting for the first scan"}
	switch {
	case s.Scanned():
		scan.Code, scan.Status, scan.Link = "scanned", s.Project+" was scanned", org+"/scans/"+ui.Decimal(s.Scan.ID)
	case s.Failed.ID != 0:
		scan.Code, scan.Status, scan.Link = "failed", "The scan of "+s.Project+
			" failed. Waiting for a successful scan", org+"/scans/"+ui.Decimal(s.Failed.ID)
	}
	if !v.May(model.RoleAdmin) {
		return []startStep{scan}
	}
	blocks := startStep{
		Code:   "undecided",
		Title:  "Blocking rules",
		Done:   s.Decided(),
		Status: "Builds do not fail yet",
	}
	switch {
	case s.Blocking > 0:
		blocks.Code, blocks.Count = "blocking", s.Blocking
		blocks.Status, blocks.Link = "Blocking rules and conditions: "+ui.Count(s.Blocking), org+"/policies"
	case s.BlocksNothing:
		blocks.Code, blocks.Status = "blocks-nothing", "Nothing blocks for now"
	}
	people := startStep{Code: "alone", Title: "Invite people", Done: s.Accompanied(), Status: "Only you so far"}
	switch {
	case s.People > 1:
		people.Code, people.Count = "people", s.People
		people.Status, people.Link = ui.Count(s.People)+" people", org+ui.UsersPath
	case s.Provider:
		people.Code, people.Status = "provider", "Users sign in through your identity provider"
	case s.Invited > 0:
		people.Code, people.Count = "invited", s.Invited
		people.Status, people.Link = ui.Count(s.Invited)+" invited, none has joined yet", org+ui.UsersPath
	}
	return []startStep{scan, blocks, people}
}

// loadStartState reads the progress of the setup. If the guide was dismissed, it reads nothing more
// unless evenIfDismissed is set.
func loadStartState(req *ui.Request, evenIfDismissed bool) (s *startState, err error) {
	s = &startState{Provider: req.SignIn != nil && req.SignIn.Provider != nil}
	err = req.View(func(ctx context.Context, tx *store.Tx) (err error) {
		if s.FirstStart, err = tx.FirstStart(ctx); err != nil || s.Left && !evenIfDismissed {
			return err
		}
		return s.read(ctx, tx, req.Viewer)
	})
	return s, err
}

func (s *startState) read(ctx context.Context, tx *store.Tx, v ui.Viewer) error {
	if err := s.readScan(ctx, tx); err != nil {
		return err
	}
	if !v.May(model.RoleAdmin) {
		return nil
	}
	if err := s.readPolicies(ctx, tx); err != nil {
		return err
	}
	members, err := tx.Members(ctx)
	if err != nil {
		return err
	}
	s.People = len(slices.DeleteFunc(members, func(m model.Member) bool { return !m.Enabled() }))
	invitations, err := tx.Invitations(ctx)
	s.Invited = len(invitations)
	return err
}

// readScan reads the newest completed scan or, if there is none, the newest failed one. The failed
// scan is shown while the user waits for the first completed one.
func (s *startState) readScan(ctx context.Context, tx *store.Tx) error {
	for status, into := range map[model.ScanStatus]*model.Scan{model.ScanCompleted: &s.Scan, model.ScanError: &s.Failed} {
		scans, _, err := tx.Scans(ctx, model.ScanFilter{Statuses: []model.ScanStatus{status}}, store.ScanCursor{}, 1)
		if err != nil {
			return err
		}
		if len(scans) > 0 {
			*into = scans[0]
		}
	}
	of := cmp.Or(s.Scan.ProjectID, s.Failed.ProjectID)
	names, err := tx.ProjectNames(ctx, []int64{of})
	s.Project = names[of]
	return err
}

// readPolicies counts the rules and conditions that fail builds.
func (s *startState) readPolicies(ctx context.Context, tx *store.Tx) error {
	counts, err := tx.PolicyRuleCounts(ctx)
	if err != nil {
		return err
	}
	for _, c := range counts {
		if c.Mode == model.ModeBlock {
			s.Blocking += c.Rules
		}
	}
	policies, err := tx.Policies(ctx)
	for _, p := range policies {
		for _, c := range p.Conditions {
			if c.Mode == model.ModeBlock {
				s.Blocking++
			}
		}
	}
	return err
}

// startPage is the setup guide.
type startPage struct {
	*startState
	List     []startStep
	Methods  []setupCommand
	MadeAs   model.Token // the new token; zero if none was just created
	Made     string      // its secret, shown once
	MayToken bool
	MayHosts bool
	Done     *ui.Message
}

// openStart shows the setup guide.
func openStart(req *ui.Request) error {
	s, err := loadStartState(req, true)
	if err != nil {
		return err
	}
	return showStart(req, s)
}

func showStart(req *ui.Request, s *startState) error {
	p := &startPage{
		startState: s,
		List:       s.Steps(req.To(""), req.Viewer),
		MayToken:   req.Viewer.May(model.RoleTriager),
		MayHosts:   req.Viewer.May(model.RoleAdmin),
		Done:       ui.DoneMessage(doneStart, req.HTTP.URL.Query().Get("done")),
	}
	var err error
	if p.MadeAs, p.Made, err = component.CreatedToken(req, ui.StartPath); err != nil {
		return err
	}
	p.Methods = setupTabs(req.BaseURL(), p.Made != "", req.HTTP.URL.Query().Get("from"), p.MadeAs.Name)
	if p.MayHosts {
		err := req.View(func(ctx context.Context, tx *store.Tx) error {
			list, err := tx.Connections(ctx)
			for _, c := range list {
				p.Connections++
				if c.Problem != "" {
					p.Failing++
				}
			}
			return err
		})
		if err != nil {
			return err
		}
	}
	return req.Show(http.StatusOK, ui.Page{Template: "start", Title: "Get started", Section: "overview", Data: p})
}

// startSteps renders only the steps, for a page that polls.
func startSteps(req *ui.Request) error {
	if !req.Partial() {
		req.Redirect(req.To(ui.StartPath))
		return nil
	}
	s, err := loadStartState(req, true)
	if err != nil {
		return err
	}
	p := &startPage{startState: s, List: s.Steps(req.To(""), req.Viewer)}
	return req.Show(http.StatusOK, ui.Page{Template: "start", Data: p, Part: "startsteps"})
}

// leaveStart dismisses the setup guide.
func leaveStart(req *ui.Request) error {
	if err := chooseStart(req, func(f *model.FirstStart) { f.Left = true }); err != nil {
		return err
	}
	req.Redirect(req.To("/overview"))
	return nil
}

// blockNothing stores the decision to block nothing.
func blockNothing(req *ui.Request) error {
	if err := chooseStart(req, func(f *model.FirstStart) { f.BlocksNothing = true }); err != nil {
		return err
	}
	req.Redirect(req.To(ui.StartPath + "?done=blocks-nothing"))
	return nil
}

func chooseStart(req *ui.Request, choose func(*model.FirstStart)) error {
	return req.Update(func(ctx context.Context, tx *store.Tx) error {
		f, err := tx.FirstStart(ctx)
		if err != nil {
			return err
		}
		choose(&f)
		return tx.SetFirstStart(ctx, f)
	})
}

// doneStart contains the notices about completed actions, by the word in the address.
var doneStart = map[string]string{
	"blocks-severity": "Conditions added. They apply from the next build.",
	"blocks-nothing":  "Builds do not fail for now. To change this, edit the policies.",
}
