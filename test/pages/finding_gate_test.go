package pages

import (
	"context"
	"regexp"
	"slices"
	"strconv"
	"testing"

	"github.com/redoubt/redoubt/internal/ingest"
	"github.com/redoubt/redoubt/internal/model"
	"github.com/redoubt/redoubt/internal/policy"
	"github.com/redoubt/redoubt/internal/store"
	"github.com/redoubt/redoubt/internal/web/ui"
)

// supplyReport returns a report of vulnerable dependencies, one of each severity.
func supplyReport(s *site, project string, tags []string, ref string, full bool, names ...string) ingest.Upload {
	r := &model.Report{Tool: "scanner", Products: model.Products(0).With(model.SCA), StartedAt: s.clock.Now()}
	for i, name := range names {
		severity := model.Severity(1 + i%4)
		rule := &model.Rule{Name: "vulnerable-" + name, Message: name, IssueType: model.SCA, Severity: severity, Confidence: model.ConfidenceHigh}
		r.Rules = append(r.Rules, rule)
		r.Results = append(r.Results, model.Result{
			Item: "results[0]", Rule: rule, Path: "go.sum", Location: model.Location{Line: i + 1}, Message: name, Severity: severity, Confidence: model.ConfidenceHigh,
			Dependency: &model.Vulnerable{Ecosystem: "gomod", Package: name, Version: "1.0.0", Transitivity: model.Transitivity(1 + i%2), Lockfile: "go.sum", Reachability: model.Reachable},
		})
	}
	return ingest.Upload{Project: model.Project{Name: project, Tags: tags}, Ref: ref, Commit: "c" + ref, Full: full, DeclaredFull: full, Report: r}
}

// setConditions replaces the conditions of the supply chain policy.
func (s *site) setConditions(conditions ...model.PolicyCondition) {
	s.t.Helper()
	id, err := strconv.ParseInt(policyOf(s, "supply-chain"), 10, 64)
	if err != nil {
		s.t.Fatal(err)
	}
	s.change(func(ctx context.Context, tx *store.Tx) error {
		p, err := tx.Policy(ctx, id)
		if err != nil {
			return err
		}
		for _, c := range p.Conditions {
			if p, err = tx.Policy(ctx, p.ID); err == nil {
				_, err = policy.RemoveCondition(ctx, tx, p, c.ID)
			}
			if err != nil {
				return err
			}
		}
		for _, c := range conditions {
			if p, err = tx.Policy(ctx, p.ID); err == nil {
				_, err = policy.AddCondition(ctx, tx, p, c)
			}
			if err != nil {
				return err
			}
		}
		return nil
	})
}

var gateTag = regexp.MustCompile(`<span class="tag warn" title="[^"]*" data-gate="([a-z-]+)"( data-condition)?>`)

// TestScanPageMatchesGate checks that a finding's page shows the gate's result. It covers
// rules and conditions of each mode, and policies for some projects, tags and branches.
func TestScanPageMatchesGate(t *testing.T) {
	s := newSite(t)
	names := []string{"low-a", "medium-a", "high-a", "critical-a"}
	s.build(supplyReport(s, "acme/shop", []string{"pci"}, "main", true, "old"))
	s.build(supplyReport(s, "acme/tools", nil, "main", true, "old"))
	block := model.PolicyCondition{Mode: model.ModeBlock, Severity: model.SeverityHigh}
	with := func(edit func(*model.PolicyCondition)) model.PolicyCondition {
		c := block
		edit(&c)
		return c
	}
	counts := map[string]int{}
	for what, conditions := range map[string][]model.PolicyCondition{
		"none": nil, "high": {block},
		"comment": {with(func(c *model.PolicyCondition) { c.Mode = model.ModeComment })},
		"monitor": {with(func(c *model.PolicyCondition) { c.Mode = model.ModeMonitor })},
		"project": {with(func(c *model.PolicyCondition) { c.Scope.Projects = model.ProjectGlobs{"acme/shop"} })},
		"tag":     {with(func(c *model.PolicyCondition) { c.Scope.Tags = []string{"pci"} })},
		"branch":  {with(func(c *model.PolicyCondition) { c.Branches = model.ProjectGlobs{"topic/*"} })},
		"of two":  {with(func(c *model.PolicyCondition) { c.Mode = model.ModeComment }), with(func(c *model.PolicyCondition) { c.Direct = true; c.Severity = 0 })},
	} {
		s.setConditions(conditions...)
		for _, u := range []ingest.Upload{
			supplyReport(s, "acme/shop", []string{"pci"}, "topic/x", false, names...), supplyReport(s, "acme/shop", []string{"pci"}, "fix", false, names...),
			supplyReport(s, "acme/tools", nil, "topic/x", false, names...), supplyReport(s, "acme/shop", []string{"pci"}, "main", true, "old"),
		} {
			sum := s.build(u)
			blocked, findings := s.failedOn(sum.ScanID)
			if len(findings) == 0 {
				t.Fatalf("%s: the scan of %s has no findings", what, u.Ref)
			}
			for _, id := range findings {
				word, condition := "", ""
				if m := gateTag.FindStringSubmatch(s.page("/findings/" + ui.Decimal(id))); m != nil {
					word, condition = m[1], m[2]
				}
				if want := slices.Contains(blocked, id); (word == "blocks") != want {
					t.Errorf("%s: for finding %d on %s of %s the page shows %q; its build fails: %v", what, id, u.Ref, u.Project.Name, word, want)
				}
				if word != "" && condition == "" {
					t.Errorf("%s: the page does not name the condition", what)
				}
				counts[word]++
			}
		}
	}
	if counts["blocks"] < 10 || counts[""] < 10 {
		t.Errorf("got %v", counts)
	}
	s.setConditions(model.PolicyCondition{Mode: model.ModeBlock, Severity: model.SeverityLow})
	shows(t, s.page("/findings/"+rowID(s, "/supply-chain/vulnerabilities?q=old")), "[data-gate=blocks-new]")
}

// failedOn returns the findings on which a scan failed its build, and all open findings on its ref.
func (s *site) failedOn(scan int64) (blocked, open []int64) {
	s.t.Helper()
	s.change(func(ctx context.Context, tx *store.Tx) error {
		of, err := tx.Scan(ctx, scan)
		if err != nil {
			return err
		}
		account, err := tx.ScanAccount(ctx, scan)
		if err != nil {
			return err
		}
		if account.Gate != nil {
			for _, b := range account.Gate.Blocking {
				blocked = append(blocked, b.FindingID)
			}
		}
		found, err := tx.OpenFindings(ctx, of.ProjectID, of.Ref, of.Source)
		for i := range found {
			open = append(open, found[i].ID)
		}
		return err
	})
	return blocked, open
}
