// Package oauth implements the parts of an authorization server that need neither HTTP nor storage.
// These are client registrations, requests, codes and tokens (RFC 6749, 7591, 7636, 8252, 8628).
// The id of a client is its signed registration, so that public registration needs no storage.
package oauth
