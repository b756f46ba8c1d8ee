package main

import (
	"github.com/redoubt/redoubt/internal/advisory"
	versions "github.com/redoubt/redoubt/internal/version"
)

// orders are those of the house's versions.
func orders(ecosystem string) advisory.Order { return versions.OrderOf(ecosystem) }
