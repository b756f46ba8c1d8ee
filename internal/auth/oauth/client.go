package oauth

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"net/netip"
	"net/url"
	"regexp"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"
)

// Limits of client registrations.
const (
	ClientFor    = 90 * 24 * time.Hour
	maxName      = 80   // characters
	maxRedirects = 5    // number of addresses
	maxRedirect  = 512  // bytes of one
	maxID        = 3000 // bytes
)

// ErrClient is returned for unknown and expired clients.
var ErrClient = errors.New("the client is not registered, or its registration has expired: register it again")

// Client contains the registration data of a program. Its name is unverified.
type Client struct {
	ID        string    `json:"-"`
	Name      string    `json:"n"`
	Redirects []string  `json:"r"`
	Issued    time.Time `json:"t"`
	Device    bool      `json:"d,omitempty"` // may use the device flow, without a redirect address
}

// RedirectError reports an invalid redirect address.
type RedirectError struct{ URI, Why string }

// Error returns the address and the reason.
func (e *RedirectError) Error() string { return fmt.Sprintf("redirect_uri %.100q %s", e.URI, e.Why) }

// Keys returns the signing keys, the current one first.
type Keys func() [][]byte

// Register returns a client with its id. Clients for the device flow need no redirect address. It
// returns a *RedirectError, or an error about the name.
func (k Keys) Register(name string, redirects []string, device bool, now time.Time) (Client, error) {
	if utf8.RuneCountInString(name) > maxName || !utf8.ValidString(name) || strings.ContainsFunc(name, hidden) {
		return Client{}, fmt.Errorf("client_name must have at most %d characters, all of them visible", maxName)
	}
	if len(redirects) == 0 && !device || len(redirects) > maxRedirects {
		return Client{}, &RedirectError{"", fmt.Sprintf("must have 1 to %d entries", maxRedirects)}
	}
	for _, r := range redirects {
		if err := checkRedirect(r); err != nil {
			return Client{}, err
		}
	}
	c := Client{Name: name, Redirects: redirects, Issued: now.UTC().Truncate(time.Second), Device: device}
	text, err := json.Marshal(c)
	if err != nil {
		return Client{}, err
	}
	body := base64.RawURLEncoding.EncodeToString(text)
	c.ID = body + "." + sign(k()[0], "client", body)
	if len(c.ID) > maxID {
		return Client{}, &RedirectError{"", "is too long in total"}
	}
	return c, nil
}

// Client returns the client with the id, or ErrClient.
func (k Keys) Client(id string, now time.Time) (c Client, err error) {
	body, mac, ok := strings.Cut(id, ".")
	if !ok || len(id) > maxID || !k.signed("client", body, mac) {
		return c, ErrClient
	}
	text, err := base64.RawURLEncoding.DecodeString(body)
	if err != nil || json.Unmarshal(text, &c) != nil || now.Sub(c.Issued) > ClientFor {
		return Client{}, ErrClient
	}
	c.ID = id
	return c, nil
}

// Allows reports whether a redirect address is registered. Addresses must be equal, except for the
// port of loopback addresses (RFC 8252 section 7.3).
func (c Client) Allows(uri string) bool {
	if checkRedirect(uri) != nil {
		return false
	}
	for _, r := range c.Redirects {
		if r == uri {
			return true
		}
		one, errOne := url.Parse(r)
		other, errOther := url.Parse(uri)
		if errOne == nil && errOther == nil && isLoopback(one) && isLoopback(other) && portless(one) == portless(other) {
			return true
		}
	}
	return false
}

// portless returns a loopback address without its port.
func portless(u *url.URL) string {
	v := *u
	v.Host = u.Hostname()
	return v.String()
}

// checkRedirect accepts HTTPS addresses, and HTTP addresses of the user's own machine.
func checkRedirect(uri string) error {
	fault := func(why string) error { return &RedirectError{uri, why} }
	u, err := url.Parse(uri)
	switch {
	case err != nil || !u.IsAbs() || u.Host == "" || u.Opaque != "" || len(uri) > maxRedirect:
		return fault("is not an absolute address, or is too long")
	case strings.ContainsFunc(uri, func(r rune) bool {
		return r <= ' ' || r > '~' || strings.ContainsRune("\\\"'<>;,", r)
	}):
		return fault("has invalid characters")
	case u.User != nil || strings.Contains(uri, "#"):
		return fault("has a user or a fragment")
	case !isHost(u.Hostname()):
		return fault("has no valid host")
	case u.Scheme == "https" || isLoopback(u):
		return nil
	}
	return fault("is neither https nor http on a loopback address")
}

// hostName matches a host name: labels of letters, digits, hyphens and underscores.
var hostName = regexp.MustCompile(
	`^([A-Za-z0-9_]([A-Za-z0-9_-]{0,61}[A-Za-z0-9_])?\.)*[A-Za-z0-9_]([A-Za-z0-9_-]{0,61}[A-Za-z0-9_])?\.?$`,
)

// maxHost is the maximum length of a host name (RFC 1035).
const maxHost = 253

// isHost reports whether a text is a host name or an IP address without a zone.
func isHost(host string) bool {
	ip, err := netip.ParseAddr(host)
	return err == nil && ip.Zone() == "" || len(host) <= maxHost && hostName.MatchString(host)
}

// isLoopback reports whether an HTTP address is on the machine that opens it.
func isLoopback(u *url.URL) bool {
	ip, err := netip.ParseAddr(u.Hostname())
	return u.Scheme == "http" && (u.Hostname() == "localhost" || err == nil && ip.IsLoopback())
}

func hidden(r rune) bool { return !unicode.IsPrint(r) }

// sign returns a keyed hash of a text for one purpose.
func sign(key []byte, purpose, text string) string {
	mac := hmac.New(sha256.New, key)
	mac.Write([]byte("oauth " + purpose + "\x00" + text))
	return base64.RawURLEncoding.EncodeToString(mac.Sum(nil))
}

// signed reports whether one of the keys signed a text.
func (k Keys) signed(purpose, text, mac string) bool {
	for _, key := range k() {
		if hmac.Equal([]byte(sign(key, purpose, text)), []byte(mac)) {
			return true
		}
	}
	return false
}
