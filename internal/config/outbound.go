package config

import (
	"fmt"
	"net/netip"
)

// Outbound contains the settings of requests to addresses that users configure.
type Outbound struct {
	// Local allows Git remotes in local directories, as file:///srv/x.git. It is not a setting,
	// because users who name a directory of the server could read it.
	Local     bool     `kong:"-"`
	ConnectTo []string `help:"Allowed networks of code hosts: public, private, loopback, or a network (CIDR)." default:"public,private" env:"REDOUBT_CONNECT_TO" placeholder:"NETWORK"`
}

// loopback contains the loopback networks.
var loopback = []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8"), netip.MustParsePrefix("::1/128")}

// Networks returns the allowed networks of code hosts: whether private ones are allowed, and
// additional networks. Public addresses are always allowed.
func (o Outbound) Networks() (private bool, also []netip.Prefix, err error) {
	return networks("--connect-to", o.ConnectTo)
}

func networks(flag string, list []string) (private bool, also []netip.Prefix, err error) {
	for _, text := range list {
		switch text {
		case "public":
		case "private":
			private = true
		case "loopback":
			also = append(also, loopback...)
		default:
			p, err := netip.ParsePrefix(text)
			if err != nil {
				return private, nil, fmt.Errorf(
					"invalid %s %q: use public, private, loopback or a network such as 10.0.0.0/8", flag, text)
			}
			also = append(also, p.Masked())
		}
	}
	return private, also, nil
}
