// Package clienttest is for tests that run other people's clients against a
// server: it stands in for the hosted service whose address they have built in,
// and keeps the table of docs/guides/clients.md, in which each test tells what its
// client asked and what came of it.
package clienttest
