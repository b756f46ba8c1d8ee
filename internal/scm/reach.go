package scm

import (
	"cmp"
	"context"
	"fmt"
	"net"
	"net/netip"
	"slices"
	"syscall"

	"github.com/redoubt/redoubt/internal/model"
)

// Reach defines the network addresses that hosts may have. Users who add connections choose the
// target of requests, and must not use them to read internal services.
type Reach struct {
	NoPrivate bool           // only public addresses
	Also      []netip.Prefix // additional allowed addresses, of any kind
	Flag      string         // flag that allows more addresses, for error messages; --connect-to if empty
}

// never lists addresses that are forbidden unless Reach.Also contains them. These are metadata
// services of clouds, and addresses that do not belong to a single machine.
var never = []netip.Prefix{
	netip.MustParsePrefix("169.254.0.0/16"), netip.MustParsePrefix("fe80::/10"),
	netip.MustParsePrefix("fd00:ec2::254/128"),
	netip.MustParsePrefix("100.100.100.200/32"), netip.MustParsePrefix("0.0.0.0/8"), netip.MustParsePrefix("::/128"),
	netip.MustParsePrefix("224.0.0.0/4"), netip.MustParsePrefix("240.0.0.0/4"), netip.MustParsePrefix("ff00::/8"),
	netip.MustParsePrefix("192.0.0.192/32"), netip.MustParsePrefix("168.63.129.16/32"),
}

// embedding lists the IPv6 prefixes whose addresses contain an IPv4 address, and its position in
// bytes. Translators and tunnels send packets to that address.
var embedding = []struct {
	prefix netip.Prefix
	from   int
}{
	{netip.MustParsePrefix("64:ff9b::/96"), 12}, {netip.MustParsePrefix("64:ff9b:1::/48"), 12}, // NAT64
	{netip.MustParsePrefix("2002::/16"), 2}, // 6to4
	{netip.MustParsePrefix("::/96"), 12},
}

// embedded returns the IPv4 address that an IPv6 address contains, or else the address itself.
func embedded(a netip.Addr) netip.Addr {
	if a == netip.IPv6Unspecified() || a == netip.IPv6Loopback() {
		return a
	}
	for _, e := range embedding {
		if e.prefix.Contains(a) {
			b := a.As16()
			return netip.AddrFrom4([4]byte(b[e.from:]))
		}
	}
	return a
}

// shared lists further prefixes that count as private: carrier-grade NAT, benchmarks, and the
// deprecated site-local addresses.
var shared = []netip.Prefix{
	netip.MustParsePrefix("100.64.0.0/10"), netip.MustParsePrefix("198.18.0.0/15"), netip.MustParsePrefix("fec0::/10"),
}

// Allows reports whether a host may have an address.
func (r Reach) Allows(a netip.Addr) bool {
	a = embedded(a.Unmap().WithZone(""))
	within := func(p netip.Prefix) bool { return p.Contains(a) }
	switch {
	case slices.ContainsFunc(r.Also, within):
		return true
	case slices.ContainsFunc(never, within) || a.IsLoopback():
		return false
	}
	return !r.NoPrivate || !a.IsPrivate() && !slices.ContainsFunc(shared, within)
}

// unreachableError reports that an address is forbidden for hosts.
type unreachableError struct{ host, flag string }

// Forbidden marks the error as permanent: callers do not retry.
func (e unreachableError) Forbidden() bool { return true }

// Error implements error.
func (e unreachableError) Error() string {
	return fmt.Sprintf("connections to %.80s are not allowed: an administrator of the server can allow them with %s",
		model.Line(e.host), cmp.Or(e.flag, "--connect-to"))
}

// Dial connects to an allowed address. It checks the resolved address, so that a changed DNS record
// cannot circumvent the check.
func (r Reach) Dial(ctx context.Context, network, address string) (net.Conn, error) {
	d := net.Dialer{Timeout: requestTimeout, Control: func(_, address string, _ syscall.RawConn) error {
		at, err := netip.ParseAddrPort(address)
		if err != nil || !r.Allows(at.Addr()) {
			return unreachableError{address, r.Flag}
		}
		return nil
	}}
	return d.DialContext(ctx, network, address)
}

// Resolve returns an address of a name, for programs that connect themselves. It returns an error
// if any address of the name is forbidden.
func (r Reach) Resolve(ctx context.Context, name string) (netip.Addr, error) {
	if a, err := netip.ParseAddr(name); err == nil {
		if !r.Allows(a) {
			return a, unreachableError{name, r.Flag}
		}
		return a, nil
	}
	found, err := net.DefaultResolver.LookupNetIP(ctx, "ip", name)
	if err != nil {
		return netip.Addr{}, fmt.Errorf("find the host: %w: %w", model.ErrUnavailable, err)
	}
	for _, a := range found {
		if !r.Allows(a) { // consistent with Dial: a single forbidden address is an error
			return netip.Addr{}, unreachableError{name, r.Flag}
		}
	}
	return found[0].Unmap(), nil
}
