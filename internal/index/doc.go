// Package index answers every list, count, filter, dedup and bulk selection of
// findings from memory. It is derived: the store is
// the truth and the index is rebuilt from it at any time.
//
// It holds no SQL and no HTTP; filters exist here and nowhere else.
package index
