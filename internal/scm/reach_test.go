package scm_test

import (
	"errors"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"testing"
	"time"

	"github.com/redoubt/redoubt/internal/model"
	"github.com/redoubt/redoubt/internal/scm"
)

func TestReach(t *testing.T) {
	home := scm.Reach{Also: []netip.Prefix{netip.MustParsePrefix("127.0.0.1/32")}}
	outside := scm.Reach{NoPrivate: true}
	for _, c := range []struct {
		reach   scm.Reach
		address string
		fine    bool
	}{
		{scm.Reach{}, "192.0.2.1", true},
		{scm.Reach{}, "10.1.2.3", true},
		{scm.Reach{}, "fd12::1", true},
		{scm.Reach{}, "127.0.0.1", false},
		{scm.Reach{}, "::1", false},
		{scm.Reach{}, "::ffff:127.0.0.1", false},
		{scm.Reach{}, "64:ff9b::7f00:1", false},
		{scm.Reach{}, "64:ff9b::a9fe:a9fe", false},
		{scm.Reach{}, "64:ff9b:1::a9fe:a9fe", false},
		{scm.Reach{}, "64:ff9b:1:2::7f00:1", false},
		{scm.Reach{}, "64:ff9b::c000:201", true},
		{scm.Reach{}, "2002:a9fe:a9fe::1", false},
		{scm.Reach{}, "2002:c000:201::1", true},
		{scm.Reach{}, "::169.254.169.254", false},
		{scm.Reach{}, "169.254.169.254", false},
		{scm.Reach{}, "::ffff:169.254.169.254", false},
		{scm.Reach{}, "fe80::1%eth0", false},
		{scm.Reach{}, "fd00:ec2::254", false},
		{scm.Reach{}, "0.0.0.0", false},
		{scm.Reach{}, "::", false},
		{scm.Reach{}, "255.255.255.255", false},
		{outside, "192.0.2.1", true},
		{outside, "10.1.2.3", false},
		{outside, "192.168.1.1", false},
		{outside, "100.64.1.1", false},
		{outside, "64:ff9b:1::a00:1", false},
		{outside, "2002:a00:1::1", false},
		{outside, "198.18.0.1", false},
		{outside, "fec0::1", false},
		{outside, "fd12::1", false},
		{home, "127.0.0.1", true},
		{home, "127.0.0.2", false},
	} {
		if got := c.reach.Allows(netip.MustParseAddr(c.address)); got != c.fine {
			t.Errorf("%+v allows %s: %v", c.reach, c.address, got)
		}
	}
}

func config(reach scm.Reach) scm.Config {
	return scm.Config{Reach: reach, Clock: func() time.Time { return time.Unix(1_800_000_000, 0) }, Name: "redoubt/test"}
}

var loopback = scm.Reach{Also: []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")}}

// opened returns a host of a kind at an address.
func opened(t testing.TB, reach scm.Reach, kind model.HostKind, address string) scm.Host {
	t.Helper()
	h, err := config(reach).Open(model.Connection{Kind: kind, BaseURL: address}, model.HostCredential{Kind: model.CredentialToken, Secret: "t0ken"})
	if err != nil {
		t.Fatal(err)
	}
	return h
}

func TestLoopbackHostsAreRejected(t *testing.T) {
	requested := false
	s := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { requested = true }))
	defer s.Close()
	for _, kind := range model.HostKinds() {
		for _, address := range []string{s.URL, strings.Replace(s.URL, "127.0.0.1", "localhost", 1)} {
			_, err := opened(t, scm.Reach{}, kind, address).Who(t.Context())
			if err == nil || !strings.Contains(err.Error(), "--connect-to") {
				t.Errorf("%s at %s: %v", kind, address, err)
			}
		}
	}
	if requested {
		t.Error("a loopback address was asked")
	}
}

func TestHostErrors(t *testing.T) {
	var answer func(w http.ResponseWriter, r *http.Request)
	other := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		t.Errorf("another host was asked, with %v", r.Header)
	}))
	defer other.Close()
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { answer(w, r) }))
	defer s.Close()
	status := func(code int, body string, header ...string) func(http.ResponseWriter, *http.Request) {
		return func(w http.ResponseWriter, _ *http.Request) {
			for i := 0; i < len(header); i += 2 {
				w.Header().Set(header[i], header[i+1])
			}
			w.WriteHeader(code)
			_, _ = w.Write([]byte(body))
		}
	}
	for _, kind := range []model.HostKind{model.HostGitea, model.HostGitHub, model.HostGitLab} {
		for _, c := range []struct {
			what    string
			answer  func(http.ResponseWriter, *http.Request)
			is      error
			message string
		}{
			{"a revoked token", status(401, `{"message":"Bad \u001b[31mcredentials"}`), nil, "rejected the credential"},
			{"a token that may not", status(403, `{}`), nil, "no permission"},
			{"nothing there", status(404, `{}`), model.ErrNotFound, "not found"},
			{"a fault", status(502, `<html>`), model.ErrUnavailable, "502"},
			{"another site", status(200, `<html>`), model.ErrUnavailable, ""},
			{"an endless answer", func(w http.ResponseWriter, _ *http.Request) {
				for range 17 << 10 {
					if _, err := w.Write(make([]byte, 1<<10)); err != nil {
						return
					}
				}
			}, model.ErrTooLarge, ""},
			{"another host", func(w http.ResponseWriter, r *http.Request) {
				http.Redirect(w, r, other.URL+"/user", http.StatusTemporaryRedirect)
			}, nil, "redirect"},
		} {
			answer = c.answer
			_, err := opened(t, loopback, kind, s.URL).Who(t.Context())
			if err == nil || c.is != nil && !errors.Is(err, c.is) || !strings.Contains(err.Error(), c.message) || strings.ContainsAny(err.Error(), "\x1b\n") || strings.Contains(err.Error(), "t0ken") {
				t.Errorf("%s of %s: %v", c.what, kind, err)
			}
		}
		for _, c := range []struct {
			header []string
			wait   time.Duration
		}{
			{[]string{"Retry-After", "7"}, 7 * time.Second},
			{[]string{"X-Ratelimit-Remaining", "0", "X-Ratelimit-Reset", "1800000090"}, 90 * time.Second},
			{[]string{"Retry-After", "999999"}, time.Hour},
			{[]string{"Retry-After", "-5"}, time.Second},
		} {
			answer = status(403, `{"message":"slow down"}`, c.header...)
			_, err := opened(t, loopback, kind, s.URL).Who(t.Context())
			var busy *model.BusyError
			if !errors.As(err, &busy) || busy.Wait != c.wait {
				t.Errorf("%v of %s: %v", c.header, kind, err)
			}
		}
	}
}
