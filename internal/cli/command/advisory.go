package command

import (
	"github.com/redoubt/redoubt/internal/advisory"
	versions "github.com/redoubt/redoubt/internal/version"
)

// AdvisoryOrders are those of the house's versions.
func AdvisoryOrders(ecosystem string) advisory.Order { return versions.OrderOf(ecosystem) }
