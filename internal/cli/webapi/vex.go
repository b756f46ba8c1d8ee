package webapi

import (
	"fmt"

	"github.com/redoubt/redoubt/api"
	"github.com/redoubt/redoubt/internal/model"
)

// DescribeVEX describes the result of importing a document.
func DescribeVEX(d api.ImportVEX) string {
	name := d.Format + " " + d.Name
	switch model.VEXOutcome(d.Outcome) {
	case model.VEXSame:
		return name + " is unchanged"
	case model.VEXOlder:
		return name + " is older than the stored version: no changes"
	case model.VEXProposed:
		return fmt.Sprintf("%s is proposed as %s, %s, and applies after approval",
			name, d.ID, Statements(d.Statements))
	case model.VEXRefused:
		return name + " contains only previously refused statements: not stored"
	case model.VEXDropped:
		return name + " was replaced by later proposals of the same upload: not stored"
	case model.VEXWithdrawn:
		return fmt.Sprintf("%s was withdrawn; %s", name, Decided(d.Triaged))
	}
	return fmt.Sprintf("%s is stored as %s, %s; %s", name, d.ID, Statements(d.Statements), Decided(d.Triaged))
}

// Decided describes how many findings an exception changed.
func Decided(n int) string {
	if n == 1 {
		return "the triage of 1 finding changed"
	}
	return fmt.Sprintf("the triage of %d findings changed", n)
}

// Statements counts the statements of a document.
func Statements(n int) string {
	if n == 1 {
		return "1 statement"
	}
	return fmt.Sprintf("%d statements", n)
}
