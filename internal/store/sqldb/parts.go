package sqldb

import (
	"context"
)

// Hook is what a subject does at the end of each Update that wrote, before its commit.
type Hook struct {
	Name string // what the work is, in errors
	Run  func(context.Context, *Tx) error
}

// Local returns the value of a type that belongs to the transaction. It is zero at its first use.
// A subject gathers here what its Hook writes.
func Local[T any](tx *Tx) *T { return part[T](&tx.parts) }

// Shared returns the value of a type that all transactions of the database share in this process,
// as a cache. It is zero at its first use.
func Shared[T any](tx *Tx) *T {
	e := tx.Session.engine
	e.partsMu.Lock()
	defer e.partsMu.Unlock()
	return part[T](&e.parts)
}

func part[T any](parts *[]any) *T {
	for _, p := range *parts {
		if v, ok := p.(*T); ok {
			return v
		}
	}
	v := new(T)
	*parts = append(*parts, v)
	return v
}
