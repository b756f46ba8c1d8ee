// Package clienttest supports tests that run third-party clients against a server. It emulates the
// hosted service whose address they contain, and maintains the table of clients in
// docs/guides/clients.md.
package clienttest
