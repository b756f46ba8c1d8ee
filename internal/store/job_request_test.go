package store_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/redoubt/redoubt/internal/model"
	"github.com/redoubt/redoubt/internal/store"
)

// request requests a job with an input, as a token.
func (w workplace) request(token, input string) (j model.Job, err error) {
	err = w.Update(w.t.Context(), w.d.ID, model.Actor{Kind: "token", ID: token}, func(ctx context.Context, tx *store.Tx) (err error) {
		j, err = tx.RequestJob(ctx, model.Job{Kind: "sbom", Token: "task-" + token + input, Input: []byte(`"` + input + `"`)})
		return err
	})
	w.clock.Advance(time.Millisecond)
	return j, err
}

func (w workplace) jobs() (n int) {
	w.t.Helper()
	view(w.t, w.Store, w.d, func(ctx context.Context, tx *store.Tx) error {
		list, err := tx.Jobs(ctx, "sbom", 5000)
		n = len(list)
		return err
	})
	return n
}

// TestRequestedJobsAreBounded checks that a token with read access cannot fill the table.
func TestRequestedJobsAreBounded(t *testing.T) {
	eachWorkplace(t, func(w workplace) {
		first, err := w.request("1", "a")
		if err != nil {
			w.t.Fatal(err)
		}
		for range 30 {
			repeated, err := w.request("1", "a")
			if err != nil || repeated.Token != first.Token {
				w.t.Fatalf("the same again is %q, %v; want %q", repeated.Token, err, first.Token)
			}
		}
		same(w.t, "jobs of the same request", w.jobs(), 1)
		for i := range 30 {
			_, err := w.request("1", fmt.Sprint(i))
			busy, is := errors.AsType[*model.BusyError](err)
			if is != (i >= 19) || is && busy.Wait < time.Second {
				w.t.Fatalf("request %d: %v", i, err)
			}
		}
		same(w.t, "jobs of one token", w.jobs(), 20)
		for i := range 300 {
			_, err := w.request(fmt.Sprint(2+i/20), fmt.Sprint("other", i))
			if _, is := errors.AsType[*model.BusyError](err); is != (i >= 180) {
				w.t.Fatalf("request %d of others: %v", i, err)
			}
		}
		same(w.t, "jobs of all", w.jobs(), 200)

		claimed := w.claim()
		repeated, err := w.request("2", "a")
		if _, is := errors.AsType[*model.BusyError](err); !is {
			w.t.Errorf("a running job was returned for a newer request: %+v, %v", repeated, err)
		}
		if err := w.FinishJob(w.t.Context(), *claimed, []byte("document"), "application/json"); err != nil {
			w.t.Fatal(err)
		}
		if _, err := w.request("1", "one more"); err != nil {
			w.t.Errorf("after one has finished: %v", err)
		}
		w.clock.Advance(store.RequestedJobKept)
		if gone, err := w.DropRequestedJobs(w.t.Context(), w.d.ID, "sbom"); gone != 1 || err != nil {
			w.t.Errorf("%d went after a day, %v", gone, err)
		}
		same(w.t, "unfinished ones after a day", w.jobs(), 200)
	})
}
