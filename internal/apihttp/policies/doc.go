// Package policies has the operations on policies, their rules, conditions and days until findings are due.
package policies
