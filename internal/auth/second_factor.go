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

// ErrCode means that a code is not the one of the user's second factor, or was used
// before: to a stranger these are the same.
var ErrCode = errors.New("the code does not fit")

// HalfError means that what was shown is right and that the second factor is
// missing. It is an error so that nobody who overlooks it lets somebody in.
type HalfError struct {
	Secret string // of the half session, for a cookie; see SecondFactors.Finish
}

// Error says what is missing.
func (e *HalfError) Error() string { return "the second factor is missing" }

// UnreadableError means that what is kept of a second factor does not open with the
// keys of this server: its key file was lost, or is another one's. Other factors of the
// person go on, and so do recovery codes.
type UnreadableError struct {
	Factor string // what it is: "passkey" or "authenticator app"
	User   string // whose, by the name to sign in with
	Cause  error
}

// Error says to whoever runs the server what is wrong and what to do.
func (e *UnreadableError) Error() string {
	return fmt.Sprintf("what is kept of the %s of %s cannot be read with the keys of this server: put the key file from "+
		"the backup in its place; recovery codes work, and so does redoubt user reset-2fa %s: %v",
		e.Factor, e.User, e.User, e.Cause)
}

// Unwrap is the cause.
func (e *UnreadableError) Unwrap() error { return e.Cause }

// FactorStore is the storage that second factors need.
type FactorStore interface {
	// PendingSession finds a sign-in that waits for the second factor.
	PendingSession(ctx context.Context, hash []byte) (model.PendingSession, model.User, error)
	// TryPendingSession counts a try; after too many the sign-in is over.
	TryPendingSession(ctx context.Context, hash []byte) error
	// FinishSignIn makes a session of it, and uses the proof up.
	FinishSignIn(
		ctx context.Context, half []byte, p model.FactorProof, s model.Session, hash []byte,
	) (model.Session, error)
	// SignInFailed notes a try that failed.
	SignInFailed(ctx context.Context, a model.Attempt) error
	// TOTP finds the authenticator app of a user.
	TOTP(ctx context.Context, userID int64) (model.TOTP, error)
	// SetUpTOTP gives a user one, with recovery codes, and a session in place of all
	// others.
	SetUpTOTP(ctx context.Context, t model.TOTP, recovery [][]byte, s model.Session, hash []byte) error
	// RemoveSecondFactor takes it away by a proof, and begins a session in place of
	// all others.
	RemoveSecondFactor(ctx context.Context, p model.FactorProof, s model.Session, hash []byte) error
	// PutRecoveryCodes replaces the recovery codes of a user. The session that asks
	// goes on under another secret, all others end.
	PutRecoveryCodes(ctx context.Context, asking model.Session, hashes [][]byte, hash []byte) error
	// RemovePasskey takes a passkey of a user away, with sessions as PutRecoveryCodes.
	RemovePasskey(ctx context.Context, asking model.Session, id int64, hash []byte) error
}

// SecondFactors asks for what somebody has, beside what they know. It is safe for
// concurrent use.
type SecondFactors struct {
	sessions *Sessions
	store    FactorStore
	sealer   cipher.AEAD
	// perPerson bounds tries of codes from all addresses together: who knows the
	// password cannot try them from many.
	perPerson *Limiter
}

// Codes are tried by one person thirty times at once and then every two minutes,
// beside what Sessions.Admit allows from one address.
const personRate, personBurst = 1.0 / 120, 30

// NewSecondFactors makes it; sealer encrypts the secrets that the store keeps, and
// makes its nonces itself.
func NewSecondFactors(sessions *Sessions, store FactorStore, sealer cipher.AEAD) *SecondFactors {
	return &SecondFactors{
		sessions:  sessions,
		store:     store,
		sealer:    sealer,
		perPerson: NewLimiter(personRate, personBurst, sessions.clock),
	}
}

// Half finds whose sign-in waits for the second factor, by the secret of a
// HalfError. One that is over is ErrUnauthenticated.
func (f *SecondFactors) Half(ctx context.Context, secret string) (model.PendingSession, model.User, error) {
	h, u, err := f.store.PendingSession(ctx, CodeHash(secret))
	if errors.Is(err, model.ErrNotFound) {
		err = ErrUnauthenticated
	}
	return h, u, err
}

// Finish begins the session of a sign-in that waited for a code: of the
// authenticator app, or a recovery code. It answers ErrCode, an UnreadableError, a
// BusyError, ErrUnauthenticated where the sign-in is over, or an error of the store.
func (f *SecondFactors) Finish(ctx context.Context, secret, code string, from Origin) (string, error) {
	h, u, err := f.try(ctx, secret, from)
	if err != nil {
		return "", err
	}
	return f.prove(ctx, u, h.Method, code, from, f.finish(ctx, secret))
}

// try counts a try to finish a sign-in.
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

