// Package lifetest is semantics §4 and §5 said once more, for one project, as
// slowly and plainly as possible: identities are strings, everything is
// searched for. Tests of ingest and agent
// drive it beside the real thing and compare.
//
// It is an oracle for tests, and only tests import it, which the house test holds.
// It knows the nouns, and neither the code that it judges nor any store.
package lifetest
