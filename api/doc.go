// Package api defines the requests and responses of the Web API, a client for it, and openapi.json,
// which describes it. It is the only package of this module for other programs: within a version,
// members and operations are added but never removed.
//
// This package imports the standard library only. The doc tag of a member is its documentation for
// Go and for openapi.json; the server enforces the enum, minimum, maximum and default tags.
// Optional members of requests are tagged omitempty. Members of responses are always present unless
// they are tagged so.
package api
