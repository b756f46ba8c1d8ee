package agent_test

import (
	"bytes"
	"context"
	"errors"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/redoubt/redoubt/api"
	"github.com/redoubt/redoubt/internal/agent"
	"github.com/redoubt/redoubt/internal/model"
	"github.com/redoubt/redoubt/internal/queue"
	"github.com/redoubt/redoubt/internal/store"
	"github.com/redoubt/redoubt/internal/testutil/storetest"
)

// results starts the recorded full run and uploads its results.
func (w *world) results() (path string) {
	w.Helper()
	w.rules(model.ModeBlock)
	path = w.begin("full")
	w.ok("POST", path+"results", w.recorded("full/3-results.json"))
	return path
}

// claim claims the scan's job like a worker that dies afterwards.
func (w *world) claim() model.Job {
	w.Helper()
	j, err := storetest.Claim(w.Context(), w.store, time.Minute, agent.ScanJob)
	if err != nil || j == nil {
		w.Fatalf("no job is due: %v, %v", j, err)
	}
	return *j
}

// TestLongScanCompletesInBackground interrupts the worker. The scan must be applied
// once, and a repeated request must return the gate's result.
func TestLongScanCompletesInBackground(t *testing.T) {
	each(t, func(w *world) {
		w.stop()
		w.agent.Wait = 0
		path, completion := w.results(), w.recorded("full/4-complete.json")
		for range 2 {
			w.same("the answer while it waits", `{"success":false}`, w.ok("POST", path+"complete", completion))
		}
		// These results are too late to count.
		w.ok("POST", path+"results", []byte(`{"findings":[],"ignores":[],"searched_paths":["app.py"],"rule_ids":["eqeq"]}`))
		w.ok("POST", path+"error", w.recorded("error/3-error.json"))
		w.same("the scan meanwhile", "SCAN_STATUS_RUNNING", w.scans()[0].Status)

		dead := w.claim()
		if j, err := storetest.Claim(w.Context(), w.store, time.Minute, agent.ScanJob); j != nil || err != nil {
			w.Errorf("two completions made a second job, %v, %v", j, err)
		}
		w.clock.Advance(2 * time.Minute)
		w.agent.Wait = time.Minute
		w.run()
		w.same("the gate's answer", `{"success":true}`, w.ok("POST", path+"complete", completion))
		if err := w.store.FinishJob(w.Context(), dead, nil, ""); !errors.Is(err, model.ErrConflict) {
			w.Errorf("the dead worker's lease still holds: %v", err)
		}
		if _, _, err := queue.Do(w.agent.Apply)(w.Context(), dead); err != nil {
			w.Errorf("the dead worker, come back: %v", err)
		}
		list, _ := w.code("main")
		w.same("findings", map[string]string{
			"eqeq app.py:4": "open", "eqeq app.py:14": "ignored", "js-eval web/main.js:1": "open", "taint-x app.py:8": "open",
		}, list)
		w.same("dependencies", 6, w.countDependencies())
		var finished int
		w.update(func(ctx context.Context, tx *store.Tx) error {
			events, err := tx.AuditEvents(ctx, 0, 1000)
			for _, e := range events {
				if e.Action == "scan.finish" {
					finished++
				}
			}
			return err
		})
		w.same("how often the scan ended", 1, finished)
	})
}

func (w *world) countDependencies() (n int) {
	w.Helper()
	for _, err := range w.client().Dependencies(w.Context(), "acme", api.ListDependenciesRequest{}) {
		if err != nil {
			w.Fatal(err)
		}
		n++
	}
	return n
}

// TestConcurrentCompletions sends concurrent completions, as a scanner with a broken connection may.
func TestConcurrentCompletions(t *testing.T) {
	each(t, func(w *world) {
		path, completion := w.results(), w.recorded("full/4-complete.json")
		var all sync.WaitGroup
		answers := make([]string, 6)
		for i := range answers {
			all.Go(func() { _, answers[i] = w.send("POST", path+"complete", w.token, completion) })
		}
		all.Wait()
		for _, answer := range answers {
			w.same("each answer", `{"success":true}`, answer)
		}
		w.same("scans", 1, len(w.scans()))
	})
}

// TestLastAttemptWithoutResultFails checks that the last request gets an error if there is no result yet. A
// final response with success false would let the build pass.
func TestLastAttemptWithoutResultFails(t *testing.T) {
	w := newWorld(t, "sqlite")
	w.stop()
	w.agent.Wait = 0
	path := w.results()
	final := bytes.Replace(w.recorded("full/4-complete.json"), []byte("{"), []byte(`{"final_attempt":true,`), 1)
	if status, text := w.send("POST", path+"complete", w.token, final); status != 409 {
		t.Errorf("%d %s, want 409", status, text)
	}
	w.agent.Wait = time.Minute
	w.run()
	w.same("the answer to a last attempt that is in time", `{"success":true}`, w.ok("POST", path+"complete", final))
}

