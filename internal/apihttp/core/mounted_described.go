package core

import (
	"net/http"
	"reflect"
	"strconv"

	"github.com/danielgtaylor/huma/v2"

	"github.com/redoubt/redoubt/api"
)

// describeMounted documents operations in openapi.json that other packages serve, and that clients
// of the Web API use. Those packages decode their requests themselves.
func (s *Spec) describeMounted() {
	identity := &huma.Operation{
		OperationID: "getIdentity", Method: http.MethodGet, Path: "/api/agent/identity", Tags: []string{"deployments"},
		Summary: "Get the identity of the token",
		Description: "Identity of the token: as JSON if Accept requests it, else as plain text. " +
			"`getMe` returns more. " +
			"Scope: `ci` or `web_api`.",
		Security: []map[string][]string{{"token": {}}},
		Responses: s.mountedResponses(reflect.TypeFor[api.Identity](), http.StatusUnauthorized, http.StatusForbidden,
			http.StatusTooManyRequests,
			http.StatusInternalServerError, http.StatusServiceUnavailable),
	}
	identity.Responses["200"].Content["text/plain"] = &huma.MediaType{Schema: &huma.Schema{Type: huma.TypeString}}
	refer(identity.Responses["200"], rates...)
	s.api.OpenAPI().AddOperation(identity)

	s.api.OpenAPI().AddOperation(&huma.Operation{
		OperationID: "getAuthorizationServer", Method: http.MethodGet,
		Path: "/api/auth/oauth2/.well-known/oauth-authorization-server", Tags: []string{"deployments"},
		Summary: "Get the OAuth server metadata",
		Description: "Metadata for OAuth clients, with the addresses for registration and tokens (RFC 8414). Also " +
			"available at `/.well-known/oauth-authorization-server`. Needs no token.",
		Extensions: map[string]any{"security": []any{}}, // no authentication; the library omits an empty list
		Responses: s.mountedResponses(reflect.TypeFor[api.AuthorizationServer](), http.StatusTooManyRequests,
			http.StatusInternalServerError, http.StatusServiceUnavailable),
	})
}

// mountedResponses returns a 200 response with the schema of a type, and the error responses with
// the given statuses.
func (s *Spec) mountedResponses(body reflect.Type, failures ...int) map[string]*huma.Response {
	schema := s.api.OpenAPI().Components.Schemas.Schema(body, true, "")
	out := map[string]*huma.Response{
		"200": {Description: "OK", Content: map[string]*huma.MediaType{"application/json": {Schema: schema}}},
	}
	for _, status := range failures {
		out[strconv.Itoa(status)] = failing(status)
	}
	return out
}
