package command

import (
	"github.com/redoubt/redoubt/internal/advisory"
	versions "github.com/redoubt/redoubt/internal/version"
)

// AdvisoryOrders returns the version order of an ecosystem.
func AdvisoryOrders(ecosystem string) advisory.Order { return versions.OrderOf(ecosystem) }
