// Package secrets removes credentials from reports. The files of an upload share a Redactor: a secret that one of
// them names is removed from all.
package secrets
