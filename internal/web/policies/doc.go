// Package policies serves the pages about policies: their rules and modes, conditions, settings and
// due dates.
package policies
