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

// Reach says which addresses of the network hosts may have: who adds a connection
// chooses what the server asks, and must not read through it what only the server
// reaches.
type Reach struct {
	NoPrivate bool           // only addresses that everybody reaches
	Also      []netip.Prefix // these too, whatever they are
	Flag      string         // by which whoever runs the server allows more; --connect-to where it is empty
}

// never are addresses that serve a machine about itself, as clouds have them, and those
// that are no single machine's.
var never = []netip.Prefix{
	netip.MustParsePrefix("169.254.0.0/16"), netip.MustParsePrefix("fe80::/10"),
	netip.MustParsePrefix("fd00:ec2::254/128"),
	netip.MustParsePrefix("100.100.100.200/32"), netip.MustParsePrefix("0.0.0.0/8"), netip.MustParsePrefix("::/128"),
	netip.MustParsePrefix("224.0.0.0/4"), netip.MustParsePrefix("240.0.0.0/4"), netip.MustParsePrefix("ff00::/8"),
	netip.MustParsePrefix("192.0.0.192/32"), netip.MustParsePrefix("168.63.129.16/32"),
}

// embedding are prefixes whose addresses hold one of IPv4, from a byte on: that is where
// a translator or a tunnel takes what is sent there.
var embedding = []struct {
	prefix netip.Prefix
	from   int
}{
	{netip.MustParsePrefix("64:ff9b::/96"), 12}, {netip.MustParsePrefix("64:ff9b:1::/48"), 12}, // NAT64
	{netip.MustParsePrefix("2002::/16"), 2}, // 6to4
	{netip.MustParsePrefix("::/96"), 12},
}

// embedded is the address of IPv4 that one of IPv6 stands for; itself where there is none.
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

// shared are addresses that are private for our purpose: what providers share among
// their customers, what is for measurements, and what sites had before fd00::/8.
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

// unreachableError says that an address is one that no host may have.
type unreachableError struct{ host, flag string }

// Forbidden tells callers that another try would not help.
func (e unreachableError) Forbidden() bool { return true }

// Error says what to do.
func (e unreachableError) Error() string {
	return fmt.Sprintf("%.80s is an address that this server asks nobody at; whoever runs the server may allow it with %s",
		model.Line(e.host), cmp.Or(e.flag, "--connect-to"))
}

// Dial connects to addresses that hosts may have: each is looked at when it is known,
// so that a name which changes what it means gets nowhere.
func (r Reach) Dial(ctx context.Context, network, address string) (net.Conn, error) {
	d := net.Dialer{Timeout: askFor, Control: func(_, address string, _ syscall.RawConn) error {
		at, err := netip.ParseAddrPort(address)
		if err != nil || !r.Allows(at.Addr()) {
			return unreachableError{address, r.Flag}
		}
		return nil
	}}
	return d.DialContext(ctx, network, address)
}

// Resolve finds an address of a name that a host may have, for programs that connect by
// themselves.
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
		if !r.Allows(a) { // as Dial: one bad address is one too many
			return netip.Addr{}, unreachableError{name, r.Flag}
		}
	}
	return found[0].Unmap(), nil
}
