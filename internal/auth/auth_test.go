package auth

import (
	"context"
	"errors"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"golang.org/x/time/rate"
	"pgregory.net/rapid"

	"github.com/redoubt/redoubt/internal/model"
)

// fakeStore contains one token and counts calls.
type fakeStore struct {
	token   model.Token
	hash    string
	lookups int
	used    []model.TokenUse
	fail    error
	role    model.Role
}

func (f *fakeStore) UserRole(_ context.Context, deploymentID, userID int64) (model.Role, error) {
	if deploymentID != 7 || userID != 5 {
		return model.RoleNone, nil
	}
	return f.role, f.fail
}

func (f *fakeStore) Deployment(_ context.Context, id string) (model.Deployment, error) {
	if id != "7" {
		return model.Deployment{}, model.ErrNotFound
	}
	return model.Deployment{ID: 7, Slug: "acme"}, nil
}

func (f *fakeStore) TokenByHash(_ context.Context, deploymentID int64, hash []byte) (model.Token, error) {
	f.lookups++
	if f.fail != nil {
		return model.Token{}, f.fail
	}
	if deploymentID != f.token.DeploymentID || string(hash) != f.hash {
		return model.Token{}, model.ErrNotFound
	}
	return f.token, nil
}

func (f *fakeStore) TouchTokens(_ context.Context, used []model.TokenUse) error {
	if f.fail != nil {
		return f.fail
	}
	f.used = append(f.used, used...)
	return nil
}

func setup(t *testing.T) (*fakeStore, *Authenticator, string, *time.Time) {
	t.Helper()
	secret := NewSecret(7)
	store := &fakeStore{token: model.Token{ID: 3, DeploymentID: 7}, hash: string(secret.Hash)}
	now := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	return store, New(store, func() time.Time { return now }), secret.Text, &now
}

func TestSecretRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		id := rapid.Int64Range(1, 1<<53).Draw(t, "deployment")
		s := NewSecret(id)
		got, sum, err := ParseSecret(s.Text)
		if err != nil || got != id || string(sum) != string(s.Hash) {
			t.Fatalf("ParseSecret(%q) = %d, %x, %v", s.Text, got, sum, err)
		}
		at := rapid.IntRange(0, len(s.Text)-1).Draw(t, "at")
		altered := s.Text[:at] + "~" + s.Text[at+1:]
		if _, _, err := ParseSecret(altered); err == nil {
			t.Fatalf("altered token %q was taken", altered)
		}
	})
}

func FuzzParseSecret(f *testing.F) {
	f.Add(NewSecret(1).Text)
	f.Add("rdt_1__")
	f.Add("")
	f.Fuzz(func(t *testing.T, text string) {
		id, sum, err := ParseSecret(text)
		if err == nil && (id <= 0 || len(sum) != 32 || !strings.HasPrefix(text, "rdt_")) {
			t.Fatalf("took %q as deployment %d", text, id)
		}
	})
}

func TestMalformedTokensAreNotLookedUp(t *testing.T) {
	store, a, good, _ := setup(t)
	for _, secret := range []string{"", "x", "rdt_7_abc_00000000", good + "x", good[:len(good)-1], strings.Repeat("a", 10_000)} {
		if _, err := a.Authenticate(t.Context(), secret); !errors.Is(err, ErrUnauthenticated) {
			t.Errorf("%.40q: error %v", secret, err)
		}
	}
	if store.lookups != 0 {
		t.Errorf("the store was asked %d times", store.lookups)
	}
}

func TestUnknownSecret(t *testing.T) {
	_, a, _, _ := setup(t)
	if _, err := a.Authenticate(t.Context(), NewSecret(7).Text); !errors.Is(err, ErrUnauthenticated) {
		t.Errorf("unknown token: %v", err)
	}
	if _, err := a.Authenticate(t.Context(), NewSecret(8).Text); !errors.Is(err, ErrUnauthenticated) {
		t.Errorf("token of another deployment: %v", err)
	}
}

