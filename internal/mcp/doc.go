// Package mcp lets assistants ask and act over the Model Context Protocol: tools,
// resources and prompts, over standard input and output (redoubt mcp) or as an
// operation of the server (/mcp).
//
// Its border: the protocol on one side, the Go client of the Web API on the
// other. It reads no store and no index, so whatever a token may not do over
// HTTP it may not do here, and it decides nothing of its own.
//
// What scanners, repositories and advisories wrote is data that a stranger may
// have chosen. It leaves here between marks that it cannot contain (fence.go).
// What changes anything takes two calls (change.go): one tells what would change,
// the other does exactly that, or nothing.
package mcp
