// Package api is the wire: the request and response of every operation of the
// Web API, a client for them, and openapi.json, which describes them.
//
// This package is what programs outside of this repository may import: like the
// API that it speaks, it gains members and operations and loses none without a
// new version. The module's other packages promise nothing of the kind.
//
// Its border: the standard library only, and no rule. What a member means is in
// its doc tag, once, for Go readers and for openapi.json alike; the enum,
// minimum, maximum and default tags beside it are what the server enforces.
// Members that requests may leave out are tagged omitempty; in answers every
// member is present unless tagged so.
package api
