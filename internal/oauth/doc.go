// Package oauth serves OAuth clients: metadata (RFC 8414, 9728), registration (RFC 7591), tokens
// (RFC 6749, 8628), revocation (RFC 7009) and introspection (RFC 7662). The rules are in
// internal/auth/oauth, the approved grants in the store, and the approval page in internal/web.
package oauth
