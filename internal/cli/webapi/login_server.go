package webapi

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/url"
	"time"

	"github.com/redoubt/redoubt/internal/about"
)

// maxAnswer bounds what is read of an authorization server's answer, in bytes.
const maxAnswer = 1 << 20

// AuthServer is the authorization server of a Redoubt server, at the address that
// the person gave: nothing that it answers has secrets go elsewhere.
type AuthServer string

// AuthError is a refusal by the names of RFC 6749.
type AuthError struct {
	Code string `json:"error"`
	Text string `json:"error_description"`
}

// Error says what was refused.
func (e *AuthError) Error() string { return e.Text + " (" + e.Code + ")" }

// AuthStatusError is an answer that is none of an authorization server.
type AuthStatusError struct{ Status int }

// Error says which.
func (e *AuthStatusError) Error() string { return "the server answered " + http.StatusText(e.Status) }

// authHTTP follows nobody: what is sent is secret.
var authHTTP = &http.Client{
	Timeout: 30 * time.Second, CheckRedirect: func(*http.Request, []*http.Request) error {
		return http.ErrUseLastResponse
	},
}

// Post sends a form, or JSON where body is no form, and decodes the answer into out.
func (s AuthServer) Post(ctx context.Context, path string, body, out any) error {
	form, isForm := body.(url.Values)
	media, text := "application/x-www-form-urlencoded", []byte(form.Encode())
	if !isForm {
		var err error
		media = "application/json"
		if text, err = json.Marshal(body); err != nil {
			return err
		}
	}
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, string(s)+"/api/auth/oauth2/"+path, bytes.NewReader(text))
	if err != nil {
		return err
	}
	r.Header.Set("Content-Type", media)
	r.Header.Set("User-Agent", "redoubt/"+about.Version)
	resp, err := authHTTP.Do(r)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	if text, err = io.ReadAll(io.LimitReader(resp.Body, maxAnswer)); err != nil {
		return err
	}
	var refused AuthError
	switch {
	case resp.StatusCode == http.StatusOK || resp.StatusCode == http.StatusCreated:
		return json.Unmarshal(text, out)
	case resp.StatusCode == http.StatusBadRequest && json.Unmarshal(text, &refused) == nil && refused.Code != "":
		return &refused
	}
	return &AuthStatusError{resp.StatusCode}
}

// IssuedToken is a token with what renews it.
type IssuedToken struct {
	Access  string `json:"access_token"`
	Refresh string `json:"refresh_token"`
	Expires int64  `json:"expires_in"` // seconds
}
