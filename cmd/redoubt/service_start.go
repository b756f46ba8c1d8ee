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

// startAgain is how long a start waits before it tries a step again that the
// database did not let it do.
const startAgain = 2 * time.Second

// start writes how others reach the server and then does what ready says. A
// database that is full, or gone for a while, does not end a server that can
// answer by then: the rest of the start follows in the background. Nor is it a failure
// when a stop is asked for in the middle: the next start does what is left.
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
	s.log.Error("the database does not let the start be finished; the server answers, and it is tried again "+
		"until it does", "error", err)
	background.Go(func() {
		for {
			select {
			case <-ctx.Done():
				return
			case <-time.After(startAgain):
			}
			if err = steps(); err == nil {
				s.log.Info("the start is finished")
				return
			}
			if ctx.Err() == nil && !errors.Is(err, model.ErrUnavailable) {
				s.log.Error("the start cannot be finished; the next one will try again", "error", err)
				return
			}
		}
	})
	return nil
}

// fileLook is how long a start waits for a look through the database's file.
const fileLook = time.Second

// checkFile looks through the database's file: damage is said in the log and by
// the readiness of the server, and no write is taken into a damaged file.
func (s *service) checkFile(ctx context.Context) {
	done := make(chan struct{})
	go func() {
		defer close(done)
		ctx, cancel := context.WithTimeout(ctx, command.FileCheckTimeout)
		defer cancel()
		err := s.store.CheckFile(ctx)
		switch {
		case errors.Is(err, model.ErrDamaged):
			s.log.Error("the database is damaged: nothing is written to it any more. Stop the server, run redoubt check, and "+
				"restore a backup", "error", err)
		case errors.Is(ctx.Err(), context.DeadlineExceeded):
			s.log.Info("the database is too large for all of it to be looked through at the start; redoubt check does that",
				"looked_for", command.FileCheckTimeout)
		case err != nil && ctx.Err() == nil:
			s.log.Error("the database could not be looked through", "error", err)
		}
	}()
	select {
	case <-done:
	case <-time.After(fileLook):
	}
}

// hangups has SIGHUP come to a channel from now on.
func hangups() chan os.Signal {
	c := make(chan os.Signal, 1)
	signal.Notify(c, syscall.SIGHUP)
	return c
}

// reloadOnSIGHUP reads the certificate again at each SIGHUP, which tools that renew
// certificates send, until the context ends. Without one there is nothing to read.
// The channel is made before, so that no signal ends the server meanwhile.
func (s *service) reloadOnSIGHUP(ctx context.Context, hangups chan os.Signal) {
	defer signal.Stop(hangups)
	for {
		select {
		case <-ctx.Done():
			return
		case <-hangups:
		}
		if s.pair == nil {
			s.log.Info("SIGHUP: there is no certificate to read again; settings are read at a start")
			continue
		}
		s.pair.reload()
	}
}
