// Package redoubt holds the nouns of the platform: deployment, token, project,
// scan, rule, finding, policy, dependency, report, and the words they are
// classified with.
//
// A noun has its members, how its words are spelled and read, and what is wrong
// with one (Check). Machines that work on nouns are in the rooms of internal/
// that need them.
//
// What others may build on is package api: the requests and answers of the Web
// API and a client for them, kept as the API itself is. This package is open to
// read and not to build on: its names change with the inside, without notice.
//
// It is the inside of every other package and knows none of them. It imports
// the standard library only and holds no SQL, no HTTP and no clock. What the
// nouns mean is decided in the contract and in the decisions that fill its
// gaps; doc comments name the section, as in "semantics §5".
package model
