package findings

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/redoubt/redoubt/internal/model"
	"github.com/redoubt/redoubt/internal/store/sqldb"
)

// SnippetLocation is the location of a finding and the data that classifies its rule.
type SnippetLocation struct {
	model.SnippetLocation
	RuleID  int64
	Message string // of the finding; empty if equal to the rule's
}

// SnippetLocations returns at most limit locations of the current findings of a scan, worst first. It
// reports whether there are more. ids restricts them unless empty. They include advisory findings
// in lockfiles that the scan reported. A scan that is not the newest of its stream has none.
// Historical secrets are omitted because the checkout does not contain them. A scan of a change
// omits findings seen by full scans, which it does not confirm.
func (tx *Tx) SnippetLocations(
	ctx context.Context, s model.Scan, ids []int64, limit int,
) (list []SnippetLocation, more bool, err error) {
	stream, err := tx.Stream(ctx, s.ProjectID, s.Ref, s.Source, "")
	if err != nil || stream.LastScanID != s.ID {
		return nil, false, err
	}
	where := fmt.Sprintf(` AND (f.flags / %d) %% 2 = 0`, FlagHistorical) +
		` AND f.line > 0 AND (f.source = $6 OR f.source = $7 AND EXISTS (
		SELECT 1 FROM inventory i WHERE i.deployment_id = $1 AND i.project_id = $2 AND i.ref = $3 AND i.lockfile = f.path
		AND i.scan_id = $8))`
	if !s.Full {
		where += fmt.Sprintf(` AND (f.flags / %d) %% 2 = 0`, FlagSeenByFull)
	}
	args := []any{s.Source, model.SourceAdvisories, s.ID, limit + 1}
	if len(ids) > 0 {
		in, arg := tx.In("f.id", 10, ids)
		where, args = where+` AND `+in, append(args, arg)
	}
	where += ` ORDER BY f.severity DESC, f.id DESC LIMIT $9`
	list, err = tx.snippetLocations(ctx, s.ProjectID, s.Ref, where, args...)
	list, more = sqldb.Page(list, limit)
	return list, more, err
}

// SecretLocations returns the locations of current secrets on a project's ref, from any scan.
func (tx *Tx) SecretLocations(ctx context.Context, projectID int64, ref string) ([]SnippetLocation, error) {
	return tx.snippetLocations(ctx, projectID, ref, ` AND f.line > 0 AND f.issue_type = 3 ORDER BY f.path, f.line, f.id`)
}

// snippetLocations returns the locations of current findings. Arguments of where start at $6.
func (tx *Tx) snippetLocations(
	ctx context.Context, projectID int64, ref, where string, args ...any,
) ([]SnippetLocation, error) {
	return sqldb.Many(ctx, tx, scanSnippetLocation,
		`SELECT f.id, f.issue_type, f.rule_id, f.path, f.line, b.body FROM finding f
		JOIN finding_body b ON b.deployment_id = f.deployment_id AND b.finding_id = f.id
		WHERE f.deployment_id = $1 AND f.project_id = $2 AND f.ref = $3 AND f.state IN ($4, $5)`+where,
		append([]any{projectID, ref, int64(model.Unresolved), int64(model.Muted)}, args...)...)
}

func scanSnippetLocation(r sqldb.Row) (p SnippetLocation, err error) {
	var body []byte
	var product model.IssueType
	if err := r.Scan(&p.FindingID, &product, &p.RuleID, &p.Path, &p.Line, &body); err != nil {
		return p, err
	}
	var decoded struct {
		Location model.WireLocation `json:"location"`
		Message  *string            `json:"rule_message"`
	}
	if err := sqldb.DecodeStored(append(append([]byte("{"), body...), '}'), &decoded); err != nil {
		return p, fmt.Errorf("body of finding %d: %w", p.FindingID, err)
	}
	p.Column, p.EndLine = decoded.Location.Column, max(p.Line, decoded.Location.EndLine)
	p.Secret = product == model.Secrets
	if decoded.Message != nil {
		p.Message = *decoded.Message
	}
	return p, nil
}

const snippetColumns = `finding_id, scan_id, commit_hash, path, line, end_line, first_line, code`

func scanSnippet(r sqldb.Row) (s model.Snippet, err error) {
	var code string
	err = r.Scan(&s.FindingID, &s.ScanID, &s.Commit, &s.Path, &s.Line, &s.EndLine, &s.First, &code)
	s.Lines = strings.Split(code, "\n")
	return s, err
}

// Snippet returns the code around a finding, or model.ErrNotFound.
func (tx *Tx) Snippet(ctx context.Context, findingID int64) (model.Snippet, error) {
	s, err := sqldb.One(ctx, tx, scanSnippet,
		`SELECT `+snippetColumns+` FROM finding_snippet WHERE deployment_id = $1 AND finding_id = $2`, findingID)
	if err != nil {
		return s, fmt.Errorf("code of finding %d: %w", findingID, err)
	}
	return s, nil
}

