// Package policies has the pages about policies: their rules and modes, conditions, settings and due days.
package policies
