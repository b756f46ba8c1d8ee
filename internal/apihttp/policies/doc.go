// Package policies implements the operations on policies, their rules, conditions and due days.
package policies
