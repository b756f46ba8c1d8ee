// Package read parses untrusted input for the readers of all formats. It cleans and limits strings,
// decodes JSON leniently, and defines errors with positions. It does not depend on formats or
// domain types.
package read
