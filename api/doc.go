// Package api contains the request and response types of the Web API and a client for it. The file
// openapi.json describes the API. The package imports only the standard library, and other programs
// may import it.
//
// Within an API version, such as /api/v1, operations and JSON members may be added, but are not
// removed.
//
// The server validates requests by the struct tags, such as enum, minimum, maxLength and pattern,
// and applies the values of default. A JSON member is optional in requests, and may be absent from
// responses, only if it is tagged omitempty, omitzero or required:"false".
package api
