// Package core is what the operations of the Web API have in common: a Server with its routes, the Call of a
// request, the handlers that read, change or stream, and the making of openapi.json. Every request takes the
// same steps: authenticate, authorize, decode, validate, transaction, encode, log. It knows HTTP and the library
// that decodes and validates, and no subject.
package core
