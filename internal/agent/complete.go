package agent

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"time"

	"github.com/redoubt/redoubt/api"
	"github.com/redoubt/redoubt/internal/auth"
	"github.com/redoubt/redoubt/internal/conceal"
	"github.com/redoubt/redoubt/internal/exceptions"
	"github.com/redoubt/redoubt/internal/gate"
	"github.com/redoubt/redoubt/internal/httpx"
	"github.com/redoubt/redoubt/internal/ingest"
	"github.com/redoubt/redoubt/internal/model"
	"github.com/redoubt/redoubt/internal/policy"
	"github.com/redoubt/redoubt/internal/report"
	"github.com/redoubt/redoubt/internal/report/semgrep"
	"github.com/redoubt/redoubt/internal/store"
)

// whatToDo precedes the link in the reason of a failed build.
const whatToDo = " View blocking findings: "

// completeResponse contains the result of the gate. The ids of secrets are never stored, so for
// secrets only the override and its reason fail the build.
type completeResponse struct {
	Success  bool     `json:"success"`
	Override bool     `json:"app_block_override,omitempty"`
	Reason   string   `json:"app_block_reason,omitempty"`
	Blocking []string `json:"app_blocking_match_based_ids,omitempty"`
	// Outcome and Note are extensions that scanners ignore. They contain the outcome of a scan that
	// was recorded only, and the reason.
	Outcome string `json:"scan_outcome,omitempty"`
	Note    string `json:"scan_note,omitempty"`
}

// storedResponse is the stored response with the outcome of the scan.
type storedResponse struct {
	completeResponse
	Outcome json.RawMessage `json:"outcome,omitempty"`
}

// complete stores the completion of a scan and has the scan applied. The response is stored in the
// same transaction, because the gate evaluates the state before the scan. A repeated request
// returns the stored response. If applying takes longer than Config.Wait, success is false, and the
// scanner repeats the same request.
func (a *Agent) complete(w http.ResponseWriter, r *http.Request, caller auth.Caller) error {
	id, err := scanID(r)
	if err != nil {
		return err
	}
	done, err := semgrep.ReadCICompletion(r.Body, a.options("completion", r.Body))
	if err != nil {
		return err
	}
	uniqueID, text, queued, err := a.queue(r.Context(), caller, id, done)
	waits := a.Wait > 0 || !queued // a wait of zero responds immediately, even if the job is fast
	if err == nil && text == nil && waits {
		text, err = a.await(r.Context(), caller.Deployment.ID, uniqueID)
	}
	switch {
	case err != nil:
		return err
	case text != nil:
		var out completeResponse
		if err := json.Unmarshal(text, &out); err != nil {
			return fmt.Errorf("read the stored answer to scan %d: %w", id, err)
		}
		if out.Reason != "" {
			out.Reason += whatToDo + api.BlockingPage(httpx.OriginOf(r).Base, caller.Deployment.Slug, id)
		}
		if text, err = json.Marshal(out); err != nil {
			return err
		}
		return write(w, "application/json", text)
	case done.FinalAttempt:
		// There will be no further request, and success would be a guess.
		return fmt.Errorf("scan %d is still being stored, so this build cannot be evaluated: run the scan again later: %w",
			id, model.ErrConflict)
	}
	return answer(w, completeResponse{})
}

// completion applies the end of a scan to the store.
type completion struct {
	tx            *store.Tx
	scan          model.Scan
	done          semgrep.CICompletion
	begun         begun
	given         policy.EffectivePolicy
	listed        map[string]bool // rules of its policies
	judge         *policy.Judge
	encodeOutcome func(ingest.Summary, policy.Verdict) ([]byte, error) // see Config
	rep           *model.Report
	read          *report.Cleaned // the results
	// advised is Upload.Advised of package ingest.
	advised func(ctx context.Context, projectID int64, ref string, stated []model.Holding) (model.Advised, error)
}

// unpack decodes the stored requests of the scan. The function secret reports the known secrets
// rules of a tool.
func (c *completion) unpack(known model.AgentScan, secretKey []byte, secret func(tool, rule string) bool) error {
	if err := json.Unmarshal(known.Begun, &c.begun); err != nil {
		return fmt.Errorf("read the stored start of the scan: %w", err)
	}
	if err := json.Unmarshal(known.Done, &c.done); err != nil {
		return fmt.Errorf("read the stored completion: %w", err)
	}
	reading, err := unpack(known.Report, secretKey)
	if err == nil {
		c.read = reading.Clean(secret)
	}
	return err
}

