package core

import "github.com/redoubt/redoubt/internal/httpx"

// Beginnings of paths. Each accepts the id and the slug of the deployment.
const (
	ByID   = "/api/v1/deployments/{deploymentId}"
	BySlug = "/api/v1/deployments/{deploymentSlug}"
)

// Route is one operation: a row of the table.
type Route struct {
	httpx.Route // Pattern is also the path template of openapi.json
	ID          string
	Tag         string
	handler     Handler
	words       RouteDoc
}

// Op is a row of the table.
func Op(route httpx.Route, id, tag string, h Handler) Route {
	return Route{Route: route, ID: id, Tag: tag, handler: h}
}

// Describe adds to operations what openapi.json says of them. It panics if an operation has no text, or a text no
// operation.
func Describe(words map[string]RouteDoc, routes []Route) []Route {
	for i := range routes {
		text, ok := words[routes[i].ID]
		if !ok || len(words) != len(routes) {
			panic("operations and their texts differ, at " + routes[i].ID)
		}
		routes[i].words = text
	}
	return routes
}
