// Package ingest turns a report and what is stored into changes: identity,
// lineage, life of findings, inventory, idempotency (docs/explanation).
//
// It decides and knows no format, no SQL and no HTTP: reports come read, and
// the storage that it needs is declared here.
package ingest
