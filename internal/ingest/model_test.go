package ingest

import (
	"github.com/redoubt/redoubt"
	"github.com/redoubt/redoubt/internal/ingest/lifetest"
)

// modelUpload is an upload as the model takes it.
func modelUpload(u Upload) lifetest.Upload {
	out := lifetest.Upload{
		Ref: u.Ref, Commit: u.Commit, Category: u.Category, Full: u.Full, DeclaredFull: u.DeclaredFull,
		OutOfPolicy: u.OutOfPolicy, Report: u.Report,
	}
	if u.Begun != nil {
		out.Begun = u.Begun.StartedAt
	}
	return out
}

// modelLineage is a lineage in the model of what follows the inventory.
type modelLineage struct {
	born   int
	triage redoubt.TriageState
	human  bool
	from   int // the lineage, by birth, that the triage was made on
}

func modelWeight(l *modelLineage) int {
	switch {
	case l.triage == redoubt.TriageUntriaged:
		return 0
	case l.human:
		return 2
	}
	return 1
}
