package apihttp

import (
	"slices"
	"sync"

	"github.com/redoubt/redoubt/internal/apihttp/core"
	"github.com/redoubt/redoubt/internal/apihttp/decisions"
	"github.com/redoubt/redoubt/internal/apihttp/dependencies"
	"github.com/redoubt/redoubt/internal/apihttp/findings"
	"github.com/redoubt/redoubt/internal/apihttp/managed"
	"github.com/redoubt/redoubt/internal/apihttp/notifications"
	"github.com/redoubt/redoubt/internal/apihttp/policies"
	"github.com/redoubt/redoubt/internal/apihttp/projects"
	"github.com/redoubt/redoubt/internal/apihttp/scans"
)

// Routes returns every operation of the Web API.
func Routes() []core.Route {
	return slices.Concat(
		projects.Routes(), findings.Routes(), dependencies.Routes(), scans.Routes(), policies.Routes(),
		decisions.Routes(), managed.Routes(),
		notifications.Routes(),
	)
}

// theSpec returns the spec, which depends on the table and the types only and is created once.
var theSpec = sync.OnceValue(func() *core.Spec {
	return core.NewSpec(core.Table{Routes: Routes(), Tags: tags, Paths: pathWords, Differences: differences})
})

// OpenAPI returns openapi.json: OpenAPI 3.1 of every operation. Callers must not change it.
func OpenAPI() ([]byte, error) { return theSpec().Published() }

// New returns a server. It opens no listener and starts no goroutine: serve Handler, and run
// Background.
func New(c core.Config) (*core.Server, error) { return core.New(c, theSpec()) }
