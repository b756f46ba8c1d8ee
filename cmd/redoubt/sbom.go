package main

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"

	"github.com/redoubt/redoubt/internal/about"
	"github.com/redoubt/redoubt/internal/apihttp/dependencies"
	"github.com/redoubt/redoubt/internal/cli/command"
	"github.com/redoubt/redoubt/internal/model"
	"github.com/redoubt/redoubt/internal/queue"
	"github.com/redoubt/redoubt/internal/sbom"
	"github.com/redoubt/redoubt/internal/store"
)

// exportSBOM returns the work of an export job: it reads one state of the deployment and writes the
// document. Errors that a retry cannot solve are permanent.
func exportSBOM(a *command.App, st *store.Store) queue.Work {
	return func(ctx context.Context, j model.Job) (result []byte, mediaType string, err error) {
		var request model.SBOMRequest
		if err := json.Unmarshal(j.Input, &request); err != nil {
			return nil, "", queue.PermanentError{Reason: "invalid export request: request the export again"}
		}
		err = st.View(ctx, j.DeploymentID, func(ctx context.Context, tx *store.Tx) error {
			result, mediaType, err = sbom.Export(ctx, tx, request, sbom.Options{Created: a.Clock(), Tool: about.Version})
			return err
		})
		var invalid *model.InvalidError
		switch {
		case errors.Is(err, model.ErrNotFound):
			err = queue.PermanentError{Reason: "the project was deleted"}
		case errors.As(err, &invalid):
			err = queue.PermanentError{Reason: invalid.Error()}
		}
		return result, mediaType, err
	}
}

// exportInProcess runs export jobs in this process, for commands without a server, until the command
// ends.
func exportInProcess(a *command.App, st *store.Store) {
	ctx, stop := context.WithCancel(a.Ctx)
	quiet := slog.New(slog.DiscardHandler) // the command prints the reason of a failed export
	kinds := map[string]queue.Kind{dependencies.SBOMJob: {Work: exportSBOM(a, st)}}
	q := queue.New(st, kinds, queue.Options{Clock: a.Clock, Logger: quiet})
	st.OnQueued(q.Wake)
	done := make(chan struct{})
	go func() {
		defer close(done)
		q.Run(ctx, ctx)
	}()
	a.AtEnd(func() error {
		stop()
		<-done
		return nil
	})
}
