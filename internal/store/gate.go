package store

import (
	"context"
	"maps"
	"slices"

	"github.com/redoubt/redoubt"
)

// UnresolvedIdentities lists the identities of the unresolved findings of (project,
// ref, source).
func (tx *Tx) UnresolvedIdentities(ctx context.Context, projectID int64, ref, source string) ([]redoubt.Identity, error) {
	return many(ctx, tx, func(r row) (id redoubt.Identity, err error) { return id, r.Scan(&id.Kind, digest(&id.Hash)) },
		`SELECT identity_kind, identity_hash FROM finding
		WHERE deployment_id = $1 AND project_id = $2 AND ref = $3 AND source = $4 AND state = $5
		ORDER BY identity_kind, identity_hash`, projectID, ref, source, int64(redoubt.Unresolved))
}

// OpenFindings reads the unresolved findings of (project, ref, source) by id,
// with what the gate asks of one: id, identity, product, rule, path, line,
// state, severity, reachability, transitivity and whether it is malicious. The
// other members stay zero.
func (tx *Tx) OpenFindings(ctx context.Context, projectID int64, ref, source string) ([]redoubt.Finding, error) {
	return many(ctx, tx, func(r row) (f redoubt.Finding, err error) {
		var flags int64
		err = r.Scan(&f.ID, &f.Identity.Kind, digest(&f.Identity.Hash), &f.IssueType, &f.RuleName, &f.Path, &f.Line,
			&f.State, &f.Severity, &f.Reachability, &f.Transitivity, &flags)
		f.Malicious = flags&flagMalicious != 0
		return f, err
	}, `SELECT id, identity_kind, identity_hash, issue_type, rule_name, path, line, state, severity, reachability, transitivity, flags FROM finding
		WHERE deployment_id = $1 AND project_id = $2 AND ref = $3 AND source = $4 AND state = $5 ORDER BY +id`, projectID, ref, source, int64(redoubt.Unresolved))
}

// Occurrences finds what (project, ref, source) has of some identities, in
// whatever state: the ids of the findings, and since when they are relevant. The
// other members stay zero, and identities that are not there are not in the
// answer.
func (tx *Tx) Occurrences(ctx context.Context, projectID int64, ref, source string, ids []redoubt.Identity) (map[redoubt.Identity]redoubt.Finding, error) {
	found := make(map[redoubt.Identity]redoubt.Finding, len(ids))
	for kind, hashes := range hashesByKind(ids) {
		in, arg := tx.in("identity_hash", 6, hashes)
		err := each(ctx, tx, func(r row) error {
			f := redoubt.Finding{Identity: redoubt.Identity{Kind: kind}}
			err := r.Scan(&f.ID, digest(&f.Identity.Hash), instant(&f.RelevantSince))
			found[f.Identity] = f
			return err
		}, `SELECT id, identity_hash, relevant_since FROM finding
			WHERE deployment_id = $1 AND project_id = $2 AND ref = $3 AND source = $4 AND identity_kind = $5 AND `+in,
			projectID, ref, source, int64(kind), arg)
		if err != nil {
			return nil, err
		}
	}
	return found, nil
}

// LineageIDs finds the lineages that hold the identities, in the project, each
// once, in no order.
func (tx *Tx) LineageIDs(ctx context.Context, projectID int64, ids []redoubt.Identity) ([]int64, error) {
	found := map[int64]bool{}
	for kind, hashes := range hashesByKind(ids) {
		in, arg := tx.in("hash", 4, hashes)
		err := each(ctx, tx, func(r row) error {
			id, err := scalar[int64](r)
			found[id] = true
			return err
		}, `SELECT DISTINCT lineage_id FROM lineage_identity WHERE deployment_id = $1 AND project_id = $2 AND kind = $3 AND `+in, projectID, int64(kind), arg)
		if err != nil {
			return nil, err
		}
	}
	return slices.Collect(maps.Keys(found)), nil
}

// CodeOfLineages reads the code hashes of the unresolved findings of (project, ref,
// source) in some lineages, by lineage: of those whose code the scanner told with
// a match_based_id. Lineages that have none there are not in the answer.
func (tx *Tx) CodeOfLineages(ctx context.Context, projectID int64, ref, source string, lineages []int64) (map[int64][]redoubt.Digest, error) {
	found := map[int64][]redoubt.Digest{}
	in, arg := tx.in("lineage_id", 8, lineages)
	err := each(ctx, tx, func(r row) error {
		var id int64
		var code redoubt.Digest
		err := r.Scan(&id, digest(&code))
		found[id] = append(found[id], code)
		return err
	}, `SELECT DISTINCT lineage_id, code_hash FROM finding
		WHERE deployment_id = $1 AND project_id = $2 AND ref = $3 AND source = $4 AND state = $5 AND identity_kind = $6 AND code_hash <> $7 AND `+in,
		projectID, ref, source, int64(redoubt.Unresolved), int64(redoubt.IdentityMatchBased), redoubt.Digest{}, arg)
	return found, err
}

// hashesByKind sorts identities by who vouches for them, as they are looked up.
func hashesByKind(ids []redoubt.Identity) map[redoubt.IdentityKind][]redoubt.Digest {
	byKind := map[redoubt.IdentityKind][]redoubt.Digest{}
	for _, id := range ids {
		byKind[id.Kind] = append(byKind[id.Kind], id.Hash)
	}
	return byKind
}
