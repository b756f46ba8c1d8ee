// Package mcp serves assistants over the Model Context Protocol, on standard input and output
// (redoubt mcp) or over HTTP (/mcp). It calls the Web API with its Go client and accesses no store
// or index, so a token has the same permissions as over HTTP. Untrusted text is sent between marks
// that it cannot contain, and every change needs two calls: a plan and its confirmation.
package mcp
