package apihttp

import "github.com/redoubt/redoubt/internal/apihttp/core"

// The types of package core that a caller needs.
type (
	// Config is what a server consists of.
	Config = core.Config
	// Limits bounds requests.
	Limits = core.Limits
	// Server answers the Web API.
	Server = core.Server
	// Route is one operation.
	Route = core.Route
)
