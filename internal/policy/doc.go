// Package policy decides what scanners are served and when a build fails: the
// rules a policy takes in, the document made of them, the gate (docs/reference/policies.md).
//
// Its border: decisions on the nouns, pure but for the change of a policy, which
// works on the storage that it declares (change.go). HTTP and the scanner itself
// are elsewhere; so is what a rule's metadata means to findings (report).
//
// EffectivePolicy says what holds for a project. Evaluate says which of a scan's findings fail
// a build, for the gate, for a re-run and for previews: Preview compares two outcomes.
package policy
