// Package component renders the parts that pages of several areas share: rows of findings,
// exceptions and scans, highlighted code and form choices.
package component
