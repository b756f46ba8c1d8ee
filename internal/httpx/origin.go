package httpx

import (
	"context"
	"errors"
	"net/http"
	"net/netip"
	"net/url"
	"slices"
	"strings"
)

// Trust defines which information about a request is trusted, in addition to its connection.
type Trust struct {
	// Proxies are the networks whose X-Forwarded headers are trusted.
	Proxies []netip.Prefix
	// PublicURL is the public address of the server, without a trailing slash. If it is empty, the
	// host of a request is used if it is one of the server (see own).
	PublicURL string
	// Listening is the base of links if the host of a request is not one of the server. If it is
	// empty, every host is accepted.
	Listening string
	// Names are the host names of the server, in addition to localhost and IP addresses.
	Names []string
}

// Origin is the origin of a request, from the client's point of view.
type Origin struct {
	// Address is the client's address, without port and zone: the last one that is not a trusted
	// proxy. It is empty if the connection has none, such as one of a Unix socket.
	Address string
	// Base is the address that the client used for the server, for links, without a trailing slash.
	Base string
	// Secure reports whether the client used TLS.
	Secure bool
}

// Origin determines the origin of a request. It must be called once, with the original request of
// net/http; later handlers call OriginOf.
func (t Trust) Origin(r *http.Request) Origin {
	o := Origin{Secure: r.TLS != nil}
	scheme, host := "http", r.Host
	peer := peerOf(r.RemoteAddr)
	own := t.own(r)
	if t.isProxy(peer) {
		own = true // a proxy forwards only requests to its configured hosts
		peer = t.client(peer, r.Header)
		switch strings.ToLower(r.Header.Get("X-Forwarded-Proto")) {
		case "http":
			o.Secure = false
		case "https":
			o.Secure = true
		}
		if h := r.Header.Get("X-Forwarded-Host"); isHost(h) {
			host = h
		}
	}
	if peer.IsValid() {
		o.Address = peer.WithZone("").String()
	}
	if o.Secure {
		scheme = "https"
	}
	switch {
	case t.PublicURL != "":
		o.Base = t.PublicURL
	case own || t.Listening == "":
		o.Base = scheme + "://" + host
	default:
		o.Base = t.Listening
	}
	return o
}

// own reports whether the host of a request is one of the server. That is an IP address, localhost,
// one of Names, or the name that the client's TLS connection verifies. Anyone can send another
// host.
func (t Trust) own(r *http.Request) bool {
	if !isHost(r.Host) {
		return false
	}
	name := (&url.URL{Host: r.Host}).Hostname()
	if _, err := netip.ParseAddr(name); err == nil || strings.EqualFold(name, "localhost") {
		return true
	}
	verified := r.TLS != nil && strings.EqualFold(name, r.TLS.ServerName)
	return verified || slices.ContainsFunc(t.Names, func(n string) bool { return strings.EqualFold(n, name) })
}

// client follows X-Forwarded-For back from a trusted proxy to the first address that is not one.
// Entries before that, or before an invalid entry, may be forged.
func (t Trust) client(peer netip.Addr, h http.Header) netip.Addr {
	hops := strings.Split(strings.Join(h.Values("X-Forwarded-For"), ","), ",")
	for _, hop := range slices.Backward(hops) {
		next, err := netip.ParseAddr(strings.TrimSpace(hop))
		if err != nil {
			break
		}
		if peer = next.Unmap(); !t.isProxy(peer) {
			break
		}
	}
	return peer
}

func (t Trust) isProxy(address netip.Addr) bool {
	return slices.ContainsFunc(t.Proxies, func(p netip.Prefix) bool { return p.Contains(address) })
}

// peerOf returns the address of a connection; it is invalid if there is none.
func peerOf(remote string) netip.Addr {
	at, err := netip.ParseAddrPort(remote)
	if err != nil {
		return netip.Addr{}
	}
	return at.Addr().Unmap()
}

// isHost reports whether a host is safe in a link. Other texts could change the address or add
// others.
func isHost(h string) bool {
	return h != "" && IsText(h) && !strings.ContainsAny(h, "/\\ ,@?#<>\"'\r\n\t")
}

type originKey struct{}

// WithOrigin stores the origin of the context's request.
func WithOrigin(ctx context.Context, o Origin) context.Context {
	return context.WithValue(ctx, originKey{}, o)
}

// OriginOf returns the origin of a request that WithOrigin stored, or the zero Origin.
func OriginOf(r *http.Request) Origin {
	o, _ := r.Context().Value(originKey{}).(Origin)
	return o
}

// StatusHungUp is the status in logs and metrics for requests whose client disconnected before the
// response. The server did not fail.
const StatusHungUp = 499

// HungUp reports whether a request failed because its client disconnected. Shutdowns and timeouts
// of the server have different causes and do not count, and neither do other errors during a
// disconnect.
func HungUp(r *http.Request, cause error) bool {
	return errors.Is(cause, context.Canceled) && errors.Is(context.Cause(r.Context()), context.Canceled)
}
