package agent

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"time"

	"github.com/redoubt/redoubt"
	"github.com/redoubt/redoubt/internal/auth"
	"github.com/redoubt/redoubt/internal/ingest"
	"github.com/redoubt/redoubt/internal/policy"
	"github.com/redoubt/redoubt/internal/report"
	"github.com/redoubt/redoubt/internal/store"
)

// completeResponse tells the scanner whether the build may pass. A secret's own
// id is never stored, so only the override and its reason speak for it.
type completeResponse struct {
	Success  bool     `json:"success"`
	Override bool     `json:"app_block_override,omitempty"`
	Reason   string   `json:"app_block_reason,omitempty"`
	Blocking []string `json:"app_blocking_match_based_ids,omitempty"`
}

// complete applies what a scan found, in one transaction with the answer, which
// a repeated request gets again: the gate looks at what stood before the scan.
func (a *Agent) complete(w http.ResponseWriter, r *http.Request, caller auth.Caller) error {
	id, err := scanID(r)
	if err != nil {
		return err
	}
	done, err := report.ReadCICompletion(r.Body, a.options("completion"))
	if err != nil {
		return err
	}
	var text []byte
	err = a.Store.Update(r.Context(), caller.Deployment.ID, caller.Actor(), func(ctx context.Context, tx *store.Tx) error {
		known, scan, err := find(ctx, tx, caller, id)
		switch {
		case err != nil:
			return err
		case known.Answer != nil:
			text = known.Answer
			return nil
		case known.Report == nil:
			return fmt.Errorf("the results of scan %d have not arrived, so it cannot be completed: run the scan again: %w", id, redoubt.ErrConflict)
		}
		c := completion{tx: tx, scan: scan, done: done}
		if text, err = c.apply(ctx, known); err != nil {
			return err
		}
		return tx.AnswerAgentScan(ctx, known.UniqueID, text)
	})
	if err != nil {
		return err
	}
	return write(w, "application/json", text)
}

// completion is the end of a scan, on its way into the store.
type completion struct {
	tx     *store.Tx
	scan   redoubt.Scan
	done   *report.CICompletion
	served []redoubt.ServedRule
	rep    *redoubt.Report
}

// apply writes what the scan changes and returns the answer.
func (c *completion) apply(ctx context.Context, known redoubt.AgentScan) (answer []byte, err error) {
	var b begun
	if err := json.Unmarshal(known.Begun, &b); err != nil {
		return nil, err
	}
	if c.rep, err = unpack(known.Report); err != nil {
		return nil, err
	}
	if c.served, err = c.tx.ServedRules(ctx); err != nil {
		return nil, err
	}
	c.finish()
	removed, err := c.tx.RemovedRules(ctx)
	if err != nil {
		return nil, err
	}
	gate, err := newGate(ctx, c)
	if err != nil {
		return nil, err
	}
	_, err = ingest.Apply(ctx, c.tx, ingest.Upload{
		Project: b.Project, Ref: b.Ref, Commit: b.Commit, Full: b.Full, Report: c.rep,
		Begun: &c.scan, ExitCode: c.done.ExitCode, Unread: c.done.Unread,
		OutOfPolicy: func(rule, _ string) bool { return slices.Contains(removed, rule) },
	})
	if err != nil {
		return nil, err
	}
	verdict, err := gate.verdict(ctx)
	if err != nil {
		return nil, err
	}
	return json.Marshal(responseOf(verdict))
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

// finish tells the report what only the completion and the policies know: how
// the rules that ran look as they were written, which products they are of, and
// what the lockfiles hold.
func (c *completion) finish() {
	rep, rules := c.rep, map[string]*redoubt.Rule{}
	for i := range c.served {
		rules[c.served[i].Rule.Name] = &c.served[i].Rule
	}
	for _, name := range rep.RulesRun {
		if rule := rules[name]; rule != nil {
			rep.Products = rep.Products.With(rule.IssueType)
		}
		if name == policy.InertID {
			rep.Products = rep.Products.With(redoubt.SCA)
		}
	}
	for i := range rep.Results {
		res := &rep.Results[i]
		if rule := rules[res.Rule.Name]; rule != nil && rule.IssueType == res.Rule.IssueType {
			res.Rule = rule
		}
		if res.Secret != nil && res.Rule.Message != "" {
			res.Message = res.Rule.Message // the template: the scanner's text may hold the secret
		}
	}
	rep.Rules = nil // those of the results are enough: policies have the others
	if rep.Products.Has(redoubt.SCA) {
		rep.Inventories = c.done.Inventories
	}
	rep.Skipped = append(rep.Skipped, c.done.Unresolved...)
	rep.TotalTime = time.Duration(c.done.Seconds * float64(time.Second))
	rep.Failed = c.done.ExitCode > 1
}