func TestRevocationAppliesWithinOneSecond(t *testing.T) {
	store, a, secret, now := setup(t)
	for range 3 {
		if _, err := a.Authenticate(t.Context(), secret); err != nil {
			t.Fatal(err)
		}
	}
	if store.lookups != 1 {
		t.Errorf("the store was asked %d times within a second", store.lookups)
	}
	store.token.RevokedAt = *now
	*now = now.Add(CacheFor)
	if _, err := a.Authenticate(t.Context(), secret); !errors.Is(err, ErrUnauthenticated) {
		t.Errorf("revoked a second ago: %v", err)
	}
}

func TestExpiryIsExact(t *testing.T) {
	store, a, secret, now := setup(t)
	store.token.ExpiresAt = now.Add(500 * time.Millisecond)
	if _, err := a.Authenticate(t.Context(), secret); err != nil {
		t.Fatal(err)
	}
	*now = store.token.ExpiresAt
	if _, err := a.Authenticate(t.Context(), secret); !errors.Is(err, ErrUnauthenticated) {
		t.Errorf("expired, though cached: %v", err)
	}
}

func TestStoreErrorIsReturnedAndNotCached(t *testing.T) {
	store, a, secret, _ := setup(t)
	store.fail = model.ErrUnavailable
	if _, err := a.Authenticate(t.Context(), secret); !errors.Is(err, model.ErrUnavailable) {
		t.Errorf("error %v", err)
	}
	store.fail = nil
	if _, err := a.Authenticate(t.Context(), secret); err != nil {
		t.Errorf("the failure was remembered: %v", err)
	}
}

func TestLastUseIsBatched(t *testing.T) {
	store, a, secret, now := setup(t)
	for range 5 {
		*now = now.Add(time.Millisecond)
		if _, err := a.Authenticate(t.Context(), secret); err != nil {
			t.Fatal(err)
		}
	}
	store.fail = model.ErrUnavailable
	if err := a.Flush(t.Context()); err == nil {
		t.Fatal("the failure was swallowed")
	}
	store.fail = nil
	if err := a.Flush(t.Context()); err != nil {
		t.Fatal(err)
	}
	if len(store.used) != 1 || !store.used[0].At.Equal(*now) {
		t.Errorf("written: %v", store.used)
	}
}

func TestCaller(t *testing.T) {
	c := Caller{Deployment: model.Deployment{ID: 7, Slug: "acme"}, Token: model.Token{Scopes: []model.Scope{model.ScopeCI}}}
	for name, want := range map[string]bool{"7": true, "acme": true, "07": false, "8": false, "other": false, "": false} {
		if got := c.Is(name); got != want {
			t.Errorf("Is(%q) = %v", name, got)
		}
	}
	if c.CanUse() || !c.CanUpload() || !c.CanWrite() {
		t.Error("a ci token can only upload scans")
	}
	c.Token.Scopes = []model.Scope{model.ScopeWebAPI, model.ScopeReadOnly}
	if !c.CanUse() || c.CanWrite() {
		t.Error("a read-only token reads and nothing else")
	}
}

func TestTokenPermissionsFollowUserRole(t *testing.T) {
	for _, c := range []struct {
		role                 model.Role
		scopes               []model.Scope
		lives, writes, rules bool
	}{
		{model.RoleAdmin, []model.Scope{model.ScopeWebAPI}, true, true, true},
		{model.RoleAdmin, []model.Scope{model.ScopeWebAPI, model.ScopeReadOnly}, true, false, true},
		{model.RoleTriager, []model.Scope{model.ScopeWebAPI}, true, true, false},
		{model.RoleViewer, []model.Scope{model.ScopeWebAPI}, true, false, false},
		{model.RoleViewer, []model.Scope{model.ScopeCI}, true, false, false},
		{model.RoleNone, []model.Scope{model.ScopeWebAPI}, false, false, false},
	} {
		store, a, secret, now := setup(t)
		store.token.UserID, store.token.Scopes, store.role = 5, c.scopes, c.role
		caller, err := a.Authenticate(t.Context(), secret)
		if c.lives != (err == nil) || caller.CanWrite() != c.writes && c.lives || caller.Has(model.RoleAdmin) != c.rules && c.lives {
			t.Errorf("%v %v: %v, writes %v, rules %v", c.role, c.scopes, err, caller.CanWrite(), caller.Has(model.RoleAdmin))
		}
		store.role = model.RoleNone
		*now = now.Add(CacheFor)
		if _, err := a.Authenticate(t.Context(), secret); !errors.Is(err, ErrUnauthenticated) {
			t.Errorf("%v: a second after the role went: %v", c.role, err)
		}
	}
}

