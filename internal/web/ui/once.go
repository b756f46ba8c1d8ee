package ui

import (
	"crypto/aes"
	"crypto/cipher"
	"crypto/hkdf"
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"time"

	"github.com/redoubt/redoubt/internal/httpx"
)

// onceFor is how long a browser has to load the page that shows a secret.
const onceFor = time.Minute

// minKey is how many bytes the key of the server has at least.
const minKey = 16

// newOnce makes what seals the secrets that a browser carries from the form that
// made them to the page that shows them, under a key of its own.
func newOnce(key []byte) (cipher.AEAD, error) {
	if len(key) < minKey {
		return nil, fmt.Errorf("the key has %d bytes and needs %d", len(key), minKey)
	}
	own, err := hkdf.Key(sha256.New, key, nil, "secrets shown once", 32)
	if err != nil {
		return nil, err
	}
	block, err := aes.NewCipher(own)
	if err != nil {
		return nil, err
	}
	return cipher.NewGCMWithRandomNonce(block)
}

// ShowOnce sends the browser on to a page of the deployment, which shows a secret
// of the thing that was just made. The address says which thing that is; the
// secret travels in a cookie for that page alone, sealed, so that neither the
// server, a log nor the history of the browser keeps it, and a reload makes no
// second one.
func (req *Request) ShowOnce(path string, id int64, secret string) {
	until := uint64(req.Clock().Add(onceFor).Unix()) //nolint:gosec // a time after 1970
	sealed := binary.BigEndian.AppendUint64(nil, until)
	once, err := newOnce(req.SigningKeys.All()[0])
	if err != nil {
		req.fail(req.Writer, req.HTTP, req.Viewer, err)
		return
	}
	sealed = once.Seal(nil, nil, append(sealed, secret...), req.onceScope(path, id))
	req.setOnce(path, id, base64.RawURLEncoding.EncodeToString(sealed), int(onceFor.Seconds()))
	req.Redirect(req.To(path) + "?made=" + strconv.FormatInt(id, 10))
}

// ShownOnce is the secret that the browser brings to the page, and which thing
// the address says it is of; id is 0 where it says none. The secret is empty when
// it was shown before, its time is over, or it was made for another viewer, page
// or thing. The browser forgets it.
func (req *Request) ShownOnce(path string) (id int64, secret string) {
	id, err := strconv.ParseInt(req.HTTP.URL.Query().Get("made"), 10, 64)
	if err != nil || id <= 0 {
		return 0, ""
	}
	cookie, err := req.HTTP.Cookie(req.onceName(id))
	if err != nil || req.HTTP.Method == http.MethodHead {
		return id, ""
	}
	req.setOnce(path, id, "", -1)
	secret, err = req.unseal(cookie.Value, req.onceScope(path, id))
	if err != nil {
		return id, ""
	}
	return id, secret
}

// openOnce opens what a key sealed that is in use, or was a moment ago.
func (req *Request) openOnce(sealed, scope []byte) (text []byte, err error) {
	for _, key := range req.SigningKeys.All() {
		var once cipher.AEAD
		if once, err = newOnce(key); err != nil {
			return nil, err
		}
		if text, err = once.Open(nil, nil, sealed, scope); err == nil {
			return text, nil
		}
	}
	return nil, err
}

// unseal reads a cookie of ShowOnce.
func (req *Request) unseal(value string, scope []byte) (string, error) {
	sealed, err := base64.RawURLEncoding.DecodeString(value)
	if err != nil {
		return "", err
	}
	text, err := req.openOnce(sealed, scope)
	if err != nil {
		return "", err
	}
	const stamp = 8
	now := uint64(req.Clock().Unix()) //nolint:gosec // a time after 1970
	if len(text) < stamp || now >= binary.BigEndian.Uint64(text) {
		return "", errors.New("too old")
	}
	return string(text[stamp:]), nil
}

// onceScope is what a sealed secret is bound to: it opens for no other user,
// deployment, page or thing.
func (req *Request) onceScope(path string, id int64) []byte {
	return fmt.Appendf(nil, "%q %d %q %d", req.Viewer.User, req.Viewer.Deployment.ID, path, id)
}

// setOnce sets the cookie of a thing, or takes it away.
func (req *Request) setOnce(path string, id int64, value string, seconds int) {
	http.SetCookie(req.Writer, &http.Cookie{
		Name: req.onceName(id), Value: value, Path: req.To(path), MaxAge: seconds,
		HttpOnly: true, Secure: req.IsSecure(), SameSite: http.SameSiteStrictMode,
	})
}

// onceName has the number of the thing in it, so that two tabs do not take each
// other's. Browsers refuse the prefix __Host- for a path, so it is the next best.
func (req *Request) onceName(id int64) string {
	name := "redoubt-once-" + strconv.FormatInt(id, 10)
	if req.IsSecure() {
		return "__Secure-" + name
	}
	return name
}

// IsSecure reports whether the browser came by https.
func (req *Request) IsSecure() bool {
	if req.SignIn != nil {
		return req.SignIn.IsSecure(req.HTTP)
	}
	return httpx.Trust{}.Origin(req.HTTP).Secure
}
