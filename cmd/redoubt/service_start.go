package main

import (
	"context"
	"errors"
	"os"
	"os/signal"
	"sync"
	"syscall"
	"time"

	"github.com/redoubt/redoubt/internal/admin"
	"github.com/redoubt/redoubt/internal/cli/command"
	"github.com/redoubt/redoubt/internal/model"
)

// startRetryDelay is the delay before a start retries a step that failed because of the database.
const startRetryDelay = 2 * time.Second

// start stores the address of the server and calls ready. If the database is full or unavailable,
// the server keeps running and the steps are retried in the background. A shutdown during the start
// is not an error: the next start performs the remaining steps.
func (s *service) start(ctx context.Context, background *sync.WaitGroup, ready func() error) error {
	steps := func() error {
		if err := s.store.PutSetting(ctx, admin.AddressSetting, []byte(s.baseURL())); err != nil {
			return err
		}
		return ready()
	}
	err := steps()
	if ctx.Err() != nil && (errors.Is(err, context.Canceled) || errors.Is(err, model.ErrUnavailable)) {
		return nil
	}
	if !errors.Is(err, model.ErrUnavailable) {
		return err
	}
	s.log.Error("the database is unavailable, so the start is incomplete; the server responds and retries "+
		"until the database is available", "error", err)
	background.Go(func() {
		for {
			select {
			case <-ctx.Done():
				return
			case <-time.After(startRetryDelay):
			}
			if err = steps(); err == nil {
				s.log.Info("the start is complete")
				return
			}
			if ctx.Err() == nil && !errors.Is(err, model.ErrUnavailable) {
				s.log.Error("the start cannot be completed; the next start retries", "error", err)
				return
			}
		}
	})
	return nil
}

// fileCheckTimeout is the time that a start waits for the check of the database file.
const fileCheckTimeout = time.Second

// checkFile checks the database file. Damage is logged and makes the server unready, and writes to
// a damaged file are rejected.
func (s *service) checkFile(ctx context.Context) {
	done := make(chan struct{})
	go func() {
		defer close(done)
		ctx, cancel := context.WithTimeout(ctx, command.FileCheckTimeout)
		defer cancel()
		err := s.store.CheckFile(ctx)
		switch {
		case errors.Is(err, model.ErrDamaged):
			s.log.Error("the database is damaged, and writes are rejected. Stop the server, run redoubt check, and "+
				"restore a backup", "error", err)
		case errors.Is(ctx.Err(), context.DeadlineExceeded):
			s.log.Info("the database is too large for a complete check at the start; run redoubt check instead",
				"looked_for", command.FileCheckTimeout)
		case err != nil && ctx.Err() == nil:
			s.log.Error("the database could not be checked", "error", err)
		}
	}()
	select {
	case <-done:
	case <-time.After(fileCheckTimeout):
	}
}

// hangups returns a channel that receives SIGHUP from now on.
func hangups() chan os.Signal {
	c := make(chan os.Signal, 1)
	signal.Notify(c, syscall.SIGHUP)
	return c
}

// reloadOnSIGHUP reloads the certificate on each SIGHUP, which renewal tools send, until the
// context is canceled. The channel is created earlier, so that no signal terminates the server in
// the meantime.
func (s *service) reloadOnSIGHUP(ctx context.Context, hangups chan os.Signal) {
	defer signal.Stop(hangups)
	for {
		select {
		case <-ctx.Done():
			return
		case <-hangups:
		}
		if s.pair == nil {
			s.log.Info("SIGHUP ignored: there is no certificate to reload; other settings are read at the start")
			continue
		}
		s.pair.reload()
	}
}
