// Package scans has the operations on scans, their snippets, and uploads of reports.
package scans
