package auth

import (
	"errors"
	"fmt"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/pquerna/otp/totp"

	"github.com/redoubt/redoubt/internal/keyring"
	"github.com/redoubt/redoubt/internal/model"
)

// withFactors is a door whose user ada has an authenticator app.
type withFactors struct {
	*door
	*SecondFactors
	app      string // the secret in it
	recovery []string
}

func newFactors(t *testing.T) *withFactors {
	t.Helper()
	d := newDoor(t)
	sealer, err := keyring.New(d.clock.Now()).Sealer("tests")
	if err != nil {
		t.Fatal(err)
	}
	f := &withFactors{door: d, SecondFactors: NewSecondFactors(d.Sessions, d.store, sealer)}
	f.setUp(f.visit(d.signIn("ada")))
	return f
}

func (f *withFactors) visit(secret string) SessionInfo {
	f.t.Helper()
	who, err := f.Authenticate(f.t.Context(), secret)
	if err != nil {
		f.t.Fatal(err)
	}
	return who
}

// setUp adds the secret to an app, and confirms it with the first code.
func (f *withFactors) setUp(who SessionInfo) {
	f.t.Helper()
	started, err := f.Start(who, "Redoubt: here")
	if err != nil {
		f.t.Fatal(err)
	}
	e, err := f.Resume(who, "Redoubt: here", started.Sealed)
	if err != nil || e != started {
		f.t.Fatalf("it goes on with %+v, %v, and was %+v", e, err, started)
	}
	f.app = e.Secret
	secret, recovery, err := f.SetUp(f.t.Context(), who, e, f.code(0), home)
	if err != nil {
		f.t.Fatal(err)
	}
	f.recovery = recovery
	if got := f.visit(secret).Session.Method; got != strings.Fields(who.Session.Method)[0]+" and code" {
		f.t.Errorf("a session by %s goes on by %s", who.Session.Method, got)
	}
}

// code returns the app's code at a time offset.
func (f *withFactors) code(in time.Duration) string {
	f.t.Helper()
	code, err := totp.GenerateCode(f.app, f.clock.Now().Add(in))
	if err != nil {
		f.t.Fatal(err)
	}
	return code
}

// half signs in with the password, which must not be sufficient.
func (f *withFactors) half() string {
	f.t.Helper()
	secret, err := f.SignIn(f.t.Context(), "ada", password, home)
	half, ok := errors.AsType[*HalfError](err)
	if !ok || secret != "" || f.visits(half.Secret) {
		f.t.Fatalf("a password alone gives %q, %v", secret, err)
	}
	return half.Secret
}

func TestCodeAsSecondFactor(t *testing.T) {
	f := newFactors(t)
	half := f.half()
	for what, code := range map[string]string{
		"the code of the setup": f.code(0), "none": "", "another": "000000", "long": strings.Repeat("1", 5000), "a recovery code that is none": "aaaa-aaaa-aaaa-aaaa",
	} {
		_, err := f.Finish(t.Context(), f.half(), code, home)
		if !errors.Is(err, ErrCode) || err.Error() != ErrCode.Error() {
			t.Errorf("%s: %v", what, err)
		}
	}
	secret, err := f.Finish(t.Context(), half, f.code(30*time.Second), home) // from a fast clock
	if err != nil || !f.visits(secret) || f.visit(secret).Session.Method != "password and code" {
		t.Fatalf("the right code: %v", err)
	}
	_, err = f.Finish(t.Context(), f.half(), f.code(30*time.Second), home)
	if !errors.Is(err, ErrCode) {
		t.Errorf("the same code again: %v", err)
	}
	f.clock.Advance(5 * time.Minute)
	for code, valid := range map[string]bool{f.code(-time.Minute): false, f.code(time.Minute): false, f.code(-30 * time.Second): true, f.code(30 * time.Second): true} {
		if _, err := f.Finish(t.Context(), f.half(), code[:3]+" "+code[3:], home); (err == nil) != valid && !errors.Is(err, ErrCode) {
			t.Errorf("a code beside its time: %v", err)
		} else if !valid && err == nil {
			t.Error("a code is taken a minute from its time")
		}
	}
	other := f.half()
	typed := strings.ToUpper(strings.ReplaceAll(f.recovery[3], "-", " "))
	if secret, err = f.Finish(t.Context(), other, typed, home); err != nil || f.visit(secret).Session.Method != "password and recovery code" {
		t.Errorf("a recovery code: %v", err)
	}
	if _, err = f.Finish(t.Context(), f.half(), f.recovery[3], home); !errors.Is(err, ErrCode) {
		t.Errorf("a recovery code again: %v", err)
	}
	if _, err = f.Finish(t.Context(), other, f.recovery[4], home); !errors.Is(err, ErrUnauthenticated) {
		t.Errorf("a half session that was finished: %v", err)
	}
}

