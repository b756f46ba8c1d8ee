// Package httpx holds the facts about requests that all handlers share: the origin of a request,
// its token, the rows of route tables, and the limits of uploads. The Web API, the protocol of
// scanners and the pages use the same code for each of them. It handles no request and knows no route.
package httpx
