package runner

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/redoubt/redoubt"
	"github.com/redoubt/redoubt/api"
)

// How often a runner tells of a run, and how much of a line and of a log it keeps.
const (
	tellEvery = 5 * time.Second
	maxLine   = 8 << 10
	maxPiece  = 64 << 10
)

// teller tells the server how far a run is, and gathers its log. It is safe for concurrent
// use.
type teller struct {
	client *api.Client
	run    *api.LeasedRun
	clean  *strings.Replacer // takes out what must not be told

	sending sync.Mutex
	mu      sync.Mutex
	at      api.ProgressRunRequest
	waiting strings.Builder // log that was not sent
	kept    int64           // bytes of log so far
	wake    chan struct{}
}

func newTeller(client *api.Client, run *api.LeasedRun) *teller {
	hide := []string{run.Token, "[hidden]"}
	if c := run.Credential; c != nil {
		for _, secret := range []string{c.Password, c.SSHKey} {
			if secret != "" {
				hide = append(hide, secret, "[hidden]")
			}
		}
	}
	return &teller{client: client, run: run, clean: strings.NewReplacer(hide...), at: api.ProgressRunRequest{Claim: run.Claim, State: "leased"}, wake: make(chan struct{}, 1)}
}

// say adds a line to the log.
func (t *teller) say(format string, args ...any) { t.line(fmt.Sprintf(format, args...)) }

// line adds a line that somebody else wrote.
func (t *teller) line(text string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if len(text) > maxLine {
		text = text[:maxLine] + " …"
	}
	text = t.clean.Replace(strings.TrimRight(text, "\r\n")) + "\n"
	if t.kept += int64(len(text)); t.kept <= t.run.Limits.LogBytes {
		t.waiting.WriteString(text)
	}
}

// state notes how far the run is; it never goes back.
func (t *teller) state(s string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.at.State == "uploading" {
		return
	}
	t.at.State = s
	select {
	case t.wake <- struct{}{}:
	default:
	}
}

// found notes what is scanned, once it is known.
func (t *teller) found(ref, commit string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.at.Ref, t.at.Commit = ref, commit
}

// follow tells every few seconds, so that the run stays this runner's. The context that it
// returns ends once it does not; stop ends the telling and returns why, if it was so.
func (t *teller) follow(parent context.Context) (ctx context.Context, stop func() error) {
	ctx, cancel := context.WithCancelCause(parent)
	done := make(chan struct{})
	go func() {
		defer close(done)
		for ctx.Err() == nil {
			if err := t.flush(ctx); errors.Is(err, api.ErrRunLost) {
				cancel(err)
			}
			select {
			case <-ctx.Done():
			case <-t.wake:
			case <-time.After(tellEvery):
			}
		}
	}()
	return ctx, func() error {
		lost := context.Cause(ctx)
		cancel(nil)
		<-done
		if !errors.Is(lost, api.ErrRunLost) {
			lost = nil
		}
		return lost
	}
}

// flush sends what was not sent, in pieces that are sent again as they were until the
// server has them.
func (t *teller) flush(ctx context.Context) error {
	t.sending.Lock()
	defer t.sending.Unlock()
	for {
		t.mu.Lock()
		if t.at.Log == "" && t.waiting.Len() > 0 {
			text := t.waiting.String()
			cut := len(text)
			if cut > maxPiece {
				cut = strings.LastIndexByte(text[:maxPiece], '\n') + 1
			}
			t.at.Log = text[:cut]
			t.waiting.Reset()
			t.waiting.WriteString(text[cut:])
		}
		said, more := t.at, t.waiting.Len() > 0
		t.mu.Unlock()
		answer, err := t.client.ProgressRun(ctx, t.run.ID, said)
		if err != nil {
			return err
		}
		t.mu.Lock()
		t.at.Offset, t.at.Log = answer.Offset, ""
		t.mu.Unlock()
		if !more {
			return nil
		}
	}
}

// flushAgain is flush, tried as long as the run stays this runner's without it.
func (t *teller) flushAgain(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, redoubt.RunLease)
	defer cancel()
	return again(ctx, t.flush)
}

// tellAgain is how long a runner waits before it tells a server again that did not hear.
const tellAgain = time.Second

// again tells the server something until it has heard or the context ends: a run whose end
// is not heard of is made once more. What the server refuses is not told again.
func again(ctx context.Context, tell func(context.Context) error) error {
	for {
		err := tell(ctx)
		var p *api.Problem
		if err == nil || errors.As(err, &p) && p.Status < 500 && p.Status != http.StatusTooManyRequests {
			return err
		}
		select {
		case <-ctx.Done():
			return err
		case <-time.After(tellAgain):
		}
	}
}
