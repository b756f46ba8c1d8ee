// Package conformance tests the Web API over HTTP, on SQLite and PostgreSQL. The tests import
// reports, send requests with package api, and validate every response against api/openapi.json.
// The expected results of filters are computed with plain loops over all rows.
package conformance