func TestLimiter(t *testing.T) {
	now := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	l := NewLimiter(2, 3, func() time.Time { return now })
	for i := range 3 {
		if g := l.Allow("a"); !g.OK || g.Remaining != 2-i {
			t.Fatalf("call %d: %+v", i, g)
		}
	}
	g := l.Allow("a")
	if g.OK || g.Wait != 500*time.Millisecond || g.Limit != 3 {
		t.Errorf("fourth call at once: %+v", g)
	}
	if !l.Allow("b").OK {
		t.Error("one key's calls count against another")
	}
	now = now.Add(g.Wait)
	if !l.Allow("a").OK {
		t.Error("refused after the wait that was asked for")
	}
	if !NewLimiter(0, 0, nil).Allow("a").OK {
		t.Error("no limit refuses")
	}
}

// TestLimiterMemoryIsBounded checks that any number of distinct keys uses bounded
// memory.
func TestLimiterMemoryIsBounded(t *testing.T) {
	now := time.Unix(0, 0)
	l := NewLimiter(1, 2, func() time.Time { return now })
	l.Allow("drained")
	l.Allow("drained")
	const most = limiterShards * limiterSize
	for i := range 2 * most {
		l.Allow(strconv.Itoa(i))
	}
	stored := 0
	for i := range l.shards {
		stored += len(l.shards[i].buckets)
	}
	if stored > most {
		t.Errorf("it remembers %d keys, more than %d", stored, most)
	}
	if l.Allow("drained").OK {
		t.Error("one that is drained was forgotten before those that are not")
	}
}

// TestForgedTokensDoNotEvictCache checks that forged tokens do not displace cached ones.
func TestForgedTokensDoNotEvictCache(t *testing.T) {
	store, a, secret, _ := setup(t)
	if _, err := a.Authenticate(t.Context(), secret); err != nil {
		t.Fatal(err)
	}
	for range cacheSize + 1 {
		if _, err := a.Authenticate(t.Context(), NewSecret(7).Text); !errors.Is(err, ErrUnauthenticated) {
			t.Fatal(err)
		}
	}
	before := store.lookups
	if _, err := a.Authenticate(t.Context(), secret); err != nil || store.lookups != before {
		t.Errorf("the store was queried again for a cached token: %d, %v", store.lookups-before, err)
	}
	if n := len(a.known.entries); n != 1 {
		t.Errorf("%d tokens are remembered, and there is one", n)
	}
}

// TestTriagePermission checks that tokens for uploads, read-only tokens and tokens of
// viewers may not triage.
func TestTriagePermission(t *testing.T) {
	for _, c := range []struct {
		scopes []model.Scope
		user   int64
		role   model.Role
		want   bool
	}{
		{[]model.Scope{model.ScopeCI}, 0, model.RoleNone, false},
		{[]model.Scope{model.ScopeWebAPI}, 0, model.RoleNone, true},
		{[]model.Scope{model.ScopeWebAPI, model.ScopeCI}, 0, model.RoleNone, true},
		{[]model.Scope{model.ScopeWebAPI, model.ScopeReadOnly}, 0, model.RoleNone, false},
		{[]model.Scope{model.ScopeWebAPI}, 5, model.RoleViewer, false},
		{[]model.Scope{model.ScopeWebAPI}, 5, model.RoleTriager, true},
		{[]model.Scope{model.ScopeCI}, 5, model.RoleAdmin, false},
	} {
		caller := Caller{Token: model.Token{Scopes: c.scopes, UserID: c.user}, Role: c.role}
		if got := caller.CanTriage(); got != c.want {
			t.Errorf("%v of %v: %t", c.scopes, c.role, got)
		}
	}
}

// homeless is a store whose token belongs to a deleted deployment.
type homeless struct{ *fakeStore }

func (homeless) Deployment(context.Context, string) (model.Deployment, error) {
	return model.Deployment{}, model.ErrNotFound
}

