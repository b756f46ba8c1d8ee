package scans

import (
	"context"
	"fmt"
	"time"

	"github.com/redoubt/redoubt/internal/model"
	"github.com/redoubt/redoubt/internal/store/queue"
	"github.com/redoubt/redoubt/internal/store/sqldb"
)

// agentScanRetention is the retention of a scan's steps. Scanners repeat a step within an hour.
const agentScanRetention = 7 * 24 * time.Hour

const agentScanSelect = `SELECT unique_id, scan_id, started_at, begun_json, report_json, done_json, answer_json FROM ` +
	`agent_scan WHERE deployment_id = $1`

func scanAgentScan(r sqldb.Row) (a model.AgentScan, err error) {
	var begun, answer string
	err = r.Scan(&a.UniqueID, &a.ScanID, sqldb.Instant(&a.StartedAt), &begun, &a.Report, &a.Done, &answer)
	a.Begun = []byte(begun)
	if answer != "" {
		a.Answer = []byte(answer)
	}
	return a, err
}

// AddAgentScan stores a scan started by a scanner and deletes expired ones. A known name is
// model.ErrConflict.
func (tx *Tx) AddAgentScan(ctx context.Context, a model.AgentScan) error {
	if err := tx.Write(ctx, `DELETE FROM agent_scan WHERE deployment_id = $1 AND started_at < $2`,
		tx.Now().Add(-agentScanRetention)); err != nil {
		return err
	}
	return tx.Insert(ctx, `agent_scan (deployment_id, unique_id, scan_id, started_at, begun_json, answer_json)`,
		[][]any{{a.UniqueID, a.ScanID, tx.Now(), string(a.Begun), ""}}, "")
}

// AgentScan returns a scan by the scanner's name for it.
func (tx *Tx) AgentScan(ctx context.Context, uniqueID string) (model.AgentScan, error) {
	a, err := sqldb.One(ctx, tx, scanAgentScan, agentScanSelect+` AND unique_id = $2`, uniqueID)
	if err != nil {
		return a, fmt.Errorf("scan %.80q of a scanner: %w", uniqueID, err)
	}
	return a, nil
}

// AgentScanOf returns a scan by its id.
func (tx *Tx) AgentScanOf(ctx context.Context, scanID int64) (model.AgentScan, error) {
	a, err := sqldb.One(ctx, tx, scanAgentScan, agentScanSelect+` AND scan_id = $2`, scanID)
	if err != nil {
		return a, fmt.Errorf("scan %d of a scanner: %w", scanID, err)
	}
	return a, nil
}

// AgentStages returns the progress of scans that scanners report in steps. Others are omitted, and
// ended ones are omitted or model.StageBegun.
func (tx *Tx) AgentStages(ctx context.Context, scanIDs []int64) (map[int64]model.ScanStage, error) {
	in, arg := tx.In("scan_id", 2, scanIDs)
	out := map[int64]model.ScanStage{}
	return out, sqldb.Each(ctx, tx, func(r sqldb.Row) error {
		var id int64
		var report, done bool
		err := r.Scan(&id, &report, &done)
		switch {
		case done:
			out[id] = model.StageApplying
		case report:
			out[id] = model.StageResults
		default:
			out[id] = model.StageBegun
		}
		return err
	}, `SELECT scan_id, report_json IS NOT NULL, done_json IS NOT NULL FROM agent_scan WHERE deployment_id = $1 AND `+in,
		arg)
}

// StoreAgentReport stores a report until its scan is applied.
func (tx *Tx) StoreAgentReport(ctx context.Context, uniqueID string, report []byte) error {
	return tx.Write(
		ctx, `UPDATE agent_scan SET report_json = $3 WHERE deployment_id = $1 AND unique_id = $2`, uniqueID, report,
	)
}

// AgentAnswer returns the response to a scan's completion, or nil while it is pending. Scanners
// poll it.
func (tx *Tx) AgentAnswer(ctx context.Context, uniqueID string) ([]byte, error) {
	answer, err := sqldb.One(ctx, tx, sqldb.Scalar[string],
		`SELECT answer_json FROM agent_scan WHERE deployment_id = $1 AND unique_id = $2`, uniqueID)
	if err != nil {
		return nil, fmt.Errorf("scan %.80q of a scanner: %w", uniqueID, err)
	}
	if answer == "" {
		return nil, nil
	}
	return []byte(answer), nil
}

