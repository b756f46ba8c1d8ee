package agent

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"

	"github.com/redoubt/redoubt/internal/auth"
	"github.com/redoubt/redoubt/internal/conceal"
	"github.com/redoubt/redoubt/internal/gate"
	"github.com/redoubt/redoubt/internal/ingest"
	"github.com/redoubt/redoubt/internal/model"
	"github.com/redoubt/redoubt/internal/policy"
	"github.com/redoubt/redoubt/internal/report"
	"github.com/redoubt/redoubt/internal/store"
)

// message is a warning that the scanner prints.
type message struct {
	Message string `json:"message"`
}

type resultsResponse struct {
	Errors []message `json:"errors"`
}

// warning returns a warning if a newer scan already counts, or "" if this one counts. It is part of
// this response, because the response to the completion can only fail the build.
func warning(ctx context.Context, tx *store.Tx, scan model.Scan) (string, error) {
	stream, err := tx.Stream(ctx, scan.ProjectID, scan.Ref, scan.Source, scan.Commit)
	return policy.Recorded(ingest.OutcomeOf(scan, stream)), err
}

// maxWarnings limits the warnings of a response.
const maxWarnings = 20

// results stores the results of a scan until its completion. They are parsed, cleaned of secrets
// and stored, so that acknowledged results survive the process. Findings change only with the
// completion, all at once.
func (a *Agent) results(w http.ResponseWriter, r *http.Request, caller auth.Caller) error {
	id, err := scanID(r)
	if err != nil {
		return err
	}
	var secret func(tool, rule string) bool
	if err := a.Store.View(r.Context(), caller.Deployment.ID, func(ctx context.Context, tx *store.Tx) error {
		if _, _, err := find(ctx, tx, caller, id); err != nil {
			return err
		}
		secret, err = conceal.KnownRules(ctx, tx)
		return err
	}); err != nil {
		return err // before reading an unwanted body
	}
	reading, err := report.ReadCIResults(r.Body, a.options("results", r.Body))
	if err != nil {
		return err
	}
	cleaned := reading.Clean(secret)
	var refused model.Refusals
	var older string
	err = a.Store.Update(r.Context(), caller.Deployment.ID, caller.Actor(), func(ctx context.Context, tx *store.Tx) error {
		known, scan, err := find(ctx, tx, caller, id)
		if err != nil || known.Done != nil || known.Answer != nil {
			return err // completed: the request was repeated
		}
		reports, err := conceal.Resolve(ctx, tx, cleaned)
		if err != nil {
			return err
		}
		refused = reports[0].Refusals
		if older, err = warning(ctx, tx, scan); err != nil {
			return err
		}
		encoded, err := pack(reports[0], cleaned.Declared())
		if err != nil {
			return err
		}
		return tx.StoreAgentReport(ctx, known.UniqueID, encoded)
	})
	if err != nil {
		return err
	}
	out := resultsResponse{Errors: []message{}}
	if older != "" {
		out.Errors = append(out.Errors, message{older})
	}
	for _, item := range refused.Refused[:min(len(refused.Refused), maxWarnings)] {
		out.Errors = append(out.Errors, message{fmt.Sprintf("%s was not imported: %s", item.Item, item.Reason)})
	}
	if more := refused.CountRefused() - maxWarnings; more > 0 {
		out.Errors = append(out.Errors, message{fmt.Sprintf("%d more items were not imported", more)})
	}
	return answer(w, out)
}

// find returns a scan that the caller may write to, and its stored requests.
func find(ctx context.Context, tx *store.Tx, caller auth.Caller, id int64) (model.AgentScan, model.Scan, error) {
	known, err := tx.AgentScanOf(ctx, id)
	if err != nil {
		return known, model.Scan{}, err
	}
	scan, err := tx.Scan(ctx, id)
	if err != nil {
		return known, scan, err
	}
	project, err := tx.Project(ctx, scan.ProjectID)
	if _, err = gate.VisibleProject(caller.Globs(), project, err); err != nil {
		return known, scan, err
	}
	return known, scan, gate.MayAddTo(ctx, tx, caller, scan)
}

// packed is the stored form of a report. Results refer to their rules by index. A rule that only a
// result has is added to the list.
type packed struct {
	Report   *model.Report
	RuleOf   []int
	Declared []string // see report.Reading
}

func pack(rep *model.Report, declared []string) ([]byte, error) {
	indexes := make(map[*model.Rule]int, len(rep.Rules))
	for i, rule := range rep.Rules {
		indexes[rule] = i
	}
	p := packed{Report: rep, RuleOf: make([]int, len(rep.Results)), Declared: declared}
	for i := range rep.Results {
		rule := rep.Results[i].Rule
		index, known := indexes[rule]
		if !known {
			index = len(rep.Rules)
			indexes[rule], rep.Rules = index, append(rep.Rules, rule)
		}
		p.RuleOf[i], rep.Results[i].Rule = index, nil
	}
	return json.Marshal(p)
}

// unpack returns a stored report as a reading, because more rules may be known as secrets rules by
// then.
func unpack(text, key []byte) (*report.Reading, error) {
	var p packed
	if err := json.Unmarshal(text, &p); err != nil {
		return nil, fmt.Errorf("read the stored report: %w", err)
	}
	for i := range p.Report.Results {
		p.Report.Results[i].Rule = p.Report.Rules[p.RuleOf[i]]
	}
	return report.RestoreReading(key, p.Report, p.Declared), nil
}
