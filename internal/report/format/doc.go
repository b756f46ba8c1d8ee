// Package format contains the shared code of all readers. It defines options and limits, token
// streams, errors with positions, repository paths, severities, and code of findings.
package format
