// Package semgrep reads the JSON of semgrep and of opengrep, and what semgrep ci sends. It computes the identities that
// semgrep gives its findings.
package semgrep
