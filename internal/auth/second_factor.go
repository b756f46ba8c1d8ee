package auth

import (
	"context"
	"crypto/cipher"
	"encoding/base32"
	"encoding/base64"
	"errors"
	"fmt"
	"time"

	"github.com/redoubt/redoubt/internal/model"
)

// ErrCode means that a code is wrong or was already used. Both are indistinguishable to the caller.
var ErrCode = errors.New("invalid code")

// HalfError means that the first factor is correct and the second factor is missing. It is an
// error, so that callers that ignore it grant no access.
type HalfError struct {
	Secret string // of the half session, for a cookie; see SecondFactors.Finish
}

// Error returns the reason.
func (e *HalfError) Error() string { return "the second factor is missing" }

// UnreadableError means that a stored second factor cannot be decrypted with the keys of this
// server. The key file was lost or belongs to another server. Other factors and recovery codes of
// the user still work.
type UnreadableError struct {
	Factor string // "passkey" or "authenticator app"
	User   string // user name
	Cause  error
}

// Error returns the reason and the action for administrators of the server.
func (e *UnreadableError) Error() string {
	return fmt.Sprintf("the stored %s of %s cannot be decrypted with the keys of this server: restore the key file "+
		"from the backup, use a recovery code, or run redoubt user reset-2fa %s: %v",
		e.Factor, e.User, e.User, e.Cause)
}

// Unwrap returns the cause.
func (e *UnreadableError) Unwrap() error { return e.Cause }

// FactorStore provides the storage of second factors.
type FactorStore interface {
	// PendingSession returns a sign-in that awaits the second factor.
	PendingSession(ctx context.Context, hash []byte) (model.PendingSession, model.User, error)
	// TryPendingSession counts an attempt. After too many attempts the sign-in ends.
	TryPendingSession(ctx context.Context, hash []byte) error
	// FinishSignIn converts a pending sign-in to a session and marks the proof as used.
	FinishSignIn(
		ctx context.Context, half []byte, p model.FactorProof, s model.Session, hash []byte,
	) (model.Session, error)
	// SignInFailed records a failed attempt.
	SignInFailed(ctx context.Context, a model.Attempt) error
	// TOTP returns the authenticator app of a user.
	TOTP(ctx context.Context, userID int64) (model.TOTP, error)
	// SetUpTOTP adds an authenticator app with recovery codes to a user. It starts a new session
	// and ends all others.
	SetUpTOTP(ctx context.Context, t model.TOTP, recovery [][]byte, s model.Session, hash []byte) error
	// RemoveSecondFactor removes the second factor by a proof. It starts a new session and ends all
	// others.
	RemoveSecondFactor(ctx context.Context, p model.FactorProof, s model.Session, hash []byte) error
	// PutRecoveryCodes replaces the recovery codes of a user. The session asking gets another
	// secret, and all others end.
	PutRecoveryCodes(ctx context.Context, asking model.Session, hashes [][]byte, hash []byte) error
	// RemovePasskey removes a passkey of a user. It changes sessions like PutRecoveryCodes.
	RemovePasskey(ctx context.Context, asking model.Session, id int64, hash []byte) error
}

// SecondFactors verifies second factors. It is safe for concurrent use.
type SecondFactors struct {
	sessions *Sessions
	store    FactorStore
	sealer   cipher.AEAD
	// perPerson limits attempts for one user from all addresses, so that an attacker with the
	// password cannot use many addresses.
	perPerson *Limiter
}

// Limits of code attempts for one user: thirty at once, then one every two minutes. Sessions.Admit
// also limits attempts from one address.
const personRate, personBurst = 1.0 / 120, 30

// NewSecondFactors returns second factors. The sealer encrypts stored secrets and must generate its
// nonces.
func NewSecondFactors(sessions *Sessions, store FactorStore, sealer cipher.AEAD) *SecondFactors {
	return &SecondFactors{
		sessions:  sessions,
		store:     store,
		sealer:    sealer,
		perPerson: NewLimiter(personRate, personBurst, sessions.clock),
	}
}

// Half returns the user of a sign-in that awaits the second factor, by the secret of a HalfError.
// It returns ErrUnauthenticated if the sign-in has ended.
func (f *SecondFactors) Half(ctx context.Context, secret string) (model.PendingSession, model.User, error) {
	h, u, err := f.store.PendingSession(ctx, CodeHash(secret))
	if errors.Is(err, model.ErrNotFound) {
		err = ErrUnauthenticated
	}
	return h, u, err
}

