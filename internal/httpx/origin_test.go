package httpx

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"testing"

	"github.com/redoubt/redoubt/internal/model"
)

var trust = Trust{Proxies: []netip.Prefix{netip.MustParsePrefix("10.0.0.0/8"), netip.MustParsePrefix("fd00::/8")}}

func TestOrigin(t *testing.T) {
	for _, c := range []struct {
		name, remote string
		headers      []string // alternating names and values
		tls          bool
		want         Origin
	}{
		{"no proxy", "203.0.113.5:1", nil, false, Origin{"203.0.113.5", "http://here", false}},
		{"by TLS", "203.0.113.5:1", nil, true, Origin{"203.0.113.5", "https://here", true}},
		{
			"a stranger's headers", "203.0.113.5:1",
			[]string{"X-Forwarded-For", "1.2.3.4", "X-Forwarded-Proto", "https", "X-Forwarded-Host", "evil"},
			false,
			Origin{"203.0.113.5", "http://here", false},
		},
		{
			"a proxy of ours", "10.0.0.1:1",
			[]string{"X-Forwarded-For", "203.0.113.5", "X-Forwarded-Proto", "HTTPS", "X-Forwarded-Host", "redoubt.example.com:8443"},
			false,
			Origin{"203.0.113.5", "https://redoubt.example.com:8443", true},
		},
		{"a proxy that speaks TLS to us and was asked without", "10.0.0.1:1", []string{"X-Forwarded-Proto", "http"}, true, Origin{"10.0.0.1", "http://here", false}},
		{"an odd protocol", "10.0.0.1:1", []string{"X-Forwarded-Proto", "javascript"}, false, Origin{"10.0.0.1", "http://here", false}},
		{"two protocols", "10.0.0.1:1", []string{"X-Forwarded-Proto", "https, http"}, false, Origin{"10.0.0.1", "http://here", false}},
		{"a made-up start", "10.0.0.1:1", []string{"X-Forwarded-For", "6.6.6.6, 203.0.113.5, 10.0.0.2"}, false, Origin{"203.0.113.5", "http://here", false}},
		{"several headers", "10.0.0.1:1", []string{"X-Forwarded-For", "6.6.6.6", "X-Forwarded-For", "203.0.113.5"}, false, Origin{"203.0.113.5", "http://here", false}},
		{"no address in between", "10.0.0.1:1", []string{"X-Forwarded-For", "203.0.113.5, <script>, 10.0.0.2"}, false, Origin{"10.0.0.2", "http://here", false}},
		{"an address with a port", "10.0.0.1:1", []string{"X-Forwarded-For", "203.0.113.5:4711"}, false, Origin{"10.0.0.1", "http://here", false}},
		{"all are ours", "10.0.0.1:1", []string{"X-Forwarded-For", "10.0.0.3, 10.0.0.2"}, false, Origin{"10.0.0.3", "http://here", false}},
		{"nothing said", "10.0.0.1:1", []string{"X-Forwarded-For", ", ,"}, false, Origin{"10.0.0.1", "http://here", false}},
		{"IPv6", "[fd00::1]:1", []string{"X-Forwarded-For", "2001:db8::5"}, false, Origin{"2001:db8::5", "http://here", false}},
		{"IPv4 within IPv6", "[::ffff:10.0.0.1]:1", []string{"X-Forwarded-For", "::ffff:203.0.113.5"}, false, Origin{"203.0.113.5", "http://here", false}},
		{"a zone", "[fe80::1%eth0]:1", nil, false, Origin{"fe80::1", "http://here", false}},
		{"a zone that the client made up", "10.0.0.1:1", []string{"X-Forwarded-For", "fe80::1%" + strings.Repeat("x", 99)}, false, Origin{"fe80::1", "http://here", false}},
		{"a unix socket", "@", []string{"X-Forwarded-For", "203.0.113.5", "X-Forwarded-Proto", "https"}, false, Origin{"", "http://here", false}},
		{"no address at all", "", nil, false, Origin{"", "http://here", false}},
		{"an address without a port", "10.0.0.1", []string{"X-Forwarded-Proto", "https"}, false, Origin{"", "http://here", false}},
		{"a host that is a path", "10.0.0.1:1", []string{"X-Forwarded-Host", "evil.example/x"}, false, Origin{"10.0.0.1", "http://here", false}},
		{"a host with a user", "10.0.0.1:1", []string{"X-Forwarded-Host", "user@evil.example"}, false, Origin{"10.0.0.1", "http://here", false}},
		{"several hosts", "10.0.0.1:1", []string{"X-Forwarded-Host", "a.example, b.example"}, false, Origin{"10.0.0.1", "http://here", false}},
		{"a host that is markup", "10.0.0.1:1", []string{"X-Forwarded-Host", `x"><b>`}, false, Origin{"10.0.0.1", "http://here", false}},
		{"a host that is no text", "10.0.0.1:1", []string{"X-Forwarded-Host", "a\xffb"}, false, Origin{"10.0.0.1", "http://here", false}},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := httptest.NewRequestWithContext(t.Context(), http.MethodGet, "http://here/", nil)
			r.RemoteAddr, r.TLS = c.remote, nil
			if c.tls {
				r.TLS = &tls.ConnectionState{}
			}
			for i := 0; i < len(c.headers); i += 2 {
				r.Header.Add(c.headers[i], c.headers[i+1])
			}
			if got := trust.Origin(r); got != c.want {
				t.Errorf("%+v, want %+v", got, c.want)
			}
			public := Trust{Proxies: trust.Proxies, PublicURL: "https://public.example"}
			c.want.Base = "https://public.example"
			if got := public.Origin(r); got != c.want {
				t.Errorf("with a public address: %+v, want %+v", got, c.want)
			}
		})
	}
}

func TestOriginInContext(t *testing.T) {
	r := httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/", nil)
	if got := OriginOf(r); got != (Origin{}) {
		t.Errorf("before: %+v", got)
	}
	want := Origin{Address: "203.0.113.5", Base: "https://x", Secure: true}
	if got := OriginOf(r.WithContext(WithOrigin(r.Context(), want))); got != want {
		t.Errorf("after: %+v", got)
	}
}

// TestHungUp checks that only the cancellation by a client is a disconnect, and not a shutdown or a
// timeout.
func TestHungUp(t *testing.T) {
	gone := func(cause error) *http.Request {
		ctx, cancel := context.WithCancelCause(t.Context())
		cancel(cause)
		return httptest.NewRequestWithContext(ctx, http.MethodGet, "/", nil)
	}
	here := httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/", nil)
	broken := errors.New("disk full")
	for _, c := range []struct {
		name  string
		r     *http.Request
		cause error
		want  bool
	}{
		{"the client is gone", gone(nil), fmt.Errorf("read: %w", context.Canceled), true},
		{"the disk is full, and the client is gone too", gone(nil), model.ErrUnavailable, false},
		{"something broke while the client went", gone(nil), broken, false},
		{"the server stops", gone(model.ErrUnavailable), context.Canceled, false},
		{"time ran out", gone(context.DeadlineExceeded), context.DeadlineExceeded, false},
		{"something of the server's own was cancelled", here, context.Canceled, false},
		{"all is well", here, nil, false},
	} {
		if got := HungUp(c.r, c.cause); got != c.want {
			t.Errorf("%s: %v", c.name, got)
		}
	}
}

func TestIsText(t *testing.T) {
	for text, want := range map[string]bool{"": true, "Zürich\n": true, "a\x00b": false, "\xff": false, "a\xc3": false} {
		if IsText(text) != want {
			t.Errorf("%q: %v", text, !want)
		}
	}
}