// PutSnippets stores or replaces the code around distinct findings of one scan.
func (tx *Tx) PutSnippets(ctx context.Context, list []model.Snippet) error {
	if !tx.Deployment().StoresCode {
		return errors.New("store code: the deployment does not store code")
	}
	rows := make([][]any, len(list))
	for i, s := range list {
		rows[i] = []any{s.FindingID, s.ScanID, s.Commit, s.Path, s.Line, s.EndLine, s.First, strings.Join(s.Lines, "\n")}
	}
	if len(list) > 0 {
		tx.Audit("scan.code", sqldb.Subject("scan", list[0].ScanID), nil, map[string]int{"findings": len(list)})
	}
	return tx.Insert(ctx, `finding_snippet (deployment_id, `+snippetColumns+`)`, rows,
		`ON CONFLICT (deployment_id, finding_id) DO UPDATE SET `+sqldb.Excluded(snippetColumns, "finding_id"))
}

// SetCodeStorage sets whether a tenant stores code around findings. If not, all stored code is deleted,
// and the number of affected findings is returned.
func (tx *Tx) SetCodeStorage(ctx context.Context, enabled bool) (dropped int64, err error) {
	if err := tx.Write(ctx, `UPDATE deployment SET keeps_code = $2 WHERE id = $1`, enabled); err != nil {
		return 0, err
	}
	if !enabled {
		if err := tx.Shred(ctx); err != nil {
			return 0, err
		}
		if dropped, err = tx.Exec(ctx, `DELETE FROM finding_snippet WHERE deployment_id = $1`); err != nil {
			return 0, err
		}
	}
	type image struct {
		StoresCode bool   `json:"keeps_code"`
		Dropped    *int64 `json:"snippets_dropped,omitempty"`
	}
	after := image{StoresCode: enabled}
	if !enabled {
		after.Dropped = &dropped
	}
	tx.Audit("deployment.update", sqldb.Subject("deployment", tx.Deployment().ID), image{
		StoresCode: tx.Deployment().StoresCode,
	}, after)
	return dropped, nil
}

// outdateSnippets deletes the code of findings that no longer exist. If a secret appears in a file,
// it deletes the code of that file too, because the secret was not redacted from it.
func (tx *Tx) outdateSnippets(
	ctx context.Context, findings []model.FindingWrite, stored map[int64]model.Finding,
) error {
	var gone []int64
	secrets := map[int64][]string{} // paths by project
	for i := range findings {
		f := &findings[i].Finding
		before := stored[f.ID]
		switch known := before.IssueType == model.Secrets && isPresent(before.State) && before.Path == f.Path &&
			before.Line == f.Line; {
		case !isPresent(f.State):
			gone = append(gone, f.ID)
		case f.IssueType == model.Secrets && !known:
			secrets[f.ProjectID] = append(secrets[f.ProjectID], f.Path)
		}
	}
	if err := tx.DropSnippets(ctx, gone); err != nil {
		return err
	}
	for project, paths := range secrets {
		if err := tx.Shred(ctx); err != nil {
			return err
		}
		in, arg := tx.In("path", 3, paths)
		err := tx.Write(ctx, `DELETE FROM finding_snippet WHERE deployment_id = $1 AND `+in+` AND EXISTS (
			SELECT 1 FROM finding f WHERE f.deployment_id = $1 AND f.id = finding_id AND f.project_id = $2)`, project, arg)
		if err != nil {
			return err
		}
	}
	return nil
}

func isPresent(s model.State) bool { return s == model.Unresolved || s == model.Muted }

// DropSnippets deletes the code around findings.
func (tx *Tx) DropSnippets(ctx context.Context, findings []int64) error {
	if len(findings) == 0 {
		return nil
	}
	in, arg := tx.In("finding_id", 2, findings)
	return tx.Write(ctx, `DELETE FROM finding_snippet WHERE deployment_id = $1 AND `+in, arg)
}

// staleSnippets selects snippets whose finding is not live.
const staleSnippets = ` FROM finding_snippet WHERE deployment_id = $1 AND NOT EXISTS (
	SELECT 1 FROM finding f WHERE f.deployment_id = $1 AND f.id = finding_id AND f.state IN ($2, $3))`

// DropStaleSnippets deletes the code of findings that were removed without a scan, for example with
// their ref. It locks the deployment only if there is any.
func (s *DB) DropStaleSnippets(ctx context.Context, deploymentID int64, by model.Actor) (dropped int64, err error) {
	live := []any{int64(model.Unresolved), int64(model.Muted)}
	some := false
	err = s.view(ctx, deploymentID, func(ctx context.Context, tx *Tx) (err error) {
		some, err = sqldb.One(ctx, tx, sqldb.Scalar[bool], `SELECT EXISTS (SELECT 1`+staleSnippets+`)`, live...)
		return err
	})
	if err != nil || !some {
		return 0, err
	}
	return dropped, s.update(ctx, deploymentID, by, func(ctx context.Context, tx *Tx) error {
		dropped, err = tx.Exec(ctx, `DELETE`+staleSnippets, live...)
		return err
	})
}
