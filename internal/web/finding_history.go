package web

import (
	"context"
	"encoding/json"
	"slices"
	"strconv"
	"time"

	"github.com/redoubt/redoubt"
	"github.com/redoubt/redoubt/internal/store"
)

// moment is one line of what happened to a finding: every status names the
// scan or the person that set it.
type moment struct {
	At     time.Time
	Kind   string // a word to colour it by
	What   string
	By     string // a person or a token; empty for scans
	ScanID int64
	Note   string
}

// past reads the history of a finding, newest first.
func (v *visit) past(ctx context.Context, tx *store.Tx, d *findingDetail, o store.Occurrence) error {
	events, err := tx.History(ctx, o.ID)
	if err != nil {
		return err
	}
	trail, err := tx.TriageTrail(ctx, o.LineageID)
	if err != nil {
		return err
	}
	d.History = append(d.History, moment{At: o.CreatedAt, Kind: "new", What: "First seen on " + branch(o.Ref), ScanID: o.FirstScanID})
	for _, e := range events {
		d.History = append(d.History, scanMoment(e))
	}
	for _, e := range trail {
		d.History = append(d.History, triageMoment(e))
	}
	slices.SortStableFunc(d.History, func(a, b moment) int { return b.At.Compare(a.At) })
	return nil
}

var scanWords = map[redoubt.FindingEventKind]string{
	redoubt.EventFixed: "Fixed: a scan looked and no longer saw it", redoubt.EventReturned: "Came back", redoubt.EventRemoved: "Left the scope",
	redoubt.EventMoved: "Moved", redoubt.EventMuted: "Silenced in the code", redoubt.EventUnmuted: "No longer silenced in the code",
}

func scanMoment(e store.FindingHistory) moment {
	m := moment{At: e.At, Kind: string(e.Kind), What: scanWords[e.Kind], ScanID: e.ScanID}
	if m.What == "" {
		m.What = capital(string(e.Kind))
	}
	var detail struct {
		From, To, Reason string
		FromLine, ToLine int
	}
	if e.Detail != "" && json.Unmarshal([]byte(e.Detail), &detail) == nil {
		switch {
		case detail.From != "" && detail.To != "":
			m.Note = detail.From + " → " + detail.To
		case detail.From != "":
			m.Note = "from " + detail.From
		}
		if detail.Reason != "" {
			m.Note = detail.Reason
		}
	}
	return m
}

func triageMoment(e redoubt.TriageEvent) moment {
	m := moment{At: e.At, Kind: "triage", By: e.By.String(), Note: e.Note}
	if e.By.Name != "" {
		m.By = e.By.Name
	}
	switch {
	case e.Before.State == e.After.State && e.Before.Reason == e.After.Reason && e.Note != "":
		m.What = "Note"
	case e.After.State == redoubt.TriageUntriaged:
		m.What = "Decision taken back: untriaged again"
	default:
		m.What = "Set to " + e.After.State.String()
		if e.After.Reason != 0 {
			m.What += ", " + words(e.After.Reason.String())
		}
	}
	return m
}

func decimal(id int64) string { return strconv.FormatInt(id, 10) }
