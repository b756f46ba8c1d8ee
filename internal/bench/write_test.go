package bench

import (
	"database/sql"
	"encoding/json"
	"fmt"
	"testing"
	"time"

	"github.com/redoubt/redoubt/api"
	"github.com/redoubt/redoubt/internal/index"
	"github.com/redoubt/redoubt/internal/model"
)

// benchTriage triages the same 3,000 filtered findings alternately to two states. The baseline is
// updating as many rows by id in one transaction. Another one also inserts as many rows for the
// triage events and for the feed of changes.
func benchTriage(b *testing.B, w *world) {
	w.client.discard(w.triageRequest(`{"issue_type":"sast","status":["open"],"new_triage_state":"reviewing"}`))
	request := func(state string) []byte {
		return w.triageRequest(fmt.Sprintf(`{"issue_type":"sast","status":["reviewing","fixing"],"new_triage_state":%q}`, state))
	}
	turns := [][]byte{request("fixing"), request("reviewing")}
	var answer api.TriageResponse
	w.check(json.Unmarshal(w.client.body(turns[1]), &answer))
	if answer.NumTriaged < model.MaxTriage {
		b.Fatalf("%d findings decided on", answer.NumTriaged)
	}
	r := w.raw()
	ids := r.rows(`SELECT DISTINCT lineage_id FROM finding WHERE deployment_id = ? ORDER BY id DESC LIMIT ?`, w.deployment.ID, model.MaxTriage)
	trail := r.rows(`SELECT * FROM triage_event WHERE deployment_id = ? ORDER BY id DESC LIMIT ?`, w.deployment.ID, model.MaxTriage)
	feed := r.rows(`SELECT * FROM change WHERE deployment_id = ? ORDER BY version DESC LIMIT ?`, w.deployment.ID, model.MaxTriage)
	turn := 0
	subject := timed(func() {
		w.client.discard(turns[turn%2])
		turn++
	})
	updates := timed(func() {
		r.transaction(func(tx *sql.Tx) {
			update, err := tx.Prepare(`UPDATE lineage SET triage_state = ?, triaged_at = ? WHERE deployment_id = ? AND id = ?`)
			w.check(err)
			for _, id := range ids {
				_, err := update.Exec(turn%2, turn, w.deployment.ID, id[0])
				w.check(err)
			}
		})
	})
	others := int64(1000)
	written := func() time.Duration {
		others++
		return updates() + r.insert(others, []table{{"triage_event", trail}, {"change", feed}})
	}
	compare(b, subject, limit{unit: perLimit, run: updates}, limit{unit: perWritten, run: written})
}

// benchLoad builds the index of all findings. The baseline is reading their rows.
func benchLoad(b *testing.B, w *world) {
	r := w.raw()
	var x *index.Index
	took := compare(b, timed(func() {
		x = w.newIndex()
		_, err := x.Deployment(b.Context(), w.deployment.ID)
		w.check(err)
	}), limit{unit: perLimit, run: timed(func() {
		r.step(`SELECT f.*, b.body FROM finding f JOIN finding_body b ON b.deployment_id = f.deployment_id AND b.finding_id = f.id WHERE f.deployment_id = ? ORDER BY f.id`, w.deployment.ID)
	})})
	b.ReportMetric(rate(x.Stats().Findings, took), perSecond)
}

// benchDependencies reads a page of 10,000 dependencies. The baselines are reading as many rows by
// id, and the same bytes from memory.
func benchDependencies(b *testing.B, w *world) {
	const size = 10_000
	request := w.request("POST", w.byID()+"/dependencies", fmt.Appendf(nil, `{"pageSize":%d}`, size), "Content-Type", "application/json")
	text := w.client.body(request)
	var page api.ListDependenciesResponse
	w.check(json.Unmarshal(text, &page))
	if len(page.Dependencies) != size {
		b.Fatalf("%d dependencies", len(page.Dependencies))
	}
	ready := w.fromMemory("/ready", text)
	r := w.raw()
	rows := func() {
		if n := r.step(`SELECT * FROM dependency WHERE deployment_id = ? ORDER BY id LIMIT ?`, w.deployment.ID, size); n != size {
			b.Fatalf("%d rows", n)
		}
	}
	compare(b, w.client.took(request), limit{unit: perLimit, run: timed(rows)}, limit{unit: perMemory, run: w.client.took(ready)})
}
