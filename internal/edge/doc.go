// Package edge is what the rooms that speak HTTP share: where a request came
// from, which token it carries, whether that token may do what is asked, how
// much a client may send and how often. Each fact has one place here, so that
// the Web API, the protocol of scanners and the pages cannot differ about it.
//
// Its border: requests and the facts about them. It answers no request and knows
// no route; what an operation does, and how its errors look, is the business of
// the room whose table it stands in. That a table is whole, Route.Faults says.
package edge
