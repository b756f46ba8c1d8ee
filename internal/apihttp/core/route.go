package core

import "github.com/redoubt/redoubt/internal/httpx"

// Prefixes of paths. Both accept the id and the slug of the deployment.
const (
	ByID   = "/api/v1/deployments/{deploymentId}"
	BySlug = "/api/v1/deployments/{deploymentSlug}"
)

// Route is one operation of the table.
type Route struct {
	httpx.Route // Pattern is also the path template of openapi.json
	ID          string
	Tag         string
	handler     Handler
	words       RouteDoc
}

// Op returns a route for the table.
func Op(route httpx.Route, id, tag string, h Handler) Route {
	return Route{Route: route, ID: id, Tag: tag, handler: h}
}

// Describe adds the texts of openapi.json to routes. It panics if a route has no text or a text has
// no route.
func Describe(words map[string]RouteDoc, routes []Route) []Route {
	for i := range routes {
		text, ok := words[routes[i].ID]
		if !ok || len(words) != len(routes) {
			panic("operations and their texts differ at " + routes[i].ID)
		}
		routes[i].words = text
	}
	return routes
}
