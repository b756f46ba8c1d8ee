// Package server is the Web API over HTTP.
//
// routes.go is the table of all operations. endpoint.go takes every request
// through the same steps: who calls, may they, decode, validate, transaction,
// encode, log. A file per noun holds the handlers, which turn requests into
// questions to the index and the store, and answers into package api.
//
// Its border: HTTP, and the library that decodes, validates and describes it,
// end here. No SQL, no rule of what findings mean: those are asked for.
package apihttp
