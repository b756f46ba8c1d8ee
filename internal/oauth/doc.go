// Package oauth answers OAuth clients, such as assistants: what there is
// (RFC 8414, RFC 9728), registering (RFC 7591), and codes for tokens (RFC 6749, those
// of the device flow by RFC 8628), which can be renewed, revoked (RFC 7009) and asked about (RFC 7662). The server
// mounts it.
//
// Its border: HTTP on one side; internal/auth/oauth knows what is right, the store
// keeps what people approved. Whom a person lets in is asked on a page of web.
package oauth
