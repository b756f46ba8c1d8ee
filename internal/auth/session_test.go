package auth

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/redoubt/redoubt/internal/model"
	"github.com/redoubt/redoubt/internal/store"
	"github.com/redoubt/redoubt/internal/testutil/storetest"
)

const password = "correct horse battery"

// door is a store with one administrator, ada, and its sign-in.
type door struct {
	t     *testing.T
	clock *storetest.Clock
	store *store.Store
	d     model.Deployment
	ada   model.User
	*Sessions
}

func newDoor(t *testing.T) *door {
	t.Helper()
	clock := storetest.NewClock()
	s := storetest.Open(t, storetest.Database(t, "sqlite", clock))
	d := &door{t: t, clock: clock, store: s, d: storetest.Deployment(t, s), Sessions: NewSessions(s, newPasswords(cheap), clock.Now, SessionLimits{})}
	d.ada = d.add("ada", model.RoleAdmin)
	return d
}

func (d *door) add(name string, role model.Role) (u model.User) {
	d.t.Helper()
	hash, err := d.passwords.Hash(d.t.Context(), password)
	if err == nil {
		err = d.store.Update(d.t.Context(), d.d.ID, storetest.Actor, func(ctx context.Context, tx *store.Tx) (err error) {
			u, err = tx.CreateUser(ctx, model.User{Name: name, PasswordHash: hash}, role)
			return err
		})
	}
	if err != nil {
		d.t.Fatal(err)
	}
	return u
}

var home = Origin{Address: "192.0.2.1", Agent: "browser"}

func (d *door) signIn(name string) string {
	d.t.Helper()
	secret, err := d.SignIn(d.t.Context(), name, password, home)
	if err != nil {
		d.t.Fatal(err)
	}
	return secret
}

func (d *door) visits(secret string) bool {
	d.t.Helper()
	_, err := d.Authenticate(d.t.Context(), secret)
	if err != nil && !errors.Is(err, ErrUnauthenticated) {
		d.t.Fatal(err)
	}
	return err == nil
}

func TestSignInAndAuthenticate(t *testing.T) {
	d := newDoor(t)
	one, two := d.signIn(" Ada"), d.signIn("ada")
	if one == two || len(one) != 52 {
		t.Errorf("the secrets are %d long, the same: %v", len(one), one == two)
	}
	v, err := d.Authenticate(t.Context(), one)
	if err != nil || v.User.ID != d.ada.ID || v.Session.Address != home.Address || v.Session.Method != "password" {
		t.Errorf("the visit is %v, %v", v, err)
	}
	if got, role := v.Role("acme"); got.ID != d.d.ID || role != model.RoleAdmin {
		t.Errorf("in acme it is %v in %v", role, got)
	}
	for _, other := range []string{storetest.Noise, "", "nowhere"} {
		if got, role := v.Role(other); got.ID != 0 || role != model.RoleNone {
			t.Errorf("in %q it is %v in %v", other, role, got)
		}
	}
	for _, bad := range []string{"", one[:51], one + "a", "x" + one[1:], string(hash(one))} {
		if bad != one && d.visits(bad) {
			t.Errorf("%q was let in", bad)
		}
	}
}

func TestSignInFailuresAreIndistinguishable(t *testing.T) {
	d := newDoor(t)
	off := d.add("off", model.RoleViewer)
	if err := d.store.DisableUser(t.Context(), off.ID, storetest.Actor); err != nil {
		t.Fatal(err)
	}
	for _, c := range [][2]string{{"ada", "wrong"}, {"unknown", password}, {"off", password}, {"", ""}, {storetest.NoisyUser, password}} {
		_, err := d.SignIn(t.Context(), c[0], c[1], home)
		if !errors.Is(err, ErrSignIn) || err.Error() != ErrSignIn.Error() {
			t.Errorf("%v: %v", c, err)
		}
	}
	server, err := d.store.ServerEvents(t.Context(), 0, 10)
	if err != nil || len(server) != 2 {
		t.Errorf("attempts of unknown users are recorded as %v, %v", server, err)
	}
}

func TestSignInAttemptLimitWithoutLockout(t *testing.T) {
	d := newDoor(t)
	stranger := Origin{Address: "2001:db8::1"}
	var busy *BusyError
	for i := range 200 {
		stranger.Address = fmt.Sprintf("2001:db8::%x", i+1) // all in one network
		if _, err := d.SignIn(t.Context(), "ada", "guess", stranger); errors.As(err, &busy) {
			if i != accountBurst {
				t.Errorf("refused at try %d, want %d", i, accountBurst)
			}
			break
		}
	}
	if busy == nil || busy.Wait < time.Second {
		t.Fatalf("no sign-in was refused: %v", busy)
	}
	d.signIn("ada") // from another address, while the attacker is limited
	if _, err := d.SignIn(t.Context(), "ada", password, stranger); !errors.As(err, &busy) {
		t.Errorf("the stranger guessed right at the eleventh try: %v", err)
	}
	d.clock.Advance(busy.Wait)
	if _, err := d.SignIn(t.Context(), "ada", password, stranger); err != nil {
		t.Errorf("after the wait that was asked for: %v", err)
	}
	busy = nil
	for i := range addressBurst + 1 {
		if _, err := d.SignIn(t.Context(), fmt.Sprint("name-", i), "guess", Origin{Address: "198.51.100.7"}); errors.As(err, &busy) {
			break
		}
	}
	if busy == nil {
		t.Error("one address may try any number of names")
	}
}

