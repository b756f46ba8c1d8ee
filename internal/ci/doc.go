// Package ci detects the repository, ref and commit under test in CI systems, and formats results
// for them. It maps environment variables and Git data to a Context, and an Outcome to text. It
// performs no I/O.
package ci
