// Package api defines the requests and responses of the Web API, a client for it, and openapi.json,
// with the standard library only. Other programs may import it: within a version, members and
// operations are added but never removed. The server enforces the tags enum, minimum, maximum and
// default; only members tagged omitempty may be absent.
package api
