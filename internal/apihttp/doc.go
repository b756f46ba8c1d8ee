// Package apihttp is the Web API over HTTP. It joins the operations of the packages below it, one per subject,
// into one table, and makes a server of them. The golden file api/routes.golden lists every operation.
package apihttp