// Finish starts the session of a sign-in by a code of the authenticator app or a recovery code. It
// returns ErrCode, an UnreadableError, a BusyError, ErrUnauthenticated if the sign-in has ended, or
// an error of the store.
func (f *SecondFactors) Finish(ctx context.Context, secret, code string, from Origin) (string, error) {
	h, u, err := f.try(ctx, secret, from)
	if err != nil {
		return "", err
	}
	return f.prove(ctx, u, h.Method, code, from, f.finish(ctx, secret))
}

// try counts an attempt to finish a sign-in.
func (f *SecondFactors) try(ctx context.Context, secret string, from Origin) (model.PendingSession, model.User, error) {
	h, u, err := f.Half(ctx, secret)
	if err != nil {
		return h, u, err
	}
	if err := f.admit(u, from); err != nil {
		return h, u, err
	}
	err = f.store.TryPendingSession(ctx, CodeHash(secret))
	if errors.Is(err, model.ErrNotFound) {
		err = ErrUnauthenticated
	}
	return h, u, err
}

// consumer stores a proof as used and starts a session.
type consumer func(model.FactorProof, model.Session, []byte) error

func (f *SecondFactors) finish(ctx context.Context, secret string) consumer {
	return func(p model.FactorProof, n model.Session, hash []byte) error {
		_, err := f.store.FinishSignIn(ctx, CodeHash(secret), p, n, hash)
		return err
	}
}

// Remove removes the second factor of a user by password and code. It starts a new session and ends
// all others. It returns ErrSignIn for a wrong password, and otherwise the errors of Finish.
func (f *SecondFactors) Remove(
	ctx context.Context, who SessionInfo, password, code string, from Origin,
) (string, error) {
	if who.User.PasswordHash != "" {
		if err := f.sessions.CheckPassword(ctx, who.User, password, from, "second factor not removed"); err != nil {
			return "", err
		}
	}
	if err := f.admit(who.User, from); err != nil {
		return "", err
	}
	first := model.Session{Method: "password"}
	if who.User.PasswordHash == "" {
		first.Method = "link"
	}
	return f.prove(ctx, who.User, first.Method, code, from, func(p model.FactorProof, n model.Session, hash []byte) error {
		return f.store.RemoveSecondFactor(ctx, p, n, hash)
	})
}

// admit counts an attempt to enter a code.
func (f *SecondFactors) admit(u model.User, from Origin) error {
	if err := f.sessions.Admit("code of "+u.Name, from); err != nil {
		return err
	}
	if g := f.perPerson.Allow(u.Name); !g.OK {
		return &BusyError{Wait: max(g.Wait, time.Second)}
	}
	return nil
}

// prove parses a code and stores its proof as used.
func (f *SecondFactors) prove(
	ctx context.Context, u model.User, first, code string, from Origin, consume consumer,
) (string, error) {
	p, ok, err := f.proof(ctx, u, plainCode(code))
	if err != nil {
		return "", err
	}
	if !ok {
		return "", f.failed(ctx, u, first+" and code", "wrong code", from)
	}
	return f.consume(ctx, u, first, p, from, consume)
}

// consume stores a proof as used, and records rejected proofs as failed attempts.
func (f *SecondFactors) consume(
	ctx context.Context, u model.User, first string, p model.FactorProof, from Origin, consume consumer,
) (string, error) {
	secret, method := random(secretBytes), first+" and "+p.String()
	err := consume(p, f.sessions.session(u.ID, method, from), hash(secret))
	switch {
	case err == nil:
		f.sessions.Forget()
		return secret, nil
	case errors.Is(err, model.ErrNotFound):
		return "", ErrUnauthenticated
	case errors.Is(err, model.ErrConflict):
		return "", f.failed(ctx, u, method, "wrong "+p.String()+", or one used before", from)
	}
	return "", err
}

// failed records an invalid proof and returns ErrCode.
func (f *SecondFactors) failed(ctx context.Context, u model.User, method, reason string, from Origin) error {
	attempt := model.Attempt{Name: u.Name, Method: method, Address: from.Address, Agent: from.Agent, Reason: reason}
	return errors.Join(ErrCode, f.store.SignInFailed(ctx, attempt))
}

