// Package policy determines which rules scanners receive and which findings fail a build
// (docs/reference/policies.md). It contains no HTTP code and, except for changes of policies, does
// not write. EffectivePolicy combines the policies of a project, Evaluate applies them to findings,
// and Preview compares two sets of policies.
package policy