// TestRemovalRequiresPasswordAndCode checks that removal needs password and code, and ends other sessions
// immediately.
func TestRemovalRequiresPasswordAndCode(t *testing.T) {
	f := newFactors(t)
	f.clock.Advance(time.Minute)
	mine, err := f.Finish(t.Context(), f.half(), f.code(0), home)
	if err != nil {
		t.Fatal(err)
	}
	who := f.visit(mine)
	for what, c := range map[string]struct {
		password, code string
		want           error
	}{
		"no password":     {"wrong", f.recovery[0], ErrSignIn},
		"no code":         {password, "000000", ErrCode},
		"a code again":    {password, f.code(0), ErrCode},
		"neither of both": {"", "", ErrSignIn},
	} {
		if _, err := f.Remove(t.Context(), who, c.password, c.code, home); !errors.Is(err, c.want) || !f.visits(mine) {
			t.Errorf("%s: %v, want %v, and the session goes on", what, err, c.want)
		}
	}
	secret, err := f.Remove(t.Context(), who, password, f.recovery[0], home)
	if err != nil || f.visit(secret).Session.Method != "password and recovery code" || f.visits(mine) {
		t.Errorf("by both: %v, or the session from before goes on", err)
	}
	plain, err := f.SignIn(t.Context(), "ada", password, home)
	if err != nil || !f.visits(plain) {
		t.Errorf("the password alone, then: %v", err)
	}
	f.clock.Advance(24 * time.Hour)
	var busy *BusyError
	for range 100 {
		if _, err = f.Remove(t.Context(), who, password, "000000", home); errors.As(err, &busy) {
			break
		}
	}
	if busy == nil {
		t.Error("codes may be tried without end")
	}
}

// TestRemovalWithoutPasswordRequiresCode checks that users without a password, who signed in by a
// link, need only the code.
func TestRemovalWithoutPasswordRequiresCode(t *testing.T) {
	f := newFactors(t)
	ben := f.add("ben", model.RoleViewer)
	if err := f.door.store.SetPassword(t.Context(), ben.ID, "", false, ben.Actor()); err != nil {
		t.Fatal(err)
	}
	secret, err := f.Begin(t.Context(), ben.ID, "link", home, model.CheckedPassword{})
	if err != nil {
		t.Fatal(err)
	}
	before := f.visit(secret)
	f.setUp(before)
	if f.visits(secret) {
		t.Error("the session from before goes on")
	}
	if _, err := f.Remove(t.Context(), before, "", "000000", home); !errors.Is(err, ErrCode) {
		t.Errorf("without a code: %v", err)
	}
	secret, err = f.Remove(t.Context(), before, "", f.recovery[0], home)
	if err != nil || f.visit(secret).Session.Method != "link and recovery code" {
		t.Errorf("by a code: %v", err)
	}
}

// TestCodeStartsOneSession checks that concurrent uses of one code start one session.
func TestCodeStartsOneSession(t *testing.T) {
	f := newFactors(t)
	f.clock.Advance(time.Minute)
	code := f.code(0)
	halves := []string{f.half(), f.half(), f.half()}
	in := make([]bool, len(halves))
	var all sync.WaitGroup
	for i, half := range halves {
		all.Go(func() {
			_, err := f.Finish(t.Context(), half, code, home)
			in[i] = err == nil
			if err != nil && !errors.Is(err, ErrCode) {
				t.Error(err)
			}
		})
	}
	all.Wait()
	if got := fmt.Sprint(in); strings.Count(got, "true") != 1 {
		t.Errorf("in came %s", got)
	}
}

