package server

import (
	"slices"
	"sync"
)

// Routes returns every operation of the Web API.
func Routes() []Route {
	return slices.Concat(
		projectsTable(), findingsTable(), dependenciesTable(), scansTable(), policiesTable(), decisionsTable(), managedTable(),
		notificationsTable(),
	)
}

// theSpec is made once, since it depends on the table and the types alone.
var theSpec = sync.OnceValue(func() *spec {
	return newSpec(table{routes: Routes(), tags: tags, paths: pathWords, differences: differences()})
})

// OpenAPI returns openapi.json: OpenAPI 3.1 of every operation. Callers may not change it.
func OpenAPI() ([]byte, error) { return theSpec().published() }

// New makes a server. It opens no listener and starts nothing: serve Handler, and run Background beside it.
func New(c Config) (*Server, error) { return newServer(c, theSpec()) }
