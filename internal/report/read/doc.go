// Package read parses untrusted input for the readers of all formats: cleaned and limited strings,
// lenient JSON types, and errors with positions. It does not depend on formats or domain types.
package read
