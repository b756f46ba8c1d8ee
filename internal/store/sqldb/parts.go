package sqldb

import (
	"context"
)

// Hook is work of a subject at the end of each writing Update, before the commit.
type Hook struct {
	Name string // describes the work in errors
	Run  func(context.Context, *Tx) error
}

// Local returns the value of type T that belongs to the transaction, initially zero. Subjects
// collect the input of their Hook in it.
func Local[T any](tx *Tx) *T { return part[T](&tx.parts) }

// Shared returns the value of type T that all transactions of the database in this process share,
// initially zero. It is used for caches.
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
