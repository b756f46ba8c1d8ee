package store_test

import (
	"github.com/redoubt/redoubt/internal/advisory"
	"github.com/redoubt/redoubt/internal/exceptions"
	"github.com/redoubt/redoubt/internal/index"
	"github.com/redoubt/redoubt/internal/ingest"
	"github.com/redoubt/redoubt/internal/store"
	"github.com/redoubt/redoubt/internal/triage"
)

// Tx must implement the interfaces of the packages that use it.
var (
	_ ingest.Store     = (*store.Tx)(nil)
	_ advisory.Store   = (*store.Tx)(nil)
	_ triage.Store     = (*store.Tx)(nil)
	_ exceptions.Store = (*store.Tx)(nil)
	_ index.Source     = (*store.Store)(nil)
)
