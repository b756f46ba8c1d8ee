// Package conformance holds the Web API to the contract, table by table, over
// HTTP: real servers on SQLite and PostgreSQL, filled through the import
// endpoint, asked through package api, every answer validated against
// api/openapi.json.
//
// Its border: nothing imports it, and it holds tests only. It may import every
// room to wire a server as the program does, but judges by what clients see;
// what a filter ought to keep is computed here by plain loops over all rows.
package conformance
