package oauth

import (
	"encoding/json"
	"errors"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/redoubt/redoubt/internal/auth"
	core "github.com/redoubt/redoubt/internal/auth/oauth"
	"github.com/redoubt/redoubt/internal/httpx"
	"github.com/redoubt/redoubt/internal/model"
	"github.com/redoubt/redoubt/internal/store"
)

// Addresses of the authorization server.
const (
	below         = "/api/auth/oauth2"
	metadata      = "/.well-known/oauth-authorization-server"
	resourcePath  = "/.well-known/oauth-protected-resource"
	AuthorizePath = "/orgs/-/authorize" // a page
	DevicePath    = "/device"           // a page
)

// Rate limits by network. Clients send few requests, but an address may have many clients.
const (
	perSecond = 5
	atOnce    = 60
)

// maxBody limits the bytes of a request body.
const maxBody = 64 << 10

// Config is the configuration of the authorization server.
type Config struct {
	Store *store.Store
	// Keys sign registrations and tokens.
	Keys  core.Keys
	Clock func() time.Time
}

// Server serves OAuth clients.
type Server struct {
	Config
	limiter *auth.Limiter // by network
	polls   *auth.Limiter // by device code
}

// New returns an authorization server.
func New(c Config) *Server {
	return &Server{c, auth.NewLimiter(perSecond, atOnce, c.Clock), auth.NewLimiter(pollsPerSecond, pollsAtOnce, c.Clock)}
}

// Routes returns the route table. Token requests carry a code or a refresh token instead of an
// access token.
func (s *Server) Routes() []httpx.Mounted {
	anyone := func(method, pattern string, handle func(http.ResponseWriter, *http.Request) error) httpx.Mounted {
		return httpx.Mounted{
			Route: httpx.Row(method, pattern, httpx.Anyone, model.RoleNone, httpx.Reads, httpx.Unbound),
			Handle: func(w http.ResponseWriter, r *http.Request, _ auth.Caller) error {
				if g := s.limiter.Allow(model.Network(httpx.OriginOf(r).Address)); !g.OK {
					return httpx.Busy(g, "Too many requests from this address.")
				}
				return handle(w, r)
			},
		}
	}
	return []httpx.Mounted{
		anyone(http.MethodGet, metadata, s.describe),
		anyone(http.MethodGet, below+metadata, s.describe),
		anyone(http.MethodGet, resourcePath, s.describeResource("")),
		anyone(http.MethodGet, resourcePath+core.AssistantPath, s.describeResource(core.AssistantPath)),
		anyone(http.MethodGet, below+"/jwks", s.keySet),
		anyone(http.MethodPost, below+"/register", s.register),
		anyone(http.MethodPost, below+"/device_authorization", s.authorizeDevice),
		anyone(http.MethodPost, below+"/token", s.token),
		anyone(http.MethodPost, below+"/revoke", s.revoke),
		{
			Route:  httpx.Row(http.MethodPost, below+"/introspect", httpx.Upload, model.RoleViewer, httpx.Reads, httpx.Unbound),
			Handle: s.introspect,
		},
	}
}

// Challenge returns the WWW-Authenticate header for requests without a valid token.
func Challenge(r *http.Request) string {
	return `Bearer realm="redoubt", resource_metadata="` + httpx.OriginOf(r).Base + resourcePath + core.AssistantPath + `"`
}

