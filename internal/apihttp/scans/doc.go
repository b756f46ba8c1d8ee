// Package scans implements the operations on scans, their snippets, and uploads of reports.
package scans
