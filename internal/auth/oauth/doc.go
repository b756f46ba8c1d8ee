// Package oauth is the part of an authorization server that needs neither HTTP nor
// storage (RFC 6749, 7591, 7636, 8252, 8628): what a client registers, what it may ask
// for, and the texts of codes, access tokens and refresh tokens.
//
// A client's registration is its id: what it said of itself, signed. So nothing is
// stored of clients that anybody may register, and there is nothing to fill.
package oauth
