package apihttp

import "github.com/redoubt/redoubt/internal/apihttp/core"

// Types of package core that callers need.
type (
	// Config is the configuration of a server.
	Config = core.Config
	// Limits limits the requests of clients.
	Limits = core.Limits
	// Server serves the Web API.
	Server = core.Server
	// Route is one operation.
	Route = core.Route
)