// TestZeroWaitMakesScannerRetry checks that a wait of zero makes the scanner retry, even if the job is fast.
func TestZeroWaitMakesScannerRetry(t *testing.T) {
	w := newWorld(t, "sqlite")
	w.stop()
	path := w.results()
	w.agent.Wait = 0
	var once sync.Once
	applied := make(chan error, 1)
	w.store.OnQueued(func() {
		once.Do(func() {
			go func() {
				_, _, err := queue.Do(w.agent.Apply)(w.Context(), w.claim())
				applied <- err
			}()
		})
	})
	w.same("the answer", `{"success":false}`, w.ok("POST", path+"complete", w.recorded("full/4-complete.json")))
	if err := <-applied; err != nil {
		t.Error(err)
	}
	w.same("the answer then", `{"success":true}`, w.ok("POST", path+"complete", w.recorded("full/4-complete.json")))
}

// TestUnstorableResultsEndScan checks that the scan ends with the cause. The scanner gets an error
// instead of waiting half an hour.
func TestUnstorableResultsEndScan(t *testing.T) {
	for _, stored := range []string{`{`, `{}`} { // the second makes the reader panic
		t.Run(stored, func(t *testing.T) { each(t, func(w *world) { w.cannotBeStored(stored) }) })
	}
}

func (w *world) cannotBeStored(stored string) {
	w.Helper()
	w.stop()
	w.agent.Wait = 0
	path := w.results()
	w.ok("POST", path+"complete", w.recorded("full/4-complete.json"))
	w.update(func(ctx context.Context, tx *store.Tx) error { // like a disk error
		return tx.StoreAgentReport(ctx, "307e5059-799d-47ee-9776-4d7e93de5352", []byte(stored))
	})
	j := w.claim()
	if _, _, err := queue.Do(w.agent.Apply)(w.Context(), j); err == nil || errors.As(err, new(queue.PermanentError)) {
		w.Errorf("the first attempt: %v, want another one", err)
	}
	j.Attempt = agent.Attempts
	_, _, err := queue.Do(w.agent.Apply)(w.Context(), j)
	var permanent queue.PermanentError
	if !errors.As(err, &permanent) {
		w.Fatalf("the last attempt: %v", err)
	}
	j.Attempt = 1
	if err := w.store.FailJob(w.Context(), j, permanent.Reason); err != nil {
		w.Fatal(err)
	}
	if status, text := w.send("POST", path+"complete", w.token, w.recorded("full/4-complete.json")); status != 409 {
		w.Errorf("%d %s, want 409", status, text)
	}
	if scan := w.scans()[0]; scan.Status != "SCAN_STATUS_ERROR" || !strings.Contains(scan.Error, "5 times") {
		w.Errorf("the scan is %s: %s", scan.Status, scan.Error)
	}
}

// TestScanThatCrashesServerFails kills each process while it applies the scan, as excessive memory use
// would. After the last attempt the scan has failed, and the scanner gets an error.
func TestScanThatCrashesServerFails(t *testing.T) {
	each(t, func(w *world) {
		w.stop()
		w.agent.Wait = 0
		path, completion := w.results(), w.recorded("full/4-complete.json")
		w.ok("POST", path+"complete", completion)
		for range agent.Attempts {
			w.claim()
			w.clock.Advance(2 * time.Minute)
		}
		w.agent.Wait = time.Minute
		w.run()
		status, text := w.send("POST", path+"complete", w.token, completion)
		if status != 409 || !strings.Contains(text, "5 times") {
			w.Errorf("%d %s, want 409 and why", status, text)
		}
		w.stop()
		if scan := w.scans()[0]; scan.Status != "SCAN_STATUS_ERROR" || !strings.Contains(scan.Error, "5 times") {
			w.Errorf("the scan is %s: %s", scan.Status, scan.Error)
		}
		if list, _ := w.code("main"); len(list) > 0 {
			w.Errorf("it was applied after all: %v", list)
		}
		w.clock.Advance(time.Hour)
		if j, err := storetest.Claim(w.Context(), w.store, time.Minute, agent.ScanJob); j != nil || err != nil {
			w.Errorf("the job is due again: %v, %v", j, err)
		}
	})
}
