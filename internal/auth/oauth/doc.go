// Package oauth implements the parts of an authorization server that need neither HTTP nor storage
// (RFC 6749, 7591, 7636, 8252, 8628). These are client registrations, requests, codes, access
// tokens and refresh tokens. The id of a client is its signed registration, so that public
// registration needs no storage.
package oauth
