package store_test

import (
	"context"
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/redoubt/redoubt/internal/model"
	"github.com/redoubt/redoubt/internal/store"
)

// storeResponse stores a response of a size in bytes.
func (w workplace) storeResponse(key string, size int) {
	w.t.Helper()
	update(w.t, w.Store, w.d, func(ctx context.Context, tx *store.Tx) error {
		return tx.StoreAnswer(ctx, model.StoredAnswer{Key: key, Request: []byte("asked " + key), Answer: make([]byte, size)})
	})
}

// keys returns the keys of a list that have a stored response.
func (w workplace) keys(list ...string) (found []string) {
	w.t.Helper()
	view(w.t, w.Store, w.d, func(ctx context.Context, tx *store.Tx) error {
		for _, key := range list {
			a, err := tx.StoredAnswer(ctx, key)
			switch {
			case errors.Is(err, model.ErrNotFound):
				continue
			case err != nil:
				return err
			case a.Key != key || string(a.Request) != "asked "+key:
				w.t.Errorf("%s has %+v", key, a)
			}
			found = append(found, key)
		}
		return nil
	})
	return found
}

func (w workplace) expectKeys(when string, want []string, list ...string) {
	w.t.Helper()
	if got := w.keys(list...); !slices.Equal(got, want) {
		w.t.Errorf("%s: kept are %v, want %v", when, got, want)
	}
}

// TestIdempotencyResponsesExpire checks that responses expire after a day even without pruning, and that
// failed transactions store none.
func TestIdempotencyResponsesExpire(t *testing.T) {
	eachWorkplace(t, func(w workplace) {
		w.storeResponse("a", 10)
		failed := errors.New("the work failed")
		err := w.Update(t.Context(), w.d.ID, model.Actor{}, func(ctx context.Context, tx *store.Tx) error {
			if err := tx.StoreAnswer(ctx, model.StoredAnswer{Key: "failed", Request: []byte("x"), Answer: []byte("x")}); err != nil {
				return err
			}
			return failed
		})
		if !errors.Is(err, failed) {
			t.Fatal(err)
		}
		w.clock.Advance(model.AnswerRetention / 2)
		w.storeResponse("b", 10)
		w.expectKeys("at first", []string{"a", "b"}, "a", "b", "failed")
		w.clock.Advance(model.AnswerRetention/2 + time.Second)
		w.expectKeys("a day later", []string{"b"}, "a", "b")
		w.storeResponse("a", 10) // an expired key can be reused
		w.expectKeys("used again", []string{"a", "b"}, "a", "b")
		w.clock.Advance(model.AnswerRetention/2 + time.Second)
		for _, want := range []int64{1, 0} {
			if gone, err := w.DropExpiredAnswers(t.Context(), w.d.ID, w.clock.Now()); gone != want || err != nil {
				t.Errorf("%d forgotten, want %d: %v", gone, want, err)
			}
		}
		w.expectKeys("after housekeeping", []string{"a"}, "a", "b")
	})
}

// TestIdempotencyResponsesAreBounded checks that the oldest responses are deleted above the limit of bytes, but
// never the newest.
func TestIdempotencyResponsesAreBounded(t *testing.T) {
	eachWorkplace(t, func(w workplace) {
		for _, key := range []string{"a", "b", "c", "d"} {
			w.storeResponse(key, 24<<20)
		}
		w.expectKeys("four of 24 MiB", []string{"b", "c", "d"}, "a", "b", "c", "d")
		w.storeResponse("big", 80<<20)
		w.expectKeys("one over the bound", []string{"big"}, "c", "d", "big")
		w.storeResponse("small", 1)
		w.expectKeys("one after it", []string{"big", "small"}, "big", "small")
	})
}