// TestCodeAttemptLimits checks the limits of attempts for a sign-in, an address, and all
// addresses.
func TestCodeAttemptLimits(t *testing.T) {
	f := newFactors(t)
	half := f.half()
	for range model.MaxHalfTries {
		if _, err := f.Finish(t.Context(), half, "000000", home); !errors.Is(err, ErrCode) {
			t.Fatal(err)
		}
	}
	f.clock.Advance(time.Minute)
	if _, err := f.Finish(t.Context(), half, f.code(0), home); !errors.Is(err, ErrUnauthenticated) {
		t.Errorf("the right code after too many: %v", err)
	}
	f.clock.Advance(24 * time.Hour)
	var busy *BusyError
	tries := 0
	for ; tries < 100; tries++ {
		from := Origin{Address: fmt.Sprintf("198.51.%d.1", tries)}
		_, err := f.SignIn(t.Context(), "ada", password, from)
		h, ok := errors.AsType[*HalfError](err)
		if !ok {
			t.Fatal(err)
		}
		if _, err = f.Finish(t.Context(), h.Secret, "000000", from); errors.As(err, &busy) {
			break
		}
	}
	if tries != personBurst || busy.Wait < time.Second {
		t.Errorf("from ever new addresses %d codes were tried, then %v", tries, busy)
	}
	f.clock.Advance(2 * time.Minute)
	if _, err := f.Finish(t.Context(), f.half(), f.code(0), home); err != nil {
		t.Errorf("ada herself, later: %v", err)
	}
	half = f.half()
	f.clock.Advance(model.PendingSessionFor)
	if _, err := f.Finish(t.Context(), half, f.code(0), home); !errors.Is(err, ErrUnauthenticated) {
		t.Errorf("ten minutes later: %v", err)
	}
}

func TestEnrollmentSecretIsBoundToSession(t *testing.T) {
	f := newFactors(t)
	ben := f.add("ben", model.RoleViewer)
	one, two := f.visit(f.signIn("ben")), f.visit(f.signIn("ben"))
	e, err := f.Start(one, "Redoubt")
	if err != nil {
		t.Fatal(err)
	}
	at, err := url.Parse(e.Address)
	if err != nil || at.Scheme != "otpauth" || at.Query().Get("secret") != e.Secret || at.Query().Get("issuer") != "Redoubt" || len(e.Secret) != 32 {
		t.Errorf("to scan is %v, %v", at, err)
	}
	for what, open := range map[string]func() (Enrolment, error){
		"another session": func() (Enrolment, error) { return f.Resume(two, "Redoubt", e.Sealed) },
		"nothing":         func() (Enrolment, error) { return f.Resume(one, "Redoubt", "") },
		"a change":        func() (Enrolment, error) { return f.Resume(one, "Redoubt", e.Sealed[:len(e.Sealed)-2]+"AA") },
	} {
		if _, err := open(); err == nil {
			t.Errorf("%s opens the secret", what)
		}
	}
	if _, _, err := f.SetUp(t.Context(), one, e, "000000", home); !errors.Is(err, ErrCode) {
		t.Errorf("a wrong first code: %v", err)
	}
	f.clock.Advance(enrolmentFor)
	if _, err := f.Resume(one, "Redoubt", e.Sealed); err == nil {
		t.Error("the secret waits for longer than a quarter of an hour")
	}
	if u, err := f.door.store.User(t.Context(), ben.Name); err != nil || u.HasSecondFactor() {
		t.Errorf("ben has one all the same: %v", err)
	}
}

// TestUnreadableSecret checks that apps do not work after the key file was lost or with the
// secret of another row. Recovery codes still work.
func TestUnreadableSecret(t *testing.T) {
	f := newFactors(t)
	other, err := keyring.New(f.clock.Now()).Sealer("tests")
	if err != nil {
		t.Fatal(err)
	}
	f.SecondFactors = NewSecondFactors(f.Sessions, f.door.store, other)
	f.clock.Advance(time.Minute)
	if _, err := f.Finish(t.Context(), f.half(), f.code(0), home); err == nil || errors.Is(err, ErrCode) || !strings.Contains(err.Error(), "reset-2fa ada") {
		t.Errorf("with other keys: %v", err)
	} else if lost, ok := errors.AsType[*UnreadableError](err); !ok || lost.Factor != "authenticator app" {
		t.Errorf("with other keys: %v", err)
	}
	if _, err := f.Finish(t.Context(), f.half(), f.recovery[0], home); err != nil {
		t.Errorf("a recovery code: %v", err)
	}
}
