// Package index serves lists, counts, filters, deduplication and bulk selection of findings from
// memory. It is derived from the store and can be rebuilt at any time. It contains neither SQL nor
// HTTP code.
package index