// TestTokenOfDeletedDeploymentIsInvalid checks that a token of a deleted deployment is invalid, regardless
// of its user's role.
func TestTokenOfDeletedDeploymentIsInvalid(t *testing.T) {
	store, a, secret, now := setup(t)
	caller, err := a.Authenticate(t.Context(), secret)
	if err != nil || caller.Deployment.Slug != "acme" {
		t.Errorf("%+v, %v", caller, err)
	}
	store.token.UserID, store.role = 5, model.RoleAdmin
	gone := New(homeless{store}, func() time.Time { return *now })
	if _, err := gone.Authenticate(t.Context(), secret); !errors.Is(err, ErrUnauthenticated) {
		t.Errorf("of a deployment that is gone: %v", err)
	}
	store.fail = model.ErrUnavailable
	if _, err := gone.Authenticate(t.Context(), NewSecret(7).Text); err == nil || !strings.HasPrefix(err.Error(), "look up the token: ") {
		t.Errorf("the failure of the store is returned as %v", err)
	}
}

// TestMalformedTokensWithValidChecksum checks that malformed tokens with a correct checksum are invalid.
func TestMalformedTokensWithValidChecksum(t *testing.T) {
	random := strings.Repeat("a", encoding.EncodedLen(secretBytes))
	for body, want := range map[string]bool{
		"rdt_7_" + random: true, "xyz_7_" + random: false, "rdt_7_" + random[1:]: false, "rdt_7_" + random + "_b": false, "rdt_" + random: false,
		"rdt_0_" + random: false, "rdt_-1_" + random: false, "rdt_!_" + random: false, "": false,
	} {
		if _, _, err := ParseSecret(body + "_" + checksum(body)); (err == nil) != want {
			t.Errorf("%q: %v", body, err)
		}
	}
}

// TestCacheSizeLimit checks the cache size at its limit.
func TestCacheSizeLimit(t *testing.T) {
	var c cache[int]
	for i := range cacheSize + 1 {
		c.put([]byte(strconv.Itoa(i)), i, time.Unix(0, 0))
		if len(c.entries) > cacheSize {
			t.Fatalf("%d answers are remembered, and %d may be", len(c.entries), cacheSize)
		}
	}
}

// TestUsesAreWrittenOnce checks that uses are written once. Uses recorded during a failed write
// must be retained with the unwritten ones.
func TestUsesAreWrittenOnce(t *testing.T) {
	var uses lastUses[string, int]
	uses.note("a", 1)
	uses.note("b", 1)
	fails := func([]int) error {
		uses.note("a", 2)
		return model.ErrUnavailable
	}
	if err := uses.flush(fails); !errors.Is(err, model.ErrUnavailable) {
		t.Errorf("the failure: %v", err)
	}
	var written []int
	save := func(list []int) error {
		written = append(written, list...)
		return nil
	}
	for range 2 {
		if err := uses.flush(save); err != nil {
			t.Error(err)
		}
	}
	if slices.Sort(written); !slices.Equal(written, []int{1, 2}) {
		t.Errorf("written is %v", written)
	}
}

// TestFullestBucketIsEvicted checks that the fullest of all sampled buckets is dropped.
func TestFullestBucketIsEvicted(t *testing.T) {
	now := time.Unix(0, 0)
	for range 20 {
		s := &shard{buckets: map[string]*rate.Limiter{}}
		for i := range sampled {
			b := rate.NewLimiter(1, 2)
			if s.buckets[strconv.Itoa(i)] = b; i > 0 {
				b.AllowN(now, 1)
			}
		}
		if s.forget(now); s.buckets["0"] != nil {
			t.Fatal("another one was forgotten than the one that is full")
		}
	}
}

// TestLoginCodesDependOnKeys checks that login codes depend on the request key and the server's
// key.
func TestLoginCodesDependOnKeys(t *testing.T) {
	code := LoginCode([]byte("key"), "request")
	if code == LoginCode([]byte("key"), "another") || code == LoginCode([]byte("other"), "request") || code != LoginCode([]byte("key"), "request") || len(code) != 9 {
		t.Errorf("the code is %s", code)
	}
}
