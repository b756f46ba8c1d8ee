// Package semgrep reads the JSON of semgrep and opengrep, and the uploads of `semgrep ci`. It
// computes the identities that semgrep assigns to its findings.
package semgrep
