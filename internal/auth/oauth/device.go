package oauth

import (
	"crypto/rand"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"
)

// DeviceGrant is the grant type of the device flow (RFC 8628).
const DeviceGrant = "urn:ietf:params:oauth:grant-type:device_code"

// devicePrefix is the prefix of device codes, for people and secret scanners.
const devicePrefix = "rdd"

// NewDeviceCode returns a device code that expires at a time, in seconds. It is signed, so that
// expired codes can be distinguished from forged ones.
func (k Keys) NewDeviceCode(until time.Time) string {
	body := devicePrefix + "_" + strconv.FormatInt(until.Unix(), 36) + "_" + rand.Text() + rand.Text()
	return body + "." + sign(k()[0], "device", body)
}

// DeviceCode returns the expiry of a device code. For forged codes, ok is false.
func (k Keys) DeviceCode(text string) (until time.Time, ok bool) {
	body, mac, _ := strings.Cut(text, ".")
	parts := strings.Split(body, "_")
	if len(text) > 256 || len(parts) != 3 || parts[0] != devicePrefix || !k.signed("device", body, mac) {
		return until, false
	}
	seconds, err := strconv.ParseInt(parts[1], 36, 64)
	return time.Unix(seconds, 0), err == nil
}

// DeviceRequest parses a request of a client by the device flow. It returns an *Error for the
// client.
func (k Keys) DeviceRequest(q url.Values, base string, now time.Time) (r Request, err error) {
	if r.Client, err = k.Client(q.Get("client_id"), now); err != nil {
		return r, &Error{"invalid_client", err.Error()}
	}
	if !r.Client.Device {
		return r, &Error{
			"unauthorized_client",
			"the client did not register for the device flow: grant_types must have " + DeviceGrant,
		}
	}
	return r, r.finish(q, base)
}

// finish parses the parameters that both flows share.
func (r *Request) finish(q url.Values, base string) (err error) {
	r.Write = slices.Contains(strings.Fields(q.Get("scope")), ScopeWrite)
	r.Resource, err = Resource(q.Get("resource"), base)
	return err
}
