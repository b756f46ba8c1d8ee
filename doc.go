// Package redoubt holds the nouns of the platform: deployment, token, project,
// scan, rule, finding, policy, dependency, report, and the words they are
// classified with.
//
// It is the inside of every other package and knows none of them. It imports
// the standard library only and holds no SQL, no HTTP and no clock. What the
// nouns mean is decided in the contract and in the decisions that fill its
// gaps; doc comments name the section, as in "semantics §5".
package redoubt
