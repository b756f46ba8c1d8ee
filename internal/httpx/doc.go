// Package httpx implements the shared parts of request handling: origin, tokens, rows of route
// tables and limits of uploads. The Web API, the protocol of scanners and the pages use it. It
// handles no request and contains no route.
package httpx
