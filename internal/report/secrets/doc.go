// Package secrets removes credentials from reports. The files of an upload share a Redactor, so
// that a secret in one of them is removed from all.
package secrets
