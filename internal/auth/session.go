package auth

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/redoubt/redoubt/internal/model"
)

// ErrSignIn means that name and password do not fit, whatever the reason: an
// unknown name, a wrong password and a disabled user are the same to a stranger.
var ErrSignIn = errors.New("name and password do not fit")

// BusyError means that there were too many tries to sign in.
type BusyError struct {
	Wait time.Duration // until the next one may pass
}

// Error says how long to wait.
func (e *BusyError) Error() string {
	return fmt.Sprintf("too many tries to sign in; wait %s", e.Wait.Round(time.Second))
}

// SessionStore is the storage that sign-in needs.
type SessionStore interface {
	// User finds a user by name.
	User(ctx context.Context, name string) (model.User, error)
	// SignIn begins a session under the hash of its secret, or half of one where the
	// user has a second factor: the session says so. Where the user's
	// password is no longer the one that was checked it is model.ErrConflict.
	SignIn(ctx context.Context, s model.Session, hash []byte, p model.CheckedPassword) (model.Session, error)
	// SignInFailed notes a try that failed.
	SignInFailed(ctx context.Context, a model.Attempt) error
	// Session finds a session with its user and the user's roles.
	Session(ctx context.Context, hash []byte) (model.Session, model.User, []model.Membership, error)
	// TouchSessions notes when sessions were last used.
	TouchSessions(ctx context.Context, used []model.SessionUse) error
	// EndSession ends one session of a user.
	EndSession(ctx context.Context, userID, sessionID int64) error
	// UseSignInLink begins a session by a one-time link, as SignIn does.
	UseSignInLink(ctx context.Context, l model.UserLink, s model.Session, hash []byte) (model.Session, error)
}

// SessionLimits say how long a session lasts; zero members take their default.
type SessionLimits struct {
	Idle time.Duration // without a request; 12 hours
	Max  time.Duration // whatever happens; 7 days
}

// OrDefault fills in what is not said.
func (l SessionLimits) OrDefault() SessionLimits {
	if l.Idle <= 0 {
		l.Idle = 12 * time.Hour
	}
	if l.Max <= 0 {
		l.Max = 7 * 24 * time.Hour
	}
	return l
}

// Origin is where a request comes from.
type Origin struct {
	Address string
	Agent   string // the browser, as it calls itself
}

// SessionInfo is what a session's cookie stands for.
type SessionInfo struct {
	Session     model.Session
	User        model.User
	Memberships []model.Membership
}

// Role returns what the visitor may do in a deployment.
func (i SessionInfo) Role(idOrSlug string) (model.Deployment, model.Role) {
	for _, m := range i.Memberships {
		if idOrSlug == m.Deployment.Slug || idOrSlug == strconv.FormatInt(m.Deployment.ID, 10) {
			return m.Deployment, m.Role
		}
	}
	return model.Deployment{}, model.RoleNone
}

// Sessions signs users in and finds who visits. It is safe for concurrent use.
type Sessions struct {
	store     SessionStore
	passwords *Passwords
	clock     func() time.Time
	limits    SessionLimits

	perAccount *Limiter // by account and address
	perAddress *Limiter // whatever the account

	known cache[SessionInfo]
	used  lastUses[int64, model.SessionUse]
}

// ProofFor is how long after a sign-in people may do what matters most without
// showing once more who they are.
const ProofFor = 15 * time.Minute

// How often one may try to sign in: ten times at once and then every half
// minute for one account from one address, sixty times and then every two
// seconds from one address. A stranger elsewhere locks nobody out.
const (
	accountRate, accountBurst = 1.0 / 30, 10
	addressRate, addressBurst = 1.0 / 2, 60
)

// NewSessions makes it.
func NewSessions(store SessionStore, passwords *Passwords, clock func() time.Time, limits SessionLimits) *Sessions {
	return &Sessions{
		store: store, passwords: passwords, clock: clock, limits: limits.OrDefault(),
		perAccount: NewLimiter(accountRate, accountBurst, clock), perAddress: NewLimiter(addressRate, addressBurst, clock),
	}
}

// Limits are those of its sessions.
func (s *Sessions) Limits() SessionLimits { return s.limits }

