package web

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"time"

	"github.com/redoubt/redoubt"
	"github.com/redoubt/redoubt/internal/policy"
	"github.com/redoubt/redoubt/internal/store"
)

// modesPage asks whether all rules of a severity get a mode, and says what the gate
// would do about what is open now.
type modesPage struct {
	redoubt.Policy
	Severity string // at least
	Mode     string
	Rules    int // that would change
	From     []modeCount
	Sum      string // of the rules, so that what is done is what was seen
	Again    bool   // they changed since they were seen
	wouldBlock
}

// wouldBlock is what the gate would say of what is open now.
type wouldBlock struct {
	Open     int  // findings of the rules on the branches
	Blocking int  // of them, that would fail a build
	Builds   int  // branches whose build would fail
	Branches int  // that were judged: scanned lately
	Cut      bool // there are more
}

const (
	// judgedDays is how far back a branch may have been scanned to be judged.
	judgedDays = 30
	// judgedScans and judgedFindings bound what is looked at for the answer.
	judgedScans    = 300
	judgedFindings = 50_000
)

// askModes shows what a mode for all rules of a severity would do.
func (req *request) askModes() error {
	q := req.r.URL.Query()
	for name, usual := range map[string]string{"severity": redoubt.SeverityHigh.String(), "mode": redoubt.ModeBlock.String()} {
		if !q.Has(name) {
			q.Set(name, usual)
		}
	}
	return req.showModes(http.StatusOK, q, false)
}

func (req *request) showModes(status int, q url.Values, again bool) error {
	p := &modesPage{Again: again}
	err := req.view(func(ctx context.Context, tx *store.Tx) error {
		rules, err := req.chosenRules(ctx, tx, p, q)
		if err != nil || len(rules) == 0 {
			return err
		}
		mode, _ := redoubt.ParsePolicyMode(p.Mode)
		return p.ask(ctx, tx, req.Clock(), policy.AsIf{GateStorage: tx, Rules: rules, Mode: mode})
	})
	if err != nil {
		return err
	}
	return req.show(status, pageView{Template: "policy_modes", Title: "Modes of " + p.Name, Section: "policies", Data: p})
}

// chosenRules are the rules of the policy that are at least so severe and have another
// mode.
func (req *request) chosenRules(ctx context.Context, tx *store.Tx, p *modesPage, q url.Values) (rules []redoubt.PolicyRule, err error) {
	id, err := req.id()
	if err != nil {
		return nil, err
	}
	severity, ok := redoubt.ParseSeverity(q.Get("severity"))
	if !ok {
		return nil, redoubt.Invalid("severity", "is low, medium, high or critical")
	}
	mode, ok := redoubt.ParsePolicyMode(q.Get("mode"))
	if !ok {
		return nil, redoubt.Invalid("mode", "is monitor, comment or block")
	}
	if p.Policy, err = tx.Policy(ctx, id); err != nil {
		return nil, err
	}
	p.Severity, p.Mode = severity.String(), mode.String()
	for after, more := int64(0), true; more; {
		var page []redoubt.PolicyRule
		if page, more, err = tx.FindPolicyRules(ctx, id, "", 0, after, 10*rulesPerPage); err != nil || len(page) == 0 {
			break
		}
		after = page[len(page)-1].ID
		if err := rateByAdvisories(ctx, tx, page); err != nil {
			return nil, err
		}
		rules = append(rules, slices.DeleteFunc(page, func(r redoubt.PolicyRule) bool { return r.Rule.Severity < severity || r.Mode == mode })...)
	}
	p.count(rules)
	return rules, err
}

// count says how many rules there are by the mode that they have now.
func (p *modesPage) count(rules []redoubt.PolicyRule) {
	p.Rules = len(rules)
	sum := sha256.New()
	byMode := map[redoubt.PolicyMode]int{}
	for _, r := range rules {
		byMode[r.Mode]++
		fmt.Fprintln(sum, r.ID, r.Mode)
	}
	p.Sum = hex.EncodeToString(sum.Sum(nil)[:8])
	for mode := redoubt.ModeBlock; mode > 0; mode-- {
		if byMode[mode] > 0 {
			p.From = append(p.From, modeCount{mode.String(), byMode[mode]})
		}
	}
}

