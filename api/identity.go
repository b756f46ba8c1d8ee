package api

import (
	"context"
	"net/http"
)

// Identity describes a token in the format of the hosted service.
type Identity struct {
	Identity     string `json:"identity" doc:"The token, its deployment, its user and, in brackets, its scopes: webapi, ci, read_only." example:"id=rdt_1a2b deployment_id=1 user_id=7 created_at=2024-05-28T06:38:54Z roles=(webapi)"`
	DeploymentID int64  `json:"deploymentId" doc:"Id of the deployment." example:"1"`
	UserID       int64  `json:"userId" doc:"Id of the user who created it; 0 if there is none." example:"7"`
}

// AuthorizationServer is the OAuth 2.0 authorization server metadata (RFC 8414).
type AuthorizationServer struct {
	Issuer                string `json:"issuer" format:"uri" doc:"URL of this server, as used by the client." example:"https://redoubt.example.com"`
	AuthorizationEndpoint string `json:"authorization_endpoint" format:"uri" doc:"URL of the page on which users approve access."`
	TokenEndpoint         string `json:"token_endpoint" format:"uri" doc:"URL for exchanging codes and refresh tokens for tokens."`
	RegistrationEndpoint  string `json:"registration_endpoint" format:"uri" doc:"URL for client registration (RFC 7591)."`
	DeviceEndpoint        string `json:"device_authorization_endpoint" format:"uri" doc:"URL for device authorization (RFC 8628)."`
	RevocationEndpoint    string `json:"revocation_endpoint" format:"uri" doc:"URL for token revocation (RFC 7009)."`
	IntrospectionEndpoint string `json:"introspection_endpoint" format:"uri" doc:"URL for token introspection (RFC 7662)."`
	KeySet                string `json:"jwks_uri" format:"uri" doc:"Public keys of access tokens."`

	Scopes                []string `json:"scopes_supported" doc:"Scopes that clients may request." example:"[\"read\"]"`
	ResponseTypes         []string `json:"response_types_supported" doc:"Only code." example:"[\"code\"]"`
	ResponseModes         []string `json:"response_modes_supported" doc:"Only query." example:"[\"query\"]"`
	Grants                []string `json:"grant_types_supported" doc:"Supported grant types." example:"[\"authorization_code\",\"refresh_token\"]"`
	ChallengeMethods      []string `json:"code_challenge_methods_supported" doc:"Only S256 (PKCE)." example:"[\"S256\"]"`
	TokenAuthMethods      []string `json:"token_endpoint_auth_methods_supported" doc:"none: clients have no secret." example:"[\"none\"]"`
	RevocationAuthMethods []string `json:"revocation_endpoint_auth_methods_supported" doc:"none: clients have no secret." example:"[\"none\"]"`
	IncludesIssuer        bool     `json:"authorization_response_iss_parameter_supported" doc:"Whether authorization responses include the issuer (RFC 9207)." example:"true"`
}

// GetIdentity returns the identity of the token in the format of the hosted service. Me returns
// more details.
func (c *Client) GetIdentity(ctx context.Context) (*Identity, error) {
	return answer[Identity](ctx, c, call{
		method: http.MethodGet,
		base:   "/api/agent",
		path:   "/identity",
		accept: "application/json",
	})
}

// GetAuthorizationServer returns the OAuth metadata of the server. It needs no token.
func (c *Client) GetAuthorizationServer(ctx context.Context) (*AuthorizationServer, error) {
	return answer[AuthorizationServer](ctx, c, call{
		method: http.MethodGet,
		base:   "/api/auth/oauth2",
		path:   "/.well-known/oauth-authorization-server",
	})
}
