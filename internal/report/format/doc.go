// Package format contains the shared code of all readers: options and limits, token streams, errors
// with positions, repository paths, severities, and code of findings.
package format
