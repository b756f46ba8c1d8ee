// Package policy decides what scanners are served and when a build fails: the
// rules a policy takes in, the document made of them, the gate (semantics §10).
//
// Its border: decisions on the nouns, pure but for the change of a policy, which
// works on the storage that it declares (change.go). HTTP and the scanner itself
// are elsewhere; so is what a rule's metadata means to findings (report).
//
// What holds for a project is decided in one place, EffectivePolicy; which of its
// findings fail a build in another, EffectivePolicy.Gate, whose conditions stand
// in counts.
package policy
