// Package apihttp is the Web API over HTTP. It combines the operations of its subpackages, one per
// subject, into one table and creates a server from them. The golden file api/routes.golden lists
// every operation.
package apihttp