// ask has the gate judge what is open of the rules, on each branch that was scanned
// lately, as if its scan ran again and found the same.
func (w *wouldBlock) ask(ctx context.Context, tx *store.Tx, now time.Time, would policy.AsIf) error {
	scans, more, err := tx.Scans(ctx, redoubt.ScanFilter{Statuses: []redoubt.ScanStatus{redoubt.ScanCompleted}, Since: now.AddDate(0, 0, -judgedDays)}, store.ScanCursor{}, judgedScans)
	if err != nil {
		return err
	}
	w.Cut = more
	changed := map[string]bool{}
	for _, r := range would.Rules {
		changed[r.Rule.Name] = true
	}
	at := map[branchOf]bool{}
	failing, counted := map[branchOf]bool{}, map[int64]bool{}
	streams := map[string]bool{}
	for _, s := range scans {
		on, stream := branchOf{s.ProjectID, s.Ref}, fmt.Sprintln(s.ProjectID, s.Ref, s.Source)
		if streams[stream] || s.Outcome.Recorded() {
			continue
		}
		if w.Open > judgedFindings {
			w.Cut = true
			break
		}
		streams[stream], at[on] = true, true
		blocks, err := w.judge(ctx, tx, s, changed, counted, would)
		if err != nil {
			return err
		}
		if blocks {
			failing[on] = true
		}
	}
	w.Builds, w.Branches = len(failing), len(at)
	return nil
}

// branchOf is a branch of a project.
type branchOf struct {
	project int64
	ref     string
}

// judge has the gate judge what is open of a scan's source, and of the advisories where
// the scan is about dependencies. counted are the findings that were, by id.
func (w *wouldBlock) judge(ctx context.Context, tx *store.Tx, s redoubt.Scan, changed map[string]bool, counted map[int64]bool, would policy.AsIf) (blocks bool, err error) {
	open, err := tx.OpenFindings(ctx, s.ProjectID, s.Ref, s.Source)
	if err != nil {
		return false, err
	}
	all := open
	if s.Products.Has(redoubt.SCA) {
		advised, err := tx.OpenFindings(ctx, s.ProjectID, s.Ref, redoubt.SourceAdvisories)
		if err != nil {
			return false, err
		}
		all = slices.Concat(open, advised)
	}
	before := w.Open
	ours := map[int64]bool{}
	for _, f := range all {
		if changed[f.RuleName] && !counted[f.ID] {
			counted[f.ID], ours[f.ID] = true, true
			w.Open++
		}
	}
	if w.Open == before {
		return false, nil
	}
	project, err := tx.Project(ctx, s.ProjectID)
	if err != nil {
		return false, err
	}
	// The gate reads what the advisories say by itself.
	verdict, err := policy.Reevaluate(ctx, would, project, s, slices.DeleteFunc(open, func(f redoubt.Finding) bool { return !changed[f.RuleName] }))
	for i := range verdict.Blocking {
		if ours[verdict.Blocking[i].Finding.ID] {
			w.Blocking++
			blocks = true
		}
	}
	return blocks, err
}

// setModes gives the rules the mode, all or none, if they are still those that were seen.
func (req *request) setModes() error {
	form, err := req.form()
	if err != nil {
		return err
	}
	p := &modesPage{}
	changed := false
	err = req.update(func(ctx context.Context, tx *store.Tx) error {
		rules, err := req.chosenRules(ctx, tx, p, form)
		if err != nil {
			return err
		}
		if changed = p.Sum != form.Get("sum"); changed {
			return nil
		}
		mode, _ := redoubt.ParsePolicyMode(p.Mode)
		for _, r := range rules {
			if _, err := tx.SetRuleMode(ctx, p.ID, r.Rule.Name, mode); err != nil {
				return err
			}
		}
		return nil
	})
	switch {
	case err != nil:
		return err
	case changed:
		return req.showModes(http.StatusConflict, form, true)
	}
	req.redirect(req.to("/policies/" + decimal(p.ID) + "?" + url.Values{"mode": {p.Mode}, "set": {decimal(int64(p.Rules))}}.Encode()))
	return nil
}