// apply writes the changes of the scan and returns the response.
func (c *completion) apply(ctx context.Context) (answer []byte, err error) {
	reports, err := conceal.Resolve(ctx, c.tx, c.read)
	if err != nil {
		return nil, err
	}
	c.rep = reports[0]
	project, err := c.tx.Project(ctx, c.scan.ProjectID)
	if err != nil {
		return nil, err
	}
	if c.given, err = policy.LoadEffectivePolicy(ctx, c.tx, project); err != nil {
		return nil, err
	}
	c.finish()
	if c.listed, err = c.tx.ListedRules(ctx, c.given.PolicyIDs()); err != nil {
		return nil, err
	}
	summary, err := ingest.Apply(ctx, c.tx, exceptions.ForImport{Store: c.tx}, ingest.Upload{
		Project: c.begun.Project, Globs: c.begun.Globs, Ref: c.begun.Ref,
		Commit: c.begun.Commit, Full: c.begun.Full, Report: c.rep, Release: true,
		Advised: c.advised, Before: c.beforeApply, Begun: &c.scan, ExitCode: c.done.ExitCode, Unread: c.done.Unread,
		OutOfPolicy: func(rule, path string) bool { return !c.listed[rule] || c.given.ExcludedFor(rule, path) },
	})
	if err != nil {
		return nil, err
	}
	verdict, err := gate.Verdict(ctx, c.judge, &summary)
	if err != nil {
		return nil, err
	}
	if err := c.tx.PutScanGate(ctx, c.scan.ID, verdict.Record()); err != nil {
		return nil, err
	}
	out := storedResponse{completeResponse: responseOf(verdict)}
	if summary.Outcome.Recorded() {
		out.completeResponse.Outcome, out.Note = summary.Outcome.String(), policy.Recorded(summary.Outcome)
	}
	if c.encodeOutcome != nil {
		if out.Outcome, err = c.encodeOutcome(summary, verdict); err != nil {
			return nil, err
		}
	}
	return json.Marshal(out)
}

// beforeApply evaluates the gate against the state before the scan. New rules of the scan are
// already stored, and policies may block on them.
func (c *completion) beforeApply(
	ctx context.Context, project model.Project, scan model.Scan, seen []ingest.Sighting,
) (err error) {
	if slices.ContainsFunc(seen, func(s ingest.Sighting) bool { return !c.listed[s.Finding.RuleName] }) {
		if c.given, err = policy.LoadEffectivePolicy(ctx, c.tx, project); err != nil {
			return err
		}
	}
	c.judge, err = gate.Judge(ctx, c.tx, &c.given, project, scan, seen)
	return err
}

func responseOf(v policy.Verdict) completeResponse {
	out := completeResponse{Success: true, Override: v.Reason != "", Reason: v.Reason}
	for _, s := range v.Blocking {
		if s.MatchBasedID != "" {
			out.Blocking = append(out.Blocking, s.MatchBasedID)
		}
	}
	return out
}

// notRun returns the rules of the policies that the scanner did not run. Some of its flags exclude
// rules.
func (c *completion) notRun() (gaps []model.ScanGap) {
	ran := make(map[string]bool, len(c.rep.RulesRun))
	for _, name := range c.rep.RulesRun {
		ran[name] = true
	}
	for i := range c.given.Rules {
		if name := c.given.Rules[i].Rule.Name; !ran[name] {
			gaps = append(gaps, model.ScanGap{Kind: model.GapRule, What: name, Why: "in a policy of the project, but not run"})
		}
	}
	return gaps
}

// finish adds the data of the completion and the policies to the report. These are the original
// rules, products, inventories and gaps.
func (c *completion) finish() {
	rep, rules, binds := c.rep, map[string]*model.Rule{}, map[string]bool{}
	for i := range c.given.Rules {
		name := c.given.Rules[i].Rule.Name
		rules[name], binds[name] = &c.given.Rules[i].Rule, policy.HasMetavariables(c.given.Rules[i].Text)
	}
	for _, name := range rep.RulesRun {
		if rule := rules[name]; rule != nil {
			rep.Products = rep.Products.With(rule.IssueType)
		}
		if name == policy.InertID {
			rep.Products = rep.Products.With(model.SCA)
		}
	}
	// A scan that started before a path was excluded may still report it.
	rep.Results = slices.DeleteFunc(rep.Results, func(r model.Result) bool {
		return c.given.Excluded(r.Rule.IssueType, r.Path)
	})
	written := asWritten(rules)
	for i := range rep.Results {
		res := &rep.Results[i]
		res.Rule, res.Binds = written(res.Rule), binds[res.Rule.Name]
		if res.Secret != nil && res.Rule.Message != "" {
			res.Message = res.Rule.Message // the template: the scanner's message may contain the secret
		}
	}
	rep.Rules = nil // the results contain the needed rules, and policies have the others
	if rep.Products.Has(model.SCA) {
		// Older scanners send dependencies with their results.
		inventories := c.done.Inventories
		for _, older := range rep.Inventories {
			if !slices.ContainsFunc(c.done.Inventories, func(i model.Inventory) bool { return i.Lockfile == older.Lockfile }) {
				inventories = append(inventories, older)
			}
		}
		rep.Inventories = inventories
	} else {
		rep.Inventories = nil
	}
	// The first gaps are always stored, and the gate needs them.
	rep.Gaps = slices.Concat(c.done.Unparsed, rep.Gaps, c.notRun())
	rep.Unresolved = append(rep.Unresolved, c.done.Unresolved...)
	rep.TotalTime = time.Duration(c.done.Seconds * float64(time.Second))
	rep.Failed = c.done.ExitCode > 1
}

// asWritten returns a function that returns the original rules of the policies. Each version is
// copied once. It retains the version that was served and ran, even if there is a newer one.
func asWritten(rules map[string]*model.Rule) func(*model.Rule) *model.Rule {
	type version struct {
		name string
		n    int
	}
	versions := map[version]*model.Rule{}
	return func(ran *model.Rule) *model.Rule {
		rule := rules[ran.Name]
		if rule == nil || rule.IssueType != ran.IssueType {
			return ran
		}
		key := version{ran.Name, ran.Version}
		if versions[key] == nil {
			as := *rule
			as.Version = ran.Version
			versions[key] = &as
		}
		return versions[key]
	}
}