// taker has the store take a proof, and begin a session.
type taker func(model.FactorProof, model.Session, []byte) error

func (f *SecondFactors) finish(ctx context.Context, secret string) taker {
	return func(p model.FactorProof, n model.Session, hash []byte) error {
		_, err := f.store.FinishSignIn(ctx, CodeHash(secret), p, n, hash)
		return err
	}
}

// Remove takes the second factor of a user away, who shows password and code, and
// begins a session in place of all others. It answers ErrSignIn for the password,
// and else as Finish does.
func (f *SecondFactors) Remove(
	ctx context.Context, who SessionInfo, password, code string, from Origin,
) (string, error) {
	if who.User.PasswordHash != "" {
		if err := f.sessions.CheckPassword(ctx, who.User, password, from, "to remove the second factor"); err != nil {
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

// admit counts a try of a code.
func (f *SecondFactors) admit(u model.User, from Origin) error {
	if err := f.sessions.Admit("code of "+u.Name, from); err != nil {
		return err
	}
	if g := f.perPerson.Allow(u.Name); !g.OK {
		return &BusyError{Wait: max(g.Wait, time.Second)}
	}
	return nil
}

// prove reads a code, and has the store take it.
func (f *SecondFactors) prove(
	ctx context.Context, u model.User, first, code string, from Origin, take taker,
) (string, error) {
	p, ok, err := f.proof(ctx, u, plainCode(code))
	if err != nil {
		return "", err
	}
	if !ok {
		return "", f.failed(ctx, u, first+" and code", "wrong code", from)
	}
	return f.take(ctx, u, first, p, from, take)
}

// take has the store take a proof, and notes one that it does not take.
func (f *SecondFactors) take(
	ctx context.Context, u model.User, first string, p model.FactorProof, from Origin, take taker,
) (string, error) {
	secret, method := random(secretBytes), first+" and "+p.String()
	err := take(p, f.sessions.session(u.ID, method, from), hash(secret))
	switch {
	case err == nil:
		f.sessions.Forget()
		return secret, nil
	case errors.Is(err, model.ErrNotFound):
		return "", ErrUnauthenticated
	case errors.Is(err, model.ErrConflict):
		return "", f.failed(ctx, u, method, "wrong "+p.String()+", or one that was used before", from)
	}
	return "", err
}

// failed notes a proof that does not hold, and is ErrCode.
func (f *SecondFactors) failed(ctx context.Context, u model.User, method, reason string, from Origin) error {
	attempt := model.Attempt{Name: u.Name, Method: method, Address: from.Address, Agent: from.Agent, Reason: reason}
	return errors.Join(ErrCode, f.store.SignInFailed(ctx, attempt))
}

// proof tells what a code is, if it may be one.
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

// Start makes a secret for an authenticator app of who is signed in. Nothing is
// kept of it. issuer is what the app calls the server.
func (f *SecondFactors) Start(who SessionInfo, issuer string) (Enrolment, error) {
	e, err := newEnrolment(issuer, who.User.Name, nil)
	if err != nil {
		return e, err
	}
	sealed := f.sealer.Seal(nil, nil, stamp(f.sessions.clock().Add(enrolmentFor), []byte(e.Secret)), formOf(who))
	e.Sealed = base64.RawURLEncoding.EncodeToString(sealed)
	return e, nil
}

// Resume reads what Start has made, for the same user in the same session. What
// does not open, or is too old, is a model.InvalidError.
func (f *SecondFactors) Resume(who SessionInfo, issuer, text string) (Enrolment, error) {
	stale := model.Invalid("code", "the secret is of another session: start again")
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

// SetUp gives who is signed in an authenticator app, whose first code they show,
// and begins a session in place of all others. It returns its secret, and the
// recovery codes, to be shown once. A code that does not fit is ErrCode; an app
// that is there already model.ErrConflict.
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

// NewRecoveryCodes replaces the recovery codes of who is signed in, and returns the new
// ones, to be shown once. All their other sessions end, as one of them may have begun
// by a code that somebody else found, and theirs goes on under the secret returned.
func (f *SecondFactors) NewRecoveryCodes(
	ctx context.Context, who SessionInfo,
) (secret string, codes []string, err error) {
	texts, hashes := newRecoveryCodes()
	secret, err = f.sessions.renew(func(hash []byte) error {
		return f.store.PutRecoveryCodes(ctx, who.Session, hashes, hash)
	})
	return secret, texts, err
}

// RemovePasskey takes a passkey of who is signed in away: all their other sessions
// end, as one of them may have begun by it, and theirs goes on under the secret
// returned. The last second factor is model.ErrConflict.
func (f *SecondFactors) RemovePasskey(ctx context.Context, who SessionInfo, id int64) (secret string, err error) {
	return f.sessions.renew(func(hash []byte) error { return f.store.RemovePasskey(ctx, who.Session, id, hash) })
}
