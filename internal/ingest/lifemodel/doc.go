// Package lifemodel is semantics §4 and §5 said once more, for one project, as
// slowly and plainly as possible: identities are strings, everything is
// searched for. Tests drive it beside the real thing.
//
// It knows the nouns, and neither the code that it judges nor any store.
package lifemodel
