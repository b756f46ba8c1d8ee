// Package core is the common part of the operations of the Web API: server, routes, request
// handling and the generation of openapi.json. Every request is authenticated, authorized, decoded,
// validated, run in a transaction, encoded and logged. The package depends on HTTP and the library
// for decoding and validation, and on no single operation.
package core
