// Package ingest computes and stores the changes of a report: identities, lineages, states of
// findings and inventories. It expects parsed reports and imports no format, SQL or HTTP code.
// Store declares the storage that it needs.
package ingest
