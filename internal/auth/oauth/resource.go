package oauth

import "strings"

// AssistantPath is the path of the operation for assistants. It is a separate resource.
const AssistantPath = "/mcp"

// errResource rejects a resource of another server.
var errResource = &Error{
	"invalid_target",
	"resource must be the address of this server, or that address with " + AssistantPath,
}

// Resource returns the canonical address of a resource of the server (RFC 8707). It is the whole
// server, which is the default, or AssistantPath. Others return an *Error.
func Resource(named, base string) (string, error) {
	trimmed := strings.TrimSuffix(named, "/")
	for _, own := range []string{base, base + AssistantPath} {
		if named == "" || strings.EqualFold(trimmed, own) {
			return own, nil
		}
	}
	return "", errResource
}

// Opens reports whether an access token for a resource is valid at a path of the server.
func Opens(resource, base, path string) bool {
	return resource == base || resource == base+AssistantPath && path == AssistantPath
}