// Passwords are those that sign-in checks with.
func (s *Sessions) Passwords() *Passwords { return s.passwords }

// SignIn begins a session of the user whose name and password these are and
// returns its secret, for the cookie. It answers ErrSignIn, a BusyError, a HalfError
// where a second factor is missing, or an error of the store.
func (s *Sessions) SignIn(ctx context.Context, name, password string, from Origin) (string, error) {
	if name = model.NormalUserName(name); model.CheckUserName(name) != nil {
		name = "" // nobody's, whatever a stranger sends, megabytes of it or what is no text
	}
	if err := s.Admit(name, from); err != nil {
		return "", err
	}
	password = bounded(password)
	secret, err := s.signIn(ctx, name, password, from)
	// the hash changed between look and entry: by a rehash, or it is another password
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

// Admit counts a try to get in, and answers a BusyError where there were too
// many.
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

// Begin begins a session of a user who has shown who they are, and returns its
// secret: a new one each time, so none that somebody knew before. Where the user has
// a second factor it answers a HalfError, whatever was shown. A user who is
// disabled is ErrSignIn; one whose password changed since it was checked is
// model.ErrConflict.
func (s *Sessions) Begin(
	ctx context.Context, userID int64, method string, from Origin, p model.CheckedPassword,
) (string, error) {
	return s.begin(s.session(userID, method, from), func(n model.Session, hash []byte) (model.Session, error) {
		return s.store.SignIn(ctx, n, hash, p)
	})
}

// BeginByLink begins a session by a one-time link, which is used up. Where the user
// has a second factor it answers a HalfError.
func (s *Sessions) BeginByLink(ctx context.Context, l model.UserLink, from Origin) (string, error) {
	return s.begin(s.session(l.UserID, "link", from), func(n model.Session, hash []byte) (model.Session, error) {
		return s.store.UseSignInLink(ctx, l, n, hash)
	})
}

// session is a new one of a user.
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

// CheckPassword asks a user who is signed in for the password again, as often as a
// sign-in does; why says for the trail what it is asked for. It answers ErrSignIn, a
// BusyError, or an error of the store.
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

// bounded cuts what is longer than any password: four bytes a character at most.
func bounded(password string) string { return password[:min(len(password), 4*MaxPassword+1)] }

// Authenticate finds who presents the secret of a session, or answers
// ErrUnauthenticated. Any other error is the store's.
func (s *Sessions) Authenticate(ctx context.Context, secret string) (SessionInfo, error) {
	if len(secret) != encoding.EncodedLen(secretBytes) {
		return SessionInfo{}, ErrUnauthenticated
	}
	sum, now := hash(secret), s.clock()
	found, ok := s.known.get(sum, now)
	if !ok {
		var err error
		if found, err = s.look(ctx, sum); err != nil {
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

// look asks the store, which may not know yet of the last requests.
func (s *Sessions) look(ctx context.Context, sum []byte) (i SessionInfo, err error) {
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

// renew makes a new secret for a session that goes on, which store puts in the place
// of the one before.
func (s *Sessions) renew(store func(hash []byte) error) (string, error) {
	secret := random(secretBytes)
	if err := store(hash(secret)); err != nil {
		return "", err
	}
	s.Forget()
	return secret, nil
}

// Forget has everybody looked up anew: after a change that shall hold at once,
// not only in a second.
func (s *Sessions) Forget() { s.known.forget() }

// IdleSince is how long ago the last request of a session must lie for it to
// be over.
func (s *Sessions) IdleSince() time.Time { return s.clock().Add(-s.limits.Idle) }

// Flush writes when sessions were last used.
func (s *Sessions) Flush(ctx context.Context) error {
	return s.used.flush(func(used []model.SessionUse) error { return s.store.TouchSessions(ctx, used) })
}

// NewCode makes the code of a one-time link, and the hash to store.
func NewCode() (text string, sum []byte) {
	text = random(secretBytes)
	return text, hash(text)
}

// CodeHash is the hash of a one-time link's code, as a client presents it.
func CodeHash(text string) []byte {
	if len(text) > maxSecret {
		text = ""
	}
	return hash(text)
}
