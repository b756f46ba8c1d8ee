// Package ci knows the systems that build: what they tell of the repository, ref
// and commit under test, and how they want to be told what was found.
//
// Its border: the variables of an environment and what git says go in, a Context
// comes out; an Outcome goes in, text comes out. It reads no file, asks no
// server and starts nothing.
package ci