// proof returns the proof of a code, if the code may be valid.
func (f *SecondFactors) proof(
	ctx context.Context, u model.User, code string,
) (p model.FactorProof, ok bool, err error) {
	if len(code) == encoding.EncodedLen(recoveryBytes) {
		return model.FactorProof{Recovery: recoveryHash(code)}, true, nil
	}
	t, err := f.store.TOTP(ctx, u.ID)
	if errors.Is(err, model.ErrNotFound) {
		return p, false, nil
	}
	if err != nil {
		return p, false, err
	}
	secret, err := f.sealer.Open(nil, nil, t.Secret, rowOf(u.ID))
	if err != nil {
		return p, false, &UnreadableError{"authenticator app", u.Name, err}
	}
	p.Step = totpStep(string(secret), code, f.sessions.clock())
	return p, p.Step != 0, nil
}

// Start generates a secret for an authenticator app of the signed-in user. It stores nothing.
// issuer is the name of the server in the app.
func (f *SecondFactors) Start(who SessionInfo, issuer string) (Enrolment, error) {
	e, err := newEnrolment(issuer, who.User.Name, nil)
	if err != nil {
		return e, err
	}
	sealed := f.sealer.Seal(nil, nil, stamp(f.sessions.clock().Add(enrolmentFor), []byte(e.Secret)), formOf(who))
	e.Sealed = base64.RawURLEncoding.EncodeToString(sealed)
	return e, nil
}

// Resume reads an Enrolment from Start for the same user and session. It returns a
// *model.InvalidError for others, and for expired ones.
func (f *SecondFactors) Resume(who SessionInfo, issuer, text string) (Enrolment, error) {
	stale := model.Invalid("code", "the secret belongs to another session: start again")
	sealed, err := base64.RawURLEncoding.DecodeString(text)
	if err != nil {
		return Enrolment{}, stale
	}
	opened, err := f.sealer.Open(nil, nil, sealed, formOf(who))
	if err != nil {
		return Enrolment{}, stale
	}
	secret, err := readStamped(opened, f.sessions.clock())
	if err != nil {
		return Enrolment{}, err
	}
	plain, err := base32.StdEncoding.WithPadding(base32.NoPadding).DecodeString(string(secret))
	if err != nil {
		return Enrolment{}, stale
	}
	e, err := newEnrolment(issuer, who.User.Name, plain)
	e.Sealed = text
	return e, err
}

// SetUp adds an authenticator app for the signed-in user, verified by its first code. It starts a
// new session and ends all others. It returns the session's secret and the recovery codes, which
// are shown once. It returns ErrCode for a wrong code, and model.ErrConflict if there already is an
// app.
func (f *SecondFactors) SetUp(
	ctx context.Context, who SessionInfo, e Enrolment, code string, from Origin,
) (secret string, recovery []string, err error) {
	step := totpStep(e.Secret, plainCode(code), f.sessions.clock())
	if step == 0 {
		return "", nil, ErrCode
	}
	t := model.TOTP{Secret: f.sealer.Seal(nil, nil, []byte(e.Secret), rowOf(who.User.ID)), Step: step}
	first := "password"
	if who.Session.ByLink() {
		first = "link"
	}
	recovery, hashes := newRecoveryCodes()
	secret = random(secretBytes)
	n := f.sessions.session(who.User.ID, first+" and code", from)
	if err := f.store.SetUpTOTP(ctx, t, hashes, n, hash(secret)); err != nil {
		return "", nil, err
	}
	f.sessions.Forget()
	return secret, recovery, nil
}

// NewRecoveryCodes replaces the recovery codes of the signed-in user. It returns the new codes,
// which are shown once, and a new secret for the current session. All other sessions of the user
// end, because one may have been started with a stolen code.
func (f *SecondFactors) NewRecoveryCodes(
	ctx context.Context, who SessionInfo,
) (secret string, codes []string, err error) {
	texts, hashes := newRecoveryCodes()
	secret, err = f.sessions.renew(func(hash []byte) error {
		return f.store.PutRecoveryCodes(ctx, who.Session, hashes, hash)
	})
	return secret, texts, err
}

// RemovePasskey removes a passkey of the signed-in user and returns a new secret for the current
// session. All other sessions of the user end, because one may have been started with it. It
// returns model.ErrConflict for the last second factor.
func (f *SecondFactors) RemovePasskey(ctx context.Context, who SessionInfo, id int64) (secret string, err error) {
	return f.sessions.renew(func(hash []byte) error { return f.store.RemovePasskey(ctx, who.Session, id, hash) })
}
