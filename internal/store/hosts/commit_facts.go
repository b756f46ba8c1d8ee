package hosts

import (
	"context"
	"slices"
	"strings"
	"time"

	"github.com/redoubt/redoubt/internal/model"
	"github.com/redoubt/redoubt/internal/store/scans"
	"github.com/redoubt/redoubt/internal/store/sqldb"
)

// CommitFacts contains the scans and runs of a commit.
type CommitFacts struct {
	Scans []model.Scan // the newest per ref and source
	Runs  []model.Run  // the newest per ref and kind
	// Before are the scans of the previously scanned commit per ref, without those of runs. Their
	// sources are expected to scan this commit too.
	Before []model.Scan
	// Awaited are the missing scans of open change requests with the commit.
	Awaited []AwaitedScan
}

// AwaitedScan is a missing scan of a change request's ref. Its source scanned the change request's
// previous commit, or earlier change requests.
type AwaitedScan struct {
	Change int64 // number of the change request
	Source string
	Since  time.Time // when the commit became known; zero if it is not known yet
}

// CommitFacts returns the scans and runs of a commit of a project, on all refs.
func (tx *Tx) CommitFacts(ctx context.Context, projectID int64, commit string) (f CommitFacts, err error) {
	f.Scans, err = sqldb.Many(ctx, tx, scans.ScanScan,
		`SELECT `+scans.ScanColumns+` FROM scan WHERE deployment_id = $1 AND id IN
		(SELECT MAX(id) FROM scan WHERE deployment_id = $1 AND project_id = $2 AND commit_hash = $3 GROUP BY ref, source)
		ORDER BY id`,
		projectID, commit)
	if err != nil {
		return f, err
	}
	f.Runs, err = sqldb.Many(ctx, tx, scanRun, runSelect+`AND id IN
		(SELECT MAX(id) FROM managed_run WHERE deployment_id = $1 AND project_id = $2 AND commit_id = $3 GROUP BY ref, kind)
		ORDER BY id`,
		projectID, commit)
	seen := map[string]bool{}
	for _, s := range f.Scans {
		if err != nil || seen[s.Ref] {
			continue
		}
		seen[s.Ref] = true
		var before []model.Scan
		before, err = sqldb.Many(ctx, tx, scans.ScanScan,
			`SELECT `+scans.ScanColumns+` FROM scan WHERE deployment_id = $1 AND project_id = $2 AND ref = $3 AND commit_hash =
			(SELECT commit_hash FROM scan WHERE deployment_id = $1 AND project_id = $2 AND ref = $3 AND commit_hash <> $4
			AND commit_hash <> '' AND id < $5
				ORDER BY id DESC LIMIT 1)
			AND id NOT IN (SELECT scan_id FROM managed_run WHERE deployment_id = $1 AND project_id = $2) ORDER BY id`, projectID,
			s.Ref, commit, s.ID)
		f.Before = append(f.Before, before...)
	}
	if err == nil && len(f.Scans)+len(f.Runs) > 0 {
		f.Awaited, err = tx.awaitedScans(ctx, projectID, commit, f.Scans)
	}
	return f, err
}

// changeHead is an open change request with the data about expected scans.
type changeHead struct {
	repository, number int64
	commit, fetchRef   string
	since              time.Time
}

// awaitedScans returns the expected scans of change requests with the commit as head. It includes
// those whose branch has the commit, because the push may be reported before the change request is.
func (tx *Tx) awaitedScans(
	ctx context.Context, projectID int64, commit string, scans []model.Scan,
) (out []AwaitedScan, err error) {
	var branches []string
	for _, s := range scans {
		if branch, is := strings.CutPrefix(s.Ref, "refs/heads/"); is {
			branches = append(branches, branch)
		}
	}
	of, arg := tx.In("c.head_ref", 4, branches)
	heads, err := sqldb.Many(ctx, tx, func(r sqldb.Row) (c changeHead, err error) {
		return c, r.Scan(&c.repository, &c.number, &c.commit, &c.fetchRef, sqldb.Instant(&c.since))
	},
		`SELECT c.repository_id, c.number, c.head_commit, c.fetch_ref, c.head_at FROM change_request c
			JOIN repository r ON r.deployment_id = c.deployment_id AND r.id = c.repository_id
		WHERE c.deployment_id = $1 AND r.project_id = $2 AND c.state = $5 AND (c.head_commit = $3 OR c.fork = 0 AND `+of+
			`) ORDER BY c.number LIMIT 20`,
		projectID, commit, arg, int64(model.ChangeOpen))
	for _, c := range heads {
		if err != nil {
			return nil, err
		}
		if c.commit != commit {
			c.since = time.Time{}
		}
		var sources []string
		if sources, err = tx.scannersOfChange(ctx, projectID, commit, c); err != nil {
			return nil, err
		}
		own := ownRefs(c.fetchRef)
		for _, source := range sources {
			if !slices.ContainsFunc(scans, func(s model.Scan) bool {
				return s.Source == source && slices.Contains(own, s.Ref)
			}) {
				out = append(out, AwaitedScan{Change: c.number, Source: source, Since: c.since})
			}
		}
	}
	return out, err
}

// ownRefs returns the refs of a change request at its host: of its head and of its merge result.
func ownRefs(fetchRef string) []string {
	base := strings.TrimSuffix(fetchRef, "/head")
	return []string{base + "/head", base + "/merge"}
}

// likeChanges is the number of earlier change requests that determine the expected scans of a new
// one.
const likeChanges = 5

// scannersOfChange returns the sources expected to scan a change request. They scanned its previous
// commit, or else the newest one of earlier change requests. Sources of runs are omitted if the
// commit is the known head, because its run is already queued.
func (tx *Tx) scannersOfChange(ctx context.Context, projectID int64, commit string, c changeHead) ([]string, error) {
	sources, err := tx.scannersOf(ctx, projectID, commit, ownRefs(c.fetchRef), c.commit == commit)
	if err != nil || len(sources) > 0 {
		return sources, err
	}
	before, err := sqldb.Many(ctx, tx, sqldb.Scalar[string], `SELECT fetch_ref FROM change_request WHERE deployment_id `+
		`= $1 AND repository_id = $2 AND number < $3 ORDER BY number DESC LIMIT $4`,
		c.repository, c.number, likeChanges)
	if err != nil || len(before) == 0 {
		return nil, err
	}
	var refs []string
	for _, ref := range before {
		refs = append(refs, ownRefs(ref)...)
	}
	return tx.scannersOf(ctx, projectID, commit, refs, true)
}

// scannersOf returns the sources of the newest other commit scanned on refs.
func (tx *Tx) scannersOf(
	ctx context.Context, projectID int64, commit string, refs []string, withoutRuns bool,
) ([]string, error) {
	of, arg := tx.In("ref", 4, refs)
	runs := ``
	if withoutRuns {
		runs = ` AND id NOT IN (SELECT scan_id FROM managed_run WHERE deployment_id = $1 AND project_id = $2)`
	}
	return sqldb.Many(ctx, tx, sqldb.Scalar[string],
		`SELECT DISTINCT source FROM scan WHERE deployment_id = $1 AND project_id = $2 AND `+of+` AND commit_hash =
		(SELECT commit_hash FROM scan WHERE deployment_id = $1 AND project_id = $2 AND `+of+
			` AND commit_hash <> $3 AND commit_hash <> '' ORDER BY id DESC LIMIT 1)`+runs+` ORDER BY source`,
		projectID, commit, arg)
}
