package model

import (
	"net/netip"
	"time"
)

// LoginFor is how long who asks for a token may wait for somebody to decide. A scanner
// gives up itself after three minutes.
const LoginFor = 10 * time.Minute

// LoginRequest is somebody who waits for a token until a person decides: a scanner, as
// semgrep login does, or a program by the device flow (RFC 8628). Who knows the key that
// it asks with gets the token, so only a hash of that is kept; people name the request by
// its code.
type LoginRequest struct {
	KeyHash      []byte
	Code         string
	DeploymentID int64 // 0 until somebody decides
	Address      string
	Agent        string // the client's own name and version
	AskedAt      time.Time
	ExpiresAt    time.Time
	Token        Token // to be made when it is fetched; empty where there is none to fetch
	ApprovedBy   Actor // who decided
	Program      LoginProgram
}

// LoginProgram is what a program asked for; empty for a scanner.
type LoginProgram struct {
	ClientHash []byte // SHA-256 of the id of the OAuth client
	Name       string // what it calls itself
	Resource   string // what the token is for
	Write      bool   // it asks to change things
}

// ByProgram reports whether an OAuth client waits, and no scanner.
func (r LoginRequest) ByProgram() bool { return len(r.Program.ClientHash) > 0 }

// Approved reports whether the token may be fetched.
func (r LoginRequest) Approved() bool { return r.Token.DeploymentID != 0 }

// Denied reports whether somebody decided that there is no token.
func (r LoginRequest) Denied() bool { return r.DeploymentID != 0 && !r.Approved() }

// Network is whose an address is taken to be where callers are counted: one
// customer gets a whole /64 of IPv6. What is no address is its own network.
func Network(address string) string {
	at, err := netip.ParseAddr(address)
	if err != nil {
		return address
	}
	if at = at.Unmap(); at.Is6() {
		return netip.PrefixFrom(at.WithZone(""), 64).Masked().String()
	}
	return at.String()
}

// WideNetwork is the network around an address that one owner may well have all of:
// the /48 of IPv6, the /24 of IPv4. What is no address is its own network.
func WideNetwork(address string) string {
	at, err := netip.ParseAddr(address)
	if err != nil {
		return address
	}
	at = at.Unmap().WithZone("")
	bits := 24
	if at.Is6() {
		bits = 48
	}
	return netip.PrefixFrom(at, bits).Masked().String()
}
