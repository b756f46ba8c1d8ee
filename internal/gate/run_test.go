package gate_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/redoubt/redoubt/internal/auth"
	"github.com/redoubt/redoubt/internal/gate"
	"github.com/redoubt/redoubt/internal/model"
	"github.com/redoubt/redoubt/internal/store"
	"github.com/redoubt/redoubt/internal/testutil/storetest"
)

func TestMain(m *testing.M) { storetest.Main(m) }

const (
	commit      = "1111111111111111111111111111111111111111"
	otherCommit = "2222222222222222222222222222222222222222"
)

// runs is a deployment with a project that has managed runs.
type runs struct {
	t       *testing.T
	s       *store.Store
	d       model.Deployment
	project model.Project
	made    int
}

func newRuns(t *testing.T, s *store.Store) *runs {
	t.Helper()
	r := &runs{t: t, s: s, d: storetest.Deployment(t, s)}
	r.update(func(ctx context.Context, tx *store.Tx) (err error) {
		r.project, err = tx.ProjectForScan(ctx, nil, model.Project{Name: "acme/payments"})
		return err
	})
	return r
}

func (r *runs) update(write func(ctx context.Context, tx *store.Tx) error) {
	r.t.Helper()
	if err := r.s.Update(r.t.Context(), r.d.ID, storetest.Actor, write); err != nil {
		r.t.Fatal(err)
	}
}

// token creates a token like those of managed runs, modified by change.
func (r *runs) token(change func(*model.Token)) auth.Caller {
	r.t.Helper()
	r.made++
	secret := auth.NewSecret(r.d.ID)
	token := model.Token{
		PublicID: secret.PublicID, Name: "t", Scopes: []model.Scope{model.ScopeCI}, ProjectGlobs: []string{r.project.Name},
		ExpiresAt: storetest.Epoch.Add(time.Hour),
	}
	if change != nil {
		change(&token)
	}
	r.update(func(ctx context.Context, tx *store.Tx) (err error) {
		token, err = tx.CreateToken(ctx, token, secret.Hash)
		return err
	})
	return auth.Caller{Deployment: r.d, Token: token}
}

// lease queues a run, leases it and binds it to a token.
func (r *runs) lease(run model.Run, by auth.Caller) (leased model.Run) {
	r.t.Helper()
	r.update(func(ctx context.Context, tx *store.Tx) error {
		run.ProjectID, run.Kind, run.Cause = r.project.ID, model.RunFull, model.RunByHand
		if _, err := tx.QueueRun(ctx, run); err != nil {
			return err
		}
		next, ok, err := tx.LeaseRun(ctx, 1, nil)
		if err != nil || !ok {
			return errors.Join(err, errors.New("no run is due"))
		}
		leased = next
		return tx.BindRunToken(ctx, next.ID, by.Token.ID)
	})
	return leased
}

// canUpload returns the result of CanUpload.
func (r *runs) canUpload(by auth.Caller, ref, commit string) (err error) {
	r.t.Helper()
	_ = r.s.View(r.t.Context(), r.d.ID, func(ctx context.Context, tx *store.Tx) error {
		err = gate.CanUpload(ctx, tx, by, ref, commit)
		return nil
	})
	return err
}

// ofRun returns the result of OfRun.
func (r *runs) ofRun(by auth.Caller) (is bool, err error) {
	r.t.Helper()
	_ = r.s.View(r.t.Context(), r.d.ID, func(ctx context.Context, tx *store.Tx) error {
		is, err = gate.OfRun(ctx, tx, by)
		return nil
	})
	return is, err
}

func TestRunTokensAreLimitedToRun(t *testing.T) {
	for name, c := range map[string]struct {
		run         model.Run
		ref, commit string
		allowed     bool
	}{
		"its own":               {model.Run{Ref: "refs/heads/main", Commit: commit}, "refs/heads/main", commit, true},
		"its own, in short":     {model.Run{Ref: "refs/heads/main", Commit: commit}, "main", commit, true},
		"another branch":        {model.Run{Ref: "refs/heads/main", Commit: commit}, "refs/heads/other", commit, false},
		"another commit":        {model.Run{Ref: "refs/heads/main", Commit: commit}, "refs/heads/main", otherCommit, false},
		"none":                  {model.Run{Ref: "refs/heads/main", Commit: commit}, "", "", false},
		"a commit not told yet": {model.Run{Ref: "refs/heads/main"}, "refs/heads/main", otherCommit, true},
		"a branch not told yet": {model.Run{Commit: commit}, "refs/heads/other", commit, true},
	} {
		t.Run(name, func(t *testing.T) {
			r := newRuns(t, storetest.New(t, "sqlite"))
			by := r.token(nil)
			r.lease(c.run, by)
			err := r.canUpload(by, c.ref, c.commit)
			if _, refused := errors.AsType[*model.InvalidError](err); (err == nil) != c.allowed || refused == c.allowed {
				t.Errorf("%s of %q at %q: %v", name, c.ref, c.commit, err)
			}
			if is, err := r.ofRun(by); !is || err != nil {
				t.Errorf("it is of a run: %t, %v", is, err)
			}
		})
	}
}

