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

// Trust is whose word about a request counts beside that of its connection.
type Trust struct {
	// Proxies are the networks whose X-Forwarded headers count.
	Proxies []netip.Prefix
	// PublicURL is how others reach the server, without a slash at the end.
	// Without it, the host of a request counts if it is the server's (see own).
	PublicURL string
	// Listening is the address that links start with where the host of a request is not
	// the server's. Empty accepts every host.
	Listening string
	// Names are the host names of the server, beside localhost and addresses of numbers.
	Names []string
}

// Origin is where a request came from, as its client would say.
type Origin struct {
	// Address is the client's, without port and zone: the last one that is not a
	// trusted proxy's. It is empty where the connection has none, as one of a
	// unix socket.
	Address string
	// Base is the address that the client reached the server at, for links,
	// without a slash at the end.
	Base string
	// Secure is whether the client came over TLS.
	Secure bool
}

// Origin finds where a request came from. It wants the request as net/http made
// it, once; those who are handed the request later ask OriginOf.
func (t Trust) Origin(r *http.Request) Origin {
	o := Origin{Secure: r.TLS != nil}
	scheme, host := "http", r.Host
	peer := peerOf(r.RemoteAddr)
	own := t.own(r)
	if t.isProxy(peer) {
		own = true // a proxy passes on requests to the hosts that it was set up for
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

// own reports whether the host of a request is the server's: an address of numbers, localhost,
// one of Names, or the name that the client's TLS connection verifies. Anyone can send another.
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

// client walks from a trusted proxy back to the first address that is none.
// What stands before that, or before what is no address, may be made up.
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

// peerOf is the address of a connection; it is not valid where there is none.
func peerOf(remote string) netip.Addr {
	at, err := netip.ParseAddrPort(remote)
	if err != nil {
		return netip.Addr{}
	}
	return at.Addr().Unmap()
}

// isHost refuses what would make another address of a link, or several.
func isHost(h string) bool {
	return h != "" && IsText(h) && !strings.ContainsAny(h, "/\\ ,@?#<>\"'\r\n\t")
}

type originKey struct{}

// WithOrigin keeps where the context's request came from.
func WithOrigin(ctx context.Context, o Origin) context.Context {
	return context.WithValue(ctx, originKey{}, o)
}

// OriginOf is where a request came from, as the server found out when it took
// the request in; the zero Origin where it did not.
func OriginOf(r *http.Request) Origin {
	o, _ := r.Context().Value(originKey{}).(Origin)
	return o
}

// StatusHungUp stands in logs and metrics for requests whose client was gone
// before the answer was. Nobody reads the answer, and the server did not fail.
const StatusHungUp = 499

// HungUp reports whether a request failed because its client is gone. A server
// that stops gives its requests a cause of their own, and a time that runs out
// is another, so both stay the server's, as does what breaks while a client goes.
func HungUp(r *http.Request, cause error) bool {
	return errors.Is(cause, context.Canceled) && errors.Is(context.Cause(r.Context()), context.Canceled)
}
