package server

import "github.com/redoubt/redoubt/internal/httpx"

// Beginnings of paths. Each accepts the id and the slug of the deployment.
const (
	byID   = "/api/v1/deployments/{deploymentId}"
	bySlug = "/api/v1/deployments/{deploymentSlug}"
)

// Route is one operation: a row of the table.
type Route struct {
	httpx.Route // Pattern is also the path template of openapi.json
	ID          string
	Tag         string
	handler     handler
	words       routeDoc
}

// op is a row of the table.
func op(route httpx.Route, id, tag string, h handler) Route {
	return Route{Route: route, ID: id, Tag: tag, handler: h}
}

// describe adds to operations what openapi.json says of them. It panics if an operation has no text, or a text no
// operation.
func describe(words map[string]routeDoc, routes []Route) []Route {
	for i := range routes {
		text, ok := words[routes[i].ID]
		if !ok || len(words) != len(routes) {
			panic("operations and their texts differ, at " + routes[i].ID)
		}
		routes[i].words = text
	}
	return routes
}
