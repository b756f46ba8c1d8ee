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

// onceFor is the time in which a browser must load the page that shows a secret.
const onceFor = time.Minute

// minKey is the minimum length of the server's key in bytes.
const minKey = 16

// newOnce returns the cipher for secrets that a browser carries from the creating form to the page
// that shows them. It derives its own key from key.
func newOnce(key []byte) (cipher.AEAD, error) {
	if len(key) < minKey {
		return nil, fmt.Errorf("key of %d bytes: at least %d required", len(key), minKey)
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

// ShowOnce redirects the browser to a page of the deployment that shows the secret of a new object
// once. The address contains only the object's id. The secret is sent in an encrypted cookie for
// that page, so server, logs and browser history never store it. Reloading the page does not create
// another secret.
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

// ShownOnce returns the object id in the address and the secret in the request's cookie, and
// deletes the cookie. The id is 0 if the address has none. The secret is empty if it was already
// shown, has expired, or belongs to another viewer, page or object.
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

// openOnce decrypts text that was sealed with a current or recently replaced key.
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

// unseal decrypts a cookie of ShowOnce.
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
		return "", errors.New("expired")
	}
	return string(text[stamp:]), nil
}

// onceScope returns the additional data of a sealed secret. It binds the secret to one user,
// deployment, page and object.
func (req *Request) onceScope(path string, id int64) []byte {
	return fmt.Appendf(nil, "%q %d %q %d", req.Viewer.User, req.Viewer.Deployment.ID, path, id)
}

// setOnce sets or deletes the cookie of an object.
func (req *Request) setOnce(path string, id int64, value string, seconds int) {
	http.SetCookie(req.Writer, &http.Cookie{
		Name: req.onceName(id), Value: value, Path: req.To(path), MaxAge: seconds,
		HttpOnly: true, Secure: req.IsSecure(), SameSite: http.SameSiteStrictMode,
	})
}

// onceName returns the cookie name of an object. It contains the id, so that two tabs do not
// overwrite each other's cookie. Browsers reject the prefix __Host- for cookies with a path, hence
// __Secure-.
func (req *Request) onceName(id int64) string {
	name := "redoubt-once-" + strconv.FormatInt(id, 10)
	if req.IsSecure() {
		return "__Secure-" + name
	}
	return name
}

// IsSecure reports whether the browser uses https.
func (req *Request) IsSecure() bool {
	if req.SignIn != nil {
		return req.SignIn.IsSecure(req.HTTP)
	}
	return httpx.Trust{}.Origin(req.HTTP).Secure
}
