package auth

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/redoubt/redoubt/internal/model"
)

// ErrSignIn is the common error for unknown names, wrong passwords and disabled users.
var ErrSignIn = errors.New("wrong username or password")

// BusyError means that there were too many sign-in attempts.
type BusyError struct {
	Wait time.Duration // until the next attempt is allowed
}

// Error returns the time to wait.
func (e *BusyError) Error() string {
	return fmt.Sprintf("too many sign-in attempts: wait %s", e.Wait.Round(time.Second))
}

// SessionStore provides the storage of sign-in.
type SessionStore interface {
	// User returns a user by name.
	User(ctx context.Context, name string) (model.User, error)
	// SignIn starts a session with the hash of its secret. The session is half if the user has a
	// second factor. It returns model.ErrConflict if the checked password has been changed.
	SignIn(ctx context.Context, s model.Session, hash []byte, p model.CheckedPassword) (model.Session, error)
	// SignInFailed records a failed attempt.
	SignInFailed(ctx context.Context, a model.Attempt) error
	// Session returns a session with its user and the user's roles.
	Session(ctx context.Context, hash []byte) (model.Session, model.User, []model.Membership, error)
	// TouchSessions records when sessions were last used.
	TouchSessions(ctx context.Context, used []model.SessionUse) error
	// EndSession ends one session of a user.
	EndSession(ctx context.Context, userID, sessionID int64) error
	// UseSignInLink starts a session by a one-time link, like SignIn.
	UseSignInLink(ctx context.Context, l model.UserLink, s model.Session, hash []byte) (model.Session, error)
}

// SessionLimits limits the lifetime of sessions. Zero fields use the defaults.
type SessionLimits struct {
	Idle time.Duration // without a request; 12 hours
	Max  time.Duration // in total; 7 days
}

// OrDefault returns the limits with defaults for missing values.
func (l SessionLimits) OrDefault() SessionLimits {
	if l.Idle <= 0 {
		l.Idle = 12 * time.Hour
	}
	if l.Max <= 0 {
		l.Max = 7 * 24 * time.Hour
	}
	return l
}

// Origin is the network origin of a request.
type Origin struct {
	Address string
	Agent   string // user agent
}

// SessionInfo is an authenticated session.
type SessionInfo struct {
	Session     model.Session
	User        model.User
	Memberships []model.Membership
}

// Role returns the user's role in a deployment.
func (i SessionInfo) Role(idOrSlug string) (model.Deployment, model.Role) {
	for _, m := range i.Memberships {
		if idOrSlug == m.Deployment.Slug || idOrSlug == strconv.FormatInt(m.Deployment.ID, 10) {
			return m.Deployment, m.Role
		}
	}
	return model.Deployment{}, model.RoleNone
}

// Sessions signs users in and authenticates sessions. It is safe for concurrent use.
type Sessions struct {
	store     SessionStore
	passwords *Passwords
	clock     func() time.Time
	limits    SessionLimits

	perAccount *Limiter // by account and address
	perAddress *Limiter // for all accounts

	known cache[SessionInfo]
	used  lastUses[int64, model.SessionUse]
}

// ProofFor is the time after a sign-in in which sensitive actions need no further authentication.
const ProofFor = 15 * time.Minute

// Limits of sign-in attempts. One account from one address: ten at once, then one every 30 seconds.
// One address: sixty at once, then one every two seconds. Attempts from other addresses do not lock
// a user out.
const (
	accountRate, accountBurst = 1.0 / 30, 10
	addressRate, addressBurst = 1.0 / 2, 60
)

// NewSessions returns sessions with the limits.
func NewSessions(store SessionStore, passwords *Passwords, clock func() time.Time, limits SessionLimits) *Sessions {
	return &Sessions{
		store: store, passwords: passwords, clock: clock, limits: limits.OrDefault(),
		perAccount: NewLimiter(accountRate, accountBurst, clock), perAddress: NewLimiter(addressRate, addressBurst, clock),
	}
}

