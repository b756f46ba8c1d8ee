package gate

import (
	"context"
	"errors"

	"github.com/redoubt/redoubt/internal/auth"
	"github.com/redoubt/redoubt/internal/model"
	"github.com/redoubt/redoubt/internal/store"
)

// CanUpload checks that the caller may upload a scan of ref and commit. The token of a managed run
// may upload only for the run's ref and commit, because the scanned code may have compromised the
// scanner. Everything that the transaction adds is then attributed to the run. Other tokens may
// upload to their projects. It returns auth.ErrUnauthenticated if the token or its user lost the
// permission since authentication, because an upload can take hours.
func CanUpload(ctx context.Context, tx *store.Tx, caller auth.Caller, ref, commit string) error {
	if err := stillIn(ctx, tx, caller); err != nil {
		return err
	}
	run, err := runOf(ctx, tx, caller)
	switch {
	case err != nil:
		return err
	case run.Ref != "" && model.FullRef(ref) != run.Ref:
		return model.Invalid("ref", "the token belongs to a managed run of %s: it cannot upload for another branch",
			run.Ref)
	case run.Commit != "" && commit != run.Commit:
		return model.Invalid("commit", "the token belongs to a managed run of %s: it cannot upload for another commit",
			run.Commit)
	}
	tx.WorkFor(run.ID)
	return nil
}

// MayAddTo checks that the caller may add data to a scan. The conditions are those of CanUpload.
// The token of a managed run may add only to scans of that run, because another run may scan the
// same commit.
func MayAddTo(ctx context.Context, tx *store.Tx, caller auth.Caller, scan model.Scan) error {
	if err := CanUpload(ctx, tx, caller, scan.Ref, scan.Commit); err != nil {
		return err
	}
	run, err := runOf(ctx, tx, caller)
	if err == nil && run.ID != 0 && scan.RunID != run.ID {
		err = model.Invalid("scan", "the token belongs to managed run %d, not to that of scan %d", run.ID, scan.ID)
	}
	return err
}

// stillIn returns auth.ErrUnauthenticated if the token was revoked since authentication, or if its
// user lost the role. For a session it checks the role only.
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

// OfRun reports whether the caller's token belongs to an active managed run.
func OfRun(ctx context.Context, tx *store.Tx, caller auth.Caller) (bool, error) {
	run, err := runOf(ctx, tx, caller)
	return run.ID != 0, err
}

// runOf returns the managed run of the caller's token; its id is 0 if there is none. The token ends
// with the run: a request that was authenticated before gets auth.ErrUnauthenticated.
func runOf(ctx context.Context, tx *store.Tx, caller auth.Caller) (model.Run, error) {
	t := caller.Token
	if t.UserID != 0 || t.ExpiresAt.IsZero() || len(t.ProjectGlobs) != 1 { // not the token of a run
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