func TestSessionIdleAndMaximumAge(t *testing.T) {
	d := newDoor(t)
	used, idle := d.signIn("ada"), d.signIn("ada")
	limits := SessionLimits{}.OrDefault()
	for elapsed := time.Duration(0); elapsed+limits.Idle < limits.Max; elapsed += limits.Idle {
		d.clock.Advance(limits.Idle)
		if !d.visits(used) {
			t.Fatalf("the used session ended after %v", elapsed)
		}
		if err := d.Flush(t.Context()); err != nil {
			t.Fatal(err)
		}
		if elapsed > 0 && d.visits(idle) {
			t.Fatalf("the idle session goes on after %v", elapsed)
		}
	}
	d.clock.Advance(limits.Idle)
	if d.visits(used) {
		t.Errorf("the session goes on after %v", limits.Max)
	}
}

func TestIdleTimeoutUsesUnwrittenLastRequest(t *testing.T) {
	d := newDoor(t)
	secret := d.signIn("ada")
	limits := SessionLimits{}.OrDefault()
	for range 2 {
		d.clock.Advance(limits.Idle - time.Hour)
		if !d.visits(secret) {
			t.Fatal("a session that is used ended")
		}
	}
}

func TestDisabledUserIsRejectedWithinOneSecond(t *testing.T) {
	d := newDoor(t)
	d.add("ben", model.RoleAdmin)
	secret := d.signIn("ada")
	if !d.visits(secret) {
		t.Fatal("not signed in")
	}
	if err := d.store.DisableUser(t.Context(), d.ada.ID, storetest.Actor); err != nil {
		t.Fatal(err)
	}
	d.clock.Advance(CacheFor)
	if d.visits(secret) {
		t.Error("a disabled user is let in after a second")
	}
}

func TestSignOutEndsSessionImmediately(t *testing.T) {
	d := newDoor(t)
	secret, other := d.signIn("ada"), d.signIn("ada")
	v, err := d.Authenticate(t.Context(), secret)
	if err != nil {
		t.Fatal(err)
	}
	if err := d.SignOut(t.Context(), v); err != nil || d.visits(secret) || !d.visits(other) {
		t.Errorf("signed out: %v", err)
	}
}

// TestUnknownNamesAreNotStored checks that invalid names are not stored as keys of the
// limiter. They may be megabytes long, or a password.
func TestUnknownNamesAreNotStored(t *testing.T) {
	d := newDoor(t)
	for _, name := range []string{strings.Repeat("x", 1<<20), password, "\x00", "a\xffb"} {
		if _, err := d.SignIn(t.Context(), name, password, home); !errors.Is(err, ErrSignIn) {
			t.Errorf("a name of %d bytes answers %v", len(name), err)
		}
	}
	for i := range d.perAccount.shards {
		for key := range d.perAccount.shards[i].buckets {
			if key != home.Address+" " {
				t.Errorf("it remembers a key of %d bytes that begins with %.30q", len(key), key)
			}
		}
	}
}

// racing runs a function between the lookup of a user and the sign-in.
type racing struct {
	*store.Store
	meanwhile func(model.User)
}

func (r *racing) User(ctx context.Context, name string) (model.User, error) {
	u, err := r.Store.User(ctx, name)
	if happen := r.meanwhile; happen != nil {
		r.meanwhile = nil
		happen(u)
	}
	return u, err
}

// TestPasswordChangedDuringSignIn checks that a session started with a password ends with its
// change, even for concurrent changes. A stronger hash of the same password is not a change.
func TestPasswordChangedDuringSignIn(t *testing.T) {
	for name, c := range map[string]struct {
		becomes string
		in      bool
	}{"another password": {"another password of ada's", false}, "another hash": {password, true}} {
		t.Run(name, func(t *testing.T) {
			d := newDoor(t)
			r := &racing{Store: d.store}
			r.meanwhile = func(u model.User) {
				hash, err := d.passwords.Hash(t.Context(), c.becomes)
				if err == nil {
					err = d.store.SetPassword(t.Context(), u.ID, hash, false, storetest.Actor)
				}
				if err != nil {
					t.Fatal(err)
				}
			}
			sessions := NewSessions(r, d.passwords, d.clock.Now, SessionLimits{})
			if _, err := sessions.SignIn(t.Context(), "ada", password, home); (err == nil) != c.in || err != nil && !errors.Is(err, ErrSignIn) {
				t.Errorf("signed in: %v", err)
			}
			list, err := d.store.Sessions(t.Context(), d.ada.ID)
			if err != nil || (len(list) == 1) != c.in {
				t.Errorf("%d sessions, %v", len(list), err)
			}
		})
	}
}

// TestUsedSessionEndsAtLimit checks that used sessions end exactly at their limit, despite the
// cache.
func TestUsedSessionEndsAtLimit(t *testing.T) {
	d := newDoor(t)
	secret := d.signIn("ada")
	limits := SessionLimits{}.OrDefault()
	for left := limits.Max - CacheFor/2; left > 0; left -= min(left, limits.Idle) {
		d.clock.Advance(min(left, limits.Idle))
		if !d.visits(secret) {
			t.Fatalf("it ended %v early", left)
		}
	}
	d.clock.Advance(CacheFor/2 - time.Millisecond)
	if !d.visits(secret) {
		t.Error("it ended a millisecond early")
	}
	d.clock.Advance(time.Millisecond)
	if d.visits(secret) {
		t.Errorf("it goes on after %v", limits.Max)
	}
}

// TestForgedCookiesDoNotEvictSessions checks that forged cookies do not displace cached sessions.
func TestForgedCookiesDoNotEvictSessions(t *testing.T) {
	d := newDoor(t)
	if !d.visits(d.signIn("ada")) {
		t.Fatal("not signed in")
	}
	for range 20 {
		if d.visits(random(secretBytes)) {
			t.Fatal("a made-up session")
		}
	}
	if n := len(d.known.entries); n != 1 {
		t.Errorf("%d sessions are remembered, and there is one", n)
	}
}
