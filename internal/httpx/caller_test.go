package httpx

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/redoubt/redoubt/internal/auth"
	"github.com/redoubt/redoubt/internal/model"
)

func TestCredentials(t *testing.T) {
	for _, c := range []struct{ header, bearer, credential string }{
		{"", "", ""},
		{"Bearer rdt_x", "rdt_x", "rdt_x"},
		{"bEARER   rdt_x ", "rdt_x", "rdt_x"},
		{"Bearer", "", ""},
		{"rdt_x", "", ""},
		{"Token rdt_x", "", ""},
		{"Basic dTpyZHRfeA==", "", "rdt_x"}, // u:rdt_x
		{"Basic nonsense!", "", ""},
	} {
		r := httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/", nil)
		r.Header.Set("Authorization", c.header)
		if got := Bearer(r); got != c.bearer {
			t.Errorf("%q: bearer %q", c.header, got)
		}
		if got := Credential(r); got != c.credential {
			t.Errorf("%q: credential %q", c.header, got)
		}
	}
}

// oneToken is a store with one token.
type oneToken struct{ hash string }

func (s oneToken) Deployment(context.Context, string) (model.Deployment, error) {
	return model.Deployment{ID: 1}, nil
}

func (s oneToken) TokenByHash(_ context.Context, _ int64, hash []byte) (model.Token, error) {
	if string(hash) != s.hash {
		return model.Token{}, model.ErrNotFound
	}
	return model.Token{ID: 1, DeploymentID: 1, PublicID: "tok_a"}, nil
}

func (s oneToken) TouchTokens(context.Context, []model.TokenUse) error { return nil }

func (s oneToken) UserRole(context.Context, int64, int64) (model.Role, error) {
	return model.RoleNone, nil
}

func TestFailedTokensAreRateLimitedByNetwork(t *testing.T) {
	good, now := auth.NewSecret(1), time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	clock := func() time.Time { return now }
	callers := NewCallers(auth.New(oneToken{string(good.Hash)}, clock), 0, 0, clock)
	find := func(address, token string) error {
		r := httptest.NewRequestWithContext(WithOrigin(t.Context(), Origin{Address: address}), http.MethodGet, "/", nil)
		_, err := callers.Find(http.Header{}, r, token)
		return err
	}
	busy := func(err error) bool {
		b, ok := errors.AsType[*BusyError](err)
		return ok && b.Wait >= time.Second && errors.Is(err, auth.ErrUnauthenticated)
	}
	for i := range failedAtOnce {
		token := auth.NewSecret(1).Text
		if i%2 == 0 {
			token = "garbage"
		}
		if err := find("2001:db8::1", token); busy(err) || !errors.Is(err, auth.ErrUnauthenticated) {
			t.Fatalf("try %d: %v", i, err)
		}
	}
	for address, want := range map[string]bool{"2001:db8::1": true, "2001:db8::ffff": true, "2001:db8:0:1::1": false, "203.0.113.5": false} {
		if err := find(address, "garbage"); busy(err) != want {
			t.Errorf("another from %s: %v", address, err)
		}
	}
	if err := find("2001:db8::1", good.Text); err != nil {
		t.Errorf("a valid token from there: %v", err)
	}
	if err := find("2001:db8::1", ""); busy(err) || !errors.Is(err, auth.ErrUnauthenticated) {
		t.Errorf("no token from there: %v", err)
	}
	now = now.Add(time.Second)
	if err := find("2001:db8::1", "garbage"); busy(err) {
		t.Errorf("a second later: %v", err)
	}
}

// TestResponsesHaveRateLimitHeaders checks that each response has rate limit headers, and that requests
// over the limit get a delay. Without a limit there are no headers.
func TestResponsesHaveRateLimitHeaders(t *testing.T) {
	good, now := auth.NewSecret(1), time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	clock := func() time.Time { return now }
	tokens := auth.New(oneToken{string(good.Hash)}, clock)
	find := func(callers *Callers, token string) (http.Header, error) {
		h := http.Header{}
		r := httptest.NewRequestWithContext(WithOrigin(t.Context(), Origin{Address: "203.0.113.5"}), http.MethodGet, "/", nil)
		_, err := callers.Find(h, r, token)
		return h, err
	}
	if h, err := find(NewCallers(tokens, 0, 0, clock), good.Text); err != nil || len(h) > 0 {
		t.Errorf("without a limit: %v, %v", h, err)
	}
	callers := NewCallers(tokens, 0.5, 2, clock)
	if h, err := find(callers, "garbage"); !errors.Is(err, auth.ErrUnauthenticated) || len(h) > 0 {
		t.Errorf("a token that is not valid: %v, %v", h, err)
	}
	h, err := find(callers, good.Text)
	if err != nil || h.Get("RateLimit-Limit") != "2" || h.Get("RateLimit-Remaining") != "1" || h.Get("RateLimit-Reset") != "2" {
		t.Errorf("the first: %v, %v", h, err)
	}
	h, err = find(callers, good.Text)
	if err != nil || h.Get("RateLimit-Remaining") != "0" {
		t.Errorf("the last one: %v, %v", h, err)
	}
	h, err = find(callers, good.Text)
	busy, ok := errors.AsType[*BusyError](err)
	if !ok || busy.Wait != 2*time.Second || h.Get("RateLimit-Remaining") != "0" {
		t.Errorf("one too many: %v, %v", h, err)
	}
	header := http.Header{}
	if RetryAfter(header, 1500*time.Millisecond); header.Get("Retry-After") != "2" {
		t.Errorf("a wait is returned as %v", header)
	}
}

func TestIntake(t *testing.T) {
	in := &Intake{Each: 4, All: 6}
	one, two := in.Reserve(), in.Reserve()
	read := func(r *Reservation, text string) error {
		_, err := io.ReadAll(r.Body(strings.NewReader(text)))
		return err
	}
	if err := read(one, "1234"); err != nil {
		t.Errorf("what fits: %v", err)
	}
	if err := read(two, "123"); !errors.Is(err, model.ErrUnavailable) {
		t.Errorf("with others at work: %v", err)
	}
	one.Release()
	if err := read(two, "45"); !errors.Is(err, model.ErrTooLarge) {
		t.Errorf("over its share: %v", err)
	}
	two.Release()
	if err := Build(one.Body(nil))(5); err != nil {
		t.Errorf("memory that fits: %v", err)
	}
	if err := two.Build(2); !errors.Is(err, model.ErrUnavailable) {
		t.Errorf("memory with others at work: %v", err)
	}
	if err := two.Add(2); !errors.Is(err, model.ErrUnavailable) {
		t.Errorf("bytes with others at work: %v", err)
	}
	if err := one.Add(2); !errors.Is(err, model.ErrTooLarge) {
		t.Errorf("bytes on top of memory that take more than there ever is: %v", err)
	}
	if err := one.Build(9); !errors.Is(err, model.ErrTooLarge) {
		t.Errorf("memory that there never is: %v", err)
	}
	one.Release()
	two.Release()
	if in.InUse() != 0 {
		t.Errorf("%d bytes are not given back", in.InUse())
	}
}
