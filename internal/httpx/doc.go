// Package httpx implements the parts of request handling that all handlers share: the origin of a
// request, its token, the rows of route tables, and the limits of uploads. The Web API, the
// protocol of scanners and the pages use it. It handles no request and contains no route.
package httpx