// Limits returns the session limits.
func (s *Sessions) Limits() SessionLimits { return s.limits }

// Passwords returns the password checker.
func (s *Sessions) Passwords() *Passwords { return s.passwords }

// SignIn starts a session by name and password and returns its secret for the cookie. It returns
// ErrSignIn, a BusyError, a HalfError if a second factor is missing, or an error of the store.
func (s *Sessions) SignIn(ctx context.Context, name, password string, from Origin) (string, error) {
	if name = model.NormalUserName(name); model.CheckUserName(name) != nil {
		name = "" // invalid names may be large or contain invalid text
	}
	if err := s.Admit(name, from); err != nil {
		return "", err
	}
	password = bounded(password)
	secret, err := s.signIn(ctx, name, password, from)
	// The hash changed after it was read, by a rehash or by a new password.
	if errors.Is(err, model.ErrConflict) {
		secret, err = s.signIn(ctx, name, password, from)
	}
	if errors.Is(err, model.ErrConflict) {
		err = ErrSignIn
	}
	return secret, err
}

func (s *Sessions) signIn(ctx context.Context, name, password string, from Origin) (string, error) {
	u, err := s.store.User(ctx, name)
	if err != nil && !errors.Is(err, model.ErrNotFound) {
		return "", err
	}
	ok, rehash, err := s.passwords.Check(ctx, u.PasswordHash, password)
	if err != nil {
		return "", err
	}
	reason := ""
	switch {
	case u.ID == 0:
		reason = "no such user"
	case u.PasswordHash == "":
		reason = "the user has no password"
	case !ok:
		reason = "wrong password"
	case !u.Enabled():
		reason = "the user is disabled"
	}
	if reason != "" {
		attempt := model.Attempt{Name: name, Method: "password", Address: from.Address, Agent: from.Agent, Reason: reason}
		return "", errors.Join(ErrSignIn, s.store.SignInFailed(ctx, attempt))
	}
	return s.Begin(ctx, u.ID, "password", from, model.CheckedPassword{Hash: u.PasswordHash, Rehash: rehash})
}

// Admit counts a sign-in attempt, and returns a BusyError after too many.
func (s *Sessions) Admit(name string, from Origin) error {
	address := model.Network(from.Address)
	if g := s.perAddress.Allow(address); !g.OK {
		return &BusyError{Wait: max(g.Wait, time.Second)}
	}
	if g := s.perAccount.Allow(address + " " + name); !g.OK {
		return &BusyError{Wait: max(g.Wait, time.Second)}
	}
	return nil
}

// Begin starts a session of an authenticated user and returns its new secret. It returns a
// HalfError if the user has a second factor and ErrSignIn if the user is disabled. It returns
// model.ErrConflict if the checked password has been changed.
func (s *Sessions) Begin(
	ctx context.Context, userID int64, method string, from Origin, p model.CheckedPassword,
) (string, error) {
	return s.begin(s.session(userID, method, from), func(n model.Session, hash []byte) (model.Session, error) {
		return s.store.SignIn(ctx, n, hash, p)
	})
}

// BeginByLink starts a session by a one-time link and marks the link as used. It returns a
// HalfError if the user has a second factor.
func (s *Sessions) BeginByLink(ctx context.Context, l model.UserLink, from Origin) (string, error) {
	return s.begin(s.session(l.UserID, "link", from), func(n model.Session, hash []byte) (model.Session, error) {
		return s.store.UseSignInLink(ctx, l, n, hash)
	})
}

// session returns a new session of a user.
func (s *Sessions) session(userID int64, method string, from Origin) model.Session {
	return model.Session{
		UserID:    userID,
		Method:    method,
		Address:   from.Address,
		Agent:     from.Agent,
		ExpiresAt: s.clock().Add(s.limits.Max),
	}
}

func (s *Sessions) begin(n model.Session, store func(model.Session, []byte) (model.Session, error)) (string, error) {
	secret := random(secretBytes)
	n, err := store(n, hash(secret))
	switch {
	case errors.Is(err, model.ErrNotFound):
		return "", ErrSignIn
	case err != nil:
		return "", err
	case n.Half:
		return "", &HalfError{Secret: secret}
	}
	return secret, nil
}

