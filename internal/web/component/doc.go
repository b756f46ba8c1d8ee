// Package component has what pages of several areas show: rows of findings, exceptions and scans, code with its
// highlighting, and choices of forms.
package component
