package main

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/redoubt/redoubt"
)

// dueFlags are days by what findings are, as critical=7.
type dueFlags map[string]int

// set puts the days into those of a policy; classes that are not named stay.
func (f dueFlags) set(into *redoubt.DueDays) error {
	for _, class := range slices.Sorted(maps.Keys(f)) {
		days := into.Class(class)
		if days == nil {
			return fmt.Errorf("--due %s=%d: the classes are %s", class, f[class], strings.Join(redoubt.DueClasses(), ", "))
		}
		*days = f[class]
	}
	return nil
}

// dueOf says the days of a policy, where it has any.
func dueOf(p redoubt.Policy) string {
	if p.Due == (redoubt.DueDays{}) {
		return ""
	}
	return "; due: " + p.Due.String()
}