// CheckPassword verifies the password of a signed-in user again, with the limits of a sign-in. The
// reason why is recorded for failed attempts. It returns ErrSignIn, a BusyError, or an error of the
// store.
func (s *Sessions) CheckPassword(ctx context.Context, u model.User, password string, from Origin, why string) error {
	if err := s.Admit(u.Name, from); err != nil {
		return err
	}
	ok, _, err := s.passwords.Check(ctx, u.PasswordHash, bounded(password))
	if err != nil || ok {
		return err
	}
	attempt := model.Attempt{
		Name:    u.Name,
		Method:  "password",
		Address: from.Address,
		Agent:   from.Agent,
		Reason:  "wrong password, " + why,
	}
	return errors.Join(ErrSignIn, s.store.SignInFailed(ctx, attempt))
}

// bounded truncates passwords above the maximum length, at four bytes a character.
func bounded(password string) string { return password[:min(len(password), 4*MaxPassword+1)] }

// Authenticate returns the session with the secret, or ErrUnauthenticated. Other errors are those
// of the store.
func (s *Sessions) Authenticate(ctx context.Context, secret string) (SessionInfo, error) {
	if len(secret) != encoding.EncodedLen(secretBytes) {
		return SessionInfo{}, ErrUnauthenticated
	}
	sum, now := hash(secret), s.clock()
	found, ok := s.known.get(sum, now)
	if !ok {
		var err error
		if found, err = s.load(ctx, sum); err != nil {
			return SessionInfo{}, err
		}
		s.known.put(sum, found, now)
	}
	if !now.Before(found.Session.ExpiresAt) || now.Sub(found.Session.SeenAt) > s.limits.Idle {
		return SessionInfo{}, ErrUnauthenticated
	}
	s.used.note(found.Session.ID, model.SessionUse{SessionID: found.Session.ID, At: now})
	return found, nil
}

// load reads the session from the store and adds a later use that is not yet stored.
func (s *Sessions) load(ctx context.Context, sum []byte) (i SessionInfo, err error) {
	i.Session, i.User, i.Memberships, err = s.store.Session(ctx, sum)
	switch {
	case errors.Is(err, model.ErrNotFound):
		return i, ErrUnauthenticated
	case err != nil:
		return i, fmt.Errorf("look up the session: %w", err)
	}
	if use, ok := s.used.of(i.Session.ID); ok && use.At.After(i.Session.SeenAt) {
		i.Session.SeenAt = use.At
	}
	return i, nil
}

// SignOut ends a session.
func (s *Sessions) SignOut(ctx context.Context, i SessionInfo) error {
	err := s.store.EndSession(ctx, i.User.ID, i.Session.ID)
	s.Forget()
	return err
}

// renew generates a new secret for an existing session. The function store replaces the previous
// hash.
func (s *Sessions) renew(store func(hash []byte) error) (string, error) {
	secret := random(secretBytes)
	if err := store(hash(secret)); err != nil {
		return "", err
	}
	s.Forget()
	return secret, nil
}

// Forget clears cached sessions, so that a change takes effect immediately.
func (s *Sessions) Forget() { s.known.forget() }

// IdleSince returns the time before which the last request of an expired session was made.
func (s *Sessions) IdleSince() time.Time { return s.clock().Add(-s.limits.Idle) }

// Flush stores when sessions were last used.
func (s *Sessions) Flush(ctx context.Context) error {
	return s.used.flush(func(used []model.SessionUse) error { return s.store.TouchSessions(ctx, used) })
}

// NewCode returns the code of a one-time link and its hash.
func NewCode() (text string, sum []byte) {
	text = random(secretBytes)
	return text, hash(text)
}

// CodeHash returns the hash of the code of a one-time link.
func CodeHash(text string) []byte {
	if len(text) > maxSecret {
		text = ""
	}
	return hash(text)
}