// jobRetention is the retention of finished jobs of scans. They are not read after the response or a
// timeout of the scanner.
const jobRetention = 24 * time.Hour

// QueueAgentScan stores the completion of a scan with the job that applies it. An existing job with
// the token stays unchanged. There is no audit event, because the scan has one.
func (tx *Tx) QueueAgentScan(ctx context.Context, uniqueID string, done []byte, j model.Job) error {
	if err := tx.Write(ctx, `UPDATE agent_scan SET done_json = $3 WHERE deployment_id = $1 AND unique_id = $2`,
		uniqueID, done); err != nil {
		return err
	}
	details := queue.JobDetails{Retention: jobRetention, Conflict: "ON CONFLICT (deployment_id, token) DO NOTHING"}
	return queue.InsertJobs(ctx, tx.Session, tx.Deployment().ID, tx.Now(), []model.Job{j}, details)
}

// AnswerAgentScan stores the response to a scan's completion, and deletes its report and
// completion.
func (tx *Tx) AnswerAgentScan(ctx context.Context, uniqueID string, answer []byte) error {
	return tx.Write(ctx, `UPDATE agent_scan SET report_json = NULL, done_json = NULL, answer_json = $3 WHERE `+
		`deployment_id = $1 AND unique_id = $2`,
		uniqueID, string(answer))
}

// IgnoredMatch is an ignored finding with the scanner's own ids.
type IgnoredMatch struct {
	RuleName     string
	MatchBasedID string
	SyntacticID  string // empty if the scanner did not report one
	Alone        bool   // the only match of its formula group on all refs
}

// IgnoredMatches returns the ignored findings of a project that have the scanner's own ids, on all
// refs.
func (tx *Tx) IgnoredMatches(ctx context.Context, projectID int64) (list []IgnoredMatch, err error) {
	members := map[string]map[model.Identity]bool{}
	err = sqldb.Each(ctx, tx, func(r sqldb.Row) error {
		var rule string
		var ignored bool
		var text []byte
		id := model.Identity{Kind: model.IdentityMatchBased}
		if err := r.Scan(&rule, sqldb.Digest(&id.Hash), &ignored, &text); err != nil {
			return err
		}
		var body struct {
			MatchBasedID string `json:"match_based_id"`
			SyntacticID  string `json:"syntactic_id"`
		}
		if err := sqldb.DecodeStored([]byte("{"+string(text)+"}"), &body); err != nil {
			return fmt.Errorf("a finding's body: %w", err)
		}
		group := model.FormulaGroup(body.MatchBasedID)
		if members[group] == nil {
			members[group] = map[model.Identity]bool{}
		}
		members[group][id] = true
		if ignored {
			list = append(list, IgnoredMatch{RuleName: rule, MatchBasedID: body.MatchBasedID, SyntacticID: body.SyntacticID})
		}
		return nil
	}, `SELECT f.rule_name, f.identity_hash, l.triage_state = $3, b.body FROM lineage l
		JOIN finding f ON f.deployment_id = l.deployment_id AND f.lineage_id = l.id
		JOIN finding_body b ON b.deployment_id = f.deployment_id AND b.finding_id = f.id
		WHERE l.deployment_id = $1 AND l.project_id = $2 AND f.identity_kind = $4 AND f.state <> $5
		AND f.rule_name IN (SELECT g.rule_name FROM lineage k JOIN finding g ON g.deployment_id = k.deployment_id
		AND g.lineage_id = k.id
			WHERE k.deployment_id = $1 AND k.project_id = $2 AND k.triage_state = $3)
		ORDER BY f.id`,
		projectID, model.TriageIgnored, int64(model.IdentityMatchBased), model.StateRemoved)
	for i := range list {
		list[i].Alone = len(members[model.FormulaGroup(list[i].MatchBasedID)]) == 1
	}
	return list, err
}
