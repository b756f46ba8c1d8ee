// Package format is what the readers of all formats share: the options and limits of a file, its input as a stream of
// tokens, errors with a place and advice, paths of the repository, severities, and code of findings.
package format
