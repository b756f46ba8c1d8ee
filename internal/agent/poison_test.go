package agent_test

import (
	"context"
	"database/sql"
	"fmt"
	"log/slog"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/redoubt/redoubt/internal/agent"
	"github.com/redoubt/redoubt/internal/gate"
	"github.com/redoubt/redoubt/internal/queue"
	"github.com/redoubt/redoubt/internal/testutil/storetest"
)

// farWorker returns a second server that applies scans, with a proxy before its database.
func (w *world) farWorker() (*storetest.Proxy, *queue.Queue) {
	w.Helper()
	proxy, config := storetest.Through(w.T, w.config)
	far := storetest.Open(w.T, config)
	logger := slog.New(slog.DiscardHandler)
	a := agent.New(agent.Config{Store: far, Logger: logger, Clock: w.clock.Now, SecretKey: []byte("0123456789abcdef0123456789abcdef"), EncodeOutcome: gate.ScanAnswer})
	return proxy, queue.New(far, map[string]queue.Kind{agent.ScanJob: {Work: queue.Do(a.Apply), MaxRunning: 1, Attempts: agent.Attempts, Abandoned: a.Abandoned}},
		queue.Options{Poll: 10 * time.Millisecond, Clock: w.clock.Now, Logger: logger})
}

// works runs a worker and advances the clock until a condition is true.
func (w *world) works(r *queue.Queue, until func() bool) {
	w.Helper()
	ctx, stop := context.WithTimeout(w.Context(), time.Minute)
	var all sync.WaitGroup
	all.Go(func() { r.Run(ctx, ctx) })
	for !until() && ctx.Err() == nil {
		w.clock.Advance(10 * time.Second)
		time.Sleep(10 * time.Millisecond)
	}
	if ctx.Err() != nil {
		w.Error("it works on without end")
	}
	stop()
	all.Wait()
}

// TestScanThatBreaksConnectionFails checks that a scan ends if PostgreSQL drops the connection
// each time. The scanner must get an error, and the next scan must be applied. An outage of the
// whole database must not end scans.
func TestScanThatBreaksConnectionFails(t *testing.T) {
	w := newWorld(t, "postgres")
	w.stop()
	w.agent.Wait = 0
	path, completion := w.results(), w.recorded("full/4-complete.json")
	w.ok("POST", path+"complete", completion)
	proxy, worker := w.farWorker()
	proxy.CutAt("INSERT INTO finding")
	var status int
	var text string
	w.works(worker, func() bool {
		status, text = w.send("POST", path+"complete", w.token, completion)
		return status != http.StatusOK
	})
	if scan := w.scans()[0]; scan.Status != "SCAN_STATUS_ERROR" || proxy.Breaks() != agent.Attempts {
		t.Errorf("the connection broke %d times, and the scan is %s", proxy.Breaks(), scan.Status)
	}
	if status != http.StatusConflict || !strings.Contains(text, "5 times") {
		t.Errorf("the scanner receives %d %s", status, text)
	}

	_, id, _ := w.beginAs(w.token, claim{name: "acme/next"})
	next := fmt.Sprintf("/api/agent/scans/%d/", id)
	w.ok("POST", next+"results", w.recorded("full/3-results.json"))
	w.ok("POST", next+"complete", completion)
	proxy.RefuseAt("INSERT INTO finding")
	looked := 0
	w.works(worker, func() bool {
		if proxy.Breaks() > 0 {
			looked++
		}
		if looked == 100 {
			proxy.Resume()
		}
		return looked > 100 && w.ok("POST", next+"complete", completion) == `{"success":true}`
	})
}

// TestScanCanceledByPostgresFails checks that a scan ends if PostgreSQL cancels a statement each
// time, for example after a statement_timeout.
func TestScanCanceledByPostgresFails(t *testing.T) {
	w := newWorld(t, "postgres")
	w.stop()
	w.agent.Wait = 0
	path, completion := w.results(), w.recorded("full/4-complete.json")
	w.ok("POST", path+"complete", completion)
	db, err := sql.Open("pgx", w.config.DatabaseURL)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	_, err = db.ExecContext(t.Context(), `
		CREATE SEQUENCE tries;
		CREATE FUNCTION too_long() RETURNS trigger LANGUAGE plpgsql AS $$
		BEGIN PERFORM nextval('tries'); PERFORM pg_cancel_backend(pg_backend_pid()); PERFORM pg_sleep(60); END $$;
		CREATE TRIGGER too_long BEFORE INSERT ON finding EXECUTE FUNCTION too_long()`)
	if err != nil {
		t.Fatal(err)
	}
	_, worker := w.farWorker()
	var status int
	var text string
	w.works(worker, func() bool {
		status, text = w.send("POST", path+"complete", w.token, completion)
		return status != http.StatusOK
	})
	var tries int
	if err := db.QueryRowContext(t.Context(), `SELECT last_value FROM tries`).Scan(&tries); err != nil || tries != agent.Attempts {
		t.Errorf("it was tried %d times: %v", tries, err)
	}
	if scan := w.scans()[0]; scan.Status != "SCAN_STATUS_ERROR" {
		t.Errorf("the scan is %s", scan.Status)
	}
	if status != http.StatusConflict || !strings.Contains(text, "5 times") {
		t.Errorf("the scanner receives %d %s", status, text)
	}
}