// TestEndedRunTokensAreRejected checks that an upload that started during a run is rejected
// after the run.
func TestEndedRunTokensAreRejected(t *testing.T) {
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		r := newRuns(t, s)
		by := r.token(nil)
		run := r.lease(model.Run{Ref: "refs/heads/main", Commit: commit}, by)
		r.update(func(ctx context.Context, tx *store.Tx) error {
			return tx.CancelRun(ctx, run.ID, model.RunStopped)
		})
		for _, ref := range []string{"refs/heads/main", "refs/heads/other"} {
			if err := r.canUpload(by, ref, commit); !errors.Is(err, auth.ErrUnauthenticated) {
				t.Errorf("an upload about %s after the run's end: %v", ref, err)
			}
		}
		if _, err := r.ofRun(by); !errors.Is(err, auth.ErrUnauthenticated) {
			t.Errorf("the token after the run's end: %v", err)
		}
	})
}

// TestUploadRejectedAfterTokenRevocation checks that a running upload is rejected if its token
// is revoked or its user loses the role.
func TestUploadRejectedAfterTokenRevocation(t *testing.T) {
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		r := newRuns(t, s)
		anybodys := func(t *model.Token) { t.ProjectGlobs, t.ExpiresAt = nil, time.Time{} }
		var ada model.User
		r.update(func(ctx context.Context, tx *store.Tx) (err error) {
			ada, err = tx.CreateUser(ctx, model.User{Name: "ada", PasswordHash: "x"}, model.RoleTriager)
			return err
		})
		revoked := r.token(anybodys)
		ofAda := r.token(func(t *model.Token) { anybodys(t); t.UserID = ada.ID })
		ofAda.Role = model.RoleTriager
		for name, c := range map[string]struct {
			by   auth.Caller
			over func(ctx context.Context, tx *store.Tx) error
		}{
			"revoked":                     {revoked, func(ctx context.Context, tx *store.Tx) error { return tx.RevokeToken(ctx, revoked.Token.ID) }},
			"of a person who may no more": {ofAda, func(ctx context.Context, tx *store.Tx) error { return tx.SetRole(ctx, ada.ID, model.RoleViewer) }},
		} {
			if err := r.canUpload(c.by, "main", commit); err != nil {
				t.Errorf("one that will be %s: %v", name, err)
			}
			r.update(c.over)
			if err := r.canUpload(c.by, "main", commit); !errors.Is(err, auth.ErrUnauthenticated) {
				t.Errorf("one that is %s: %v", name, err)
			}
		}
	})
}

func TestOtherTokensAreNotLimitedToRun(t *testing.T) {
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		r := newRuns(t, s)
		r.lease(model.Run{Ref: "refs/heads/main", Commit: commit}, r.token(nil))
		for name, change := range map[string]func(*model.Token){
			"of its shape":    nil,
			"without an end":  func(t *model.Token) { t.ExpiresAt = time.Time{} },
			"of two projects": func(t *model.Token) { t.ProjectGlobs = []string{"a", "b"} },
			"of all projects": func(t *model.Token) { t.ProjectGlobs = nil },
		} {
			by := r.token(change)
			if err := r.canUpload(by, "refs/heads/other", otherCommit); err != nil {
				t.Errorf("a token %s: %v", name, err)
			}
			if is, err := r.ofRun(by); is || err != nil {
				t.Errorf("a token %s is of a run: %t, %v", name, is, err)
			}
		}
		gone, cancel := context.WithCancel(t.Context())
		err := s.View(gone, r.d.ID, func(ctx context.Context, tx *store.Tx) error {
			cancel()
			return gate.CanUpload(ctx, tx, r.token(nil), "main", commit)
		})
		if err == nil {
			t.Error("a store that does not answer lets pass")
		}
	})
}
