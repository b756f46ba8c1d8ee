package gate

import (
	"context"
	"errors"

	"github.com/redoubt/redoubt/internal/auth"
	"github.com/redoubt/redoubt/internal/model"
	"github.com/redoubt/redoubt/internal/store"
)

// CanUpload refuses what the token of a managed run hands in about another ref or commit
// than the run's: what scans there may have been taken over by the code that it scans.
// What is added to the transaction then is of the run. Other tokens may hand in what their
// projects allow. Whoever may no more what they might
// as they were let in is auth.ErrUnauthenticated: an upload can take hours to come.
func CanUpload(ctx context.Context, tx *store.Tx, caller auth.Caller, ref, commit string) error {
	if err := stillIn(ctx, tx, caller); err != nil {
		return err
	}
	run, err := runOf(ctx, tx, caller)
	switch {
	case err != nil:
		return err
	case run.Ref != "" && model.FullRef(ref) != run.Ref:
		return model.Invalid("ref", "this token is of a managed run of %s, and hands in nothing about another branch",
			run.Ref)
	case run.Commit != "" && commit != run.Commit:
		return model.Invalid("commit", "this token is of a managed run of %s, and hands in nothing about another commit",
			run.Commit)
	}
	tx.WorkFor(run.ID)
	return nil
}

// MayAddTo refuses what MayHandIn refuses of a scan, and what the token of a managed run adds
// to a scan that is none of the run: another may scan the same commit at the time.
func MayAddTo(ctx context.Context, tx *store.Tx, caller auth.Caller, scan model.Scan) error {
	if err := CanUpload(ctx, tx, caller, scan.Ref, scan.Commit); err != nil {
		return err
	}
	run, err := runOf(ctx, tx, caller)
	if err == nil && run.ID != 0 && scan.RunID != run.ID {
		err = model.Invalid("scan", "this token is of managed run %d, and scan %d is none of it", run.ID, scan.ID)
	}
	return err
}

// stillIn refuses a token that was revoked since it was let in, and one whose person lost
// the role; of a person at the pages it is the role alone.
func stillIn(ctx context.Context, tx *store.Tx, caller auth.Caller) error {
	user := caller.Token.UserID
	if caller.SignedIn == nil {
		t, err := tx.TokenByID(ctx, caller.Token.ID)
		if errors.Is(err, model.ErrNotFound) || err == nil && !t.RevokedAt.IsZero() {
			return auth.ErrUnauthenticated
		}
		if err != nil || t.UserID == 0 {
			return err
		}
		user = t.UserID
	}
	role, err := tx.UserRole(ctx, user)
	if err == nil && role < caller.Role {
		err = auth.ErrUnauthenticated
	}
	return err
}

// OfRun reports whether the caller's token is that of a managed run under way.
func OfRun(ctx context.Context, tx *store.Tx, caller auth.Caller) (bool, error) {
	run, err := runOf(ctx, tx, caller)
	return run.ID != 0, err
}

// runOf finds the managed run that the caller's token is of; its id is 0 where there is
// none. A run takes its token along when it ends: who was let in before, and comes to be
// stored after, is auth.ErrUnauthenticated.
func runOf(ctx context.Context, tx *store.Tx, caller auth.Caller) (model.Run, error) {
	t := caller.Token
	if t.UserID != 0 || t.ExpiresAt.IsZero() || len(t.ProjectGlobs) != 1 { // no run's
		return model.Run{}, nil
	}
	run, err := tx.RunOfToken(ctx, t.ID)
	if !errors.Is(err, model.ErrNotFound) {
		return run, err
	}
	if _, err = tx.TokenByID(ctx, t.ID); errors.Is(err, model.ErrNotFound) {
		err = auth.ErrUnauthenticated
	}
	return model.Run{}, err
}
