package config

import (
	"fmt"
	"net/netip"
)

// Outbound are the settings of what the server asks elsewhere because somebody told it
// an address.
type Outbound struct {
	// Local lets remotes of git be folders of this machine, as file:///srv/x.git. It is no
	// setting: who may name a folder of the server may read it.
	Local     bool     `kong:"-"`
	ConnectTo []string `help:"Which addresses code hosts may have: public, private, loopback, or a network (CIDR)." default:"public,private" env:"REDOUBT_CONNECT_TO" placeholder:"NETWORK"`
}

// loopback are the addresses of this machine.
var loopback = []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8"), netip.MustParsePrefix("::1/128")}

// Networks says of code hosts whether addresses of private networks are allowed, and which
// others are whatever they are. Public ones always are.
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
				return private, nil, fmt.Errorf("%s %q is none of public, private and loopback, and no network such as 10.0.0.0/8",
					flag, text)
			}
			also = append(also, p.Masked())
		}
	}
	return private, also, nil
}
