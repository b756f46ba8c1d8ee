package runner

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/redoubt/redoubt/api"
	"github.com/redoubt/redoubt/internal/model"
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
	hide   hider

	sending sync.Mutex
	mu      sync.Mutex
	at      api.ProgressRunRequest
	waiting strings.Builder // log that was not sent
	kept    int64           // bytes of log so far
	wake    chan struct{}
}

func newTeller(client *api.Client, run *api.LeasedRun) *teller {
	secrets := []string{run.Token}
	if c := run.Credential; c != nil {
		secrets = append(secrets, c.Password, c.SSHKey)
	}
	return &teller{
		client: client,
		run:    run,
		hide:   newHider(secrets...),
		at:     api.ProgressRunRequest{Claim: run.Claim, State: "leased"},
		wake:   make(chan struct{}, 1),
	}
}

// say adds a line to the log.
func (t *teller) say(format string, args ...any) { t.line(fmt.Sprintf(format, args...)) }

// line adds a line that somebody else wrote. Of a long one the rest is left out, once what
// must not be told is gone from it: a cut would leave a part of that.
func (t *teller) line(text string) {
	text = strings.TrimRight(t.hide.clean(text), "\r\n")
	if len(text) > maxLine {
		text = text[:maxLine] + " …"
	}
	text += "\n"
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.kept += int64(len(text)); t.kept <= t.run.Limits.LogBytes {
		t.waiting.WriteString(text)
	}
}

// lines adds what somebody else writes, line by line, until that ends. Of a line no more is
// held than what may be told of it.
func (t *teller) lines(from io.Reader) {
	in := bufio.NewReaderSize(from, maxLine+t.hide.longest)
	for {
		text, more, err := in.ReadLine()
		if err != nil {
			return
		}
		if !more {
			t.line(string(text))
			continue
		}
		t.line(t.hide.begun(string(text)) + " …")
		for more && err == nil {
			_, more, err = in.ReadLine()
		}
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
	ctx, cancel := context.WithTimeout(ctx, model.RunLease)
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
