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

// Interval of progress reports, and limits of a line and of a piece of the log.
const (
	progressInterval = 5 * time.Second
	maxLine          = 8 << 10
	maxPiece         = 64 << 10
)

// progressReporter reports the progress of a run to the server and collects its log. It is safe for
// concurrent use.
type progressReporter struct {
	client *api.Client
	run    *api.LeasedRun
	hide   hider

	sending sync.Mutex
	mu      sync.Mutex
	at      api.ProgressRunRequest
	waiting strings.Builder // unsent log
	logged  int64           // bytes of log so far
	wake    chan struct{}
}

func newProgressReporter(client *api.Client, run *api.LeasedRun) *progressReporter {
	secrets := []string{run.Token}
	if c := run.Credential; c != nil {
		secrets = append(secrets, c.Password, c.SSHKey)
	}
	return &progressReporter{
		client: client,
		run:    run,
		hide:   newHider(secrets...),
		at:     api.ProgressRunRequest{Claim: run.Claim, State: "leased"},
		wake:   make(chan struct{}, 1),
	}
}

// logf adds a line to the log.
func (t *progressReporter) logf(format string, args ...any) { t.line(fmt.Sprintf(format, args...)) }

// line adds a line of untrusted text. Secrets are removed before a long line is truncated, because
// truncation could leave a partial secret.
func (t *progressReporter) line(text string) {
	text = strings.TrimRight(t.hide.clean(text), "\r\n")
	if len(text) > maxLine {
		text = text[:maxLine] + " …"
	}
	text += "\n"
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.logged += int64(len(text)); t.logged <= t.run.Limits.LogBytes {
		t.waiting.WriteString(text)
	}
}

// lines adds the lines of a reader until its end. It buffers no more of a line than may be logged.
func (t *progressReporter) lines(from io.Reader) {
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

// state records the progress of the run. After "uploading" it does not change.
func (t *progressReporter) state(s string) {
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

// found records the ref and commit of the scan.
func (t *progressReporter) found(ref, commit string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.at.Ref, t.at.Commit = ref, commit
}

// follow reports every few seconds, which renews the lease of the run. The returned context is
// canceled if the run is lost. stop ends the reports and returns the error of a lost run.
func (t *progressReporter) follow(parent context.Context) (ctx context.Context, stop func() error) {
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
			case <-time.After(progressInterval):
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

// flush sends the unsent log in pieces. A failed piece is sent again unchanged.
func (t *progressReporter) flush(ctx context.Context) error {
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
		progress, more := t.at, t.waiting.Len() > 0
		t.mu.Unlock()
		answer, err := t.client.ProgressRun(ctx, t.run.ID, progress)
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

// flushWithRetry retries flush, at most for the duration of the lease.
func (t *progressReporter) flushWithRetry(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, model.RunLease)
	defer cancel()
	return retryReport(ctx, t.flush)
}

// retryDelay is the delay before a failed report is retried.
const retryDelay = time.Second

// retryReport retries a report until it succeeds or the context is canceled: a run without a reported
// outcome would be repeated. Rejected reports are not retried.
func retryReport(ctx context.Context, report func(context.Context) error) error {
	for {
		err := report(ctx)
		var p *api.Problem
		if err == nil || errors.As(err, &p) && p.Status < 500 && p.Status != http.StatusTooManyRequests {
			return err
		}
		select {
		case <-ctx.Done():
			return err
		case <-time.After(retryDelay):
		}
	}
}