// describe serves the metadata of the authorization server (RFC 8414).
func (s *Server) describe(w http.ResponseWriter, r *http.Request) error {
	base := httpx.OriginOf(r).Base
	return reply(w, http.StatusOK, map[string]any{
		"issuer": base, "authorization_endpoint": base + AuthorizePath,
		"token_endpoint": base + below + "/token", "registration_endpoint": base + below + "/register",
		"device_authorization_endpoint": base + below + "/device_authorization",
		"revocation_endpoint":           base + below + "/revoke",
		"introspection_endpoint":        base + below + "/introspect", "jwks_uri": base + below + "/jwks",
		"scopes_supported": core.Scopes(), "response_types_supported": []string{"code"},
		"response_modes_supported":                       []string{"query"},
		"grant_types_supported":                          []string{"authorization_code", "refresh_token", core.DeviceGrant},
		"code_challenge_methods_supported":               []string{"S256"},
		"token_endpoint_auth_methods_supported":          []string{"none"},
		"revocation_endpoint_auth_methods_supported":     []string{"none"},
		"authorization_response_iss_parameter_supported": true,
	})
}

// describeResource returns a handler for the metadata of a resource (RFC 9728): the server, or a
// path of it.
func (s *Server) describeResource(path string) func(http.ResponseWriter, *http.Request) error {
	return func(w http.ResponseWriter, r *http.Request) error {
		base := httpx.OriginOf(r).Base
		return reply(w, http.StatusOK, map[string]any{
			"resource": base + path, "authorization_servers": []string{base},
			"scopes_supported": core.Scopes(), "bearer_methods_supported": []string{"header"},
			"resource_name": "Redoubt",
		})
	}
}

// keySet serves the public keys of access tokens.
func (s *Server) keySet(w http.ResponseWriter, _ *http.Request) error {
	return reply(w, http.StatusOK, s.Keys.KeySet())
}

// registration is the metadata of a client; unknown members are ignored.
type registration struct {
	Name       string   `json:"client_name"`
	Redirects  []string `json:"redirect_uris"`
	AuthMethod string   `json:"token_endpoint_auth_method"`
	Grants     []string `json:"grant_types"`
	Responses  []string `json:"response_types"`
}

// register encodes the metadata of a client into its client id. Nothing is stored.
func (s *Server) register(w http.ResponseWriter, r *http.Request) error {
	var in registration
	if err := json.NewDecoder(http.MaxBytesReader(w, r.Body, maxBody)).Decode(&in); err != nil {
		return refuse(w, &core.Error{Code: "invalid_client_metadata", Text: "the body is not JSON as in RFC 7591"})
	}
	device := slices.Contains(in.Grants, core.DeviceGrant)
	if len(in.Responses) > 0 && !slices.Contains(in.Responses, "code") {
		return refuse(w, &core.Error{Code: "invalid_client_metadata", Text: "response_types must include code"})
	}
	c, err := s.Keys.Register(model.Line(in.Name), in.Redirects, device, s.Clock())
	var redirect *core.RedirectError
	switch {
	case errors.As(err, &redirect):
		return refuse(w, &core.Error{Code: "invalid_redirect_uri", Text: err.Error()})
	case err != nil:
		return refuse(w, &core.Error{Code: "invalid_client_metadata", Text: err.Error()})
	}
	out := map[string]any{
		"client_id": c.ID, "client_id_issued_at": c.Issued.Unix(), "client_name": c.Name,
		"token_endpoint_auth_method": "none", "scope": strings.Join(core.Scopes(), " "),
	}
	grants := []string{"refresh_token"}
	if len(c.Redirects) > 0 {
		grants = append(grants, "authorization_code")
		out["redirect_uris"], out["response_types"] = c.Redirects, []string{"code"}
	}
	if c.Device {
		grants = append(grants, core.DeviceGrant)
	}
	out["grant_types"] = grants
	return reply(w, http.StatusCreated, out)
}

// reply writes JSON that must not be cached.
func reply(w http.ResponseWriter, status int, v any) error {
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Cache-Control", "no-store")
	w.WriteHeader(status)
	return json.NewEncoder(w).Encode(v)
}

// refuse writes an error response as defined in RFC 6749 §5.2.
func refuse(w http.ResponseWriter, e *core.Error) error {
	return reply(w, http.StatusBadRequest, map[string]string{"error": e.Code, "error_description": e.Text})
}
