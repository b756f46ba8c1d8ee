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

// maxAnswer is the maximum size of an authorization server's response in bytes.
const maxAnswer = 1 << 20

// AuthServer is the authorization server at the address that the user specified. Responses cannot
// redirect secrets to other addresses.
type AuthServer string

// AuthError is an error response of RFC 6749.
type AuthError struct {
	Code string `json:"error"`
	Text string `json:"error_description"`
}

// Error returns the description and the code.
func (e *AuthError) Error() string { return e.Text + " (" + e.Code + ")" }

// AuthStatusError is an error response that does not follow RFC 6749.
type AuthStatusError struct{ Status int }

// Error returns the text of the status.
func (e *AuthStatusError) Error() string { return "the server returned " + http.StatusText(e.Status) }

// authHTTP does not follow redirects, as requests contain secrets.
var authHTTP = &http.Client{
	Timeout: 30 * time.Second, CheckRedirect: func(*http.Request, []*http.Request) error {
		return http.ErrUseLastResponse
	},
}

// Post sends body as a form if it is url.Values and as JSON otherwise. It decodes the response into
// out.
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

// IssuedToken is an access token with its refresh token.
type IssuedToken struct {
	Access  string `json:"access_token"`
	Refresh string `json:"refresh_token"`
	Expires int64  `json:"expires_in"` // seconds
}
