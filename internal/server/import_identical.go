package server

import (
	"context"
	"errors"

	"github.com/redoubt/redoubt/api"
	"github.com/redoubt/redoubt/internal/gate"
	"github.com/redoubt/redoubt/internal/ingest"
	"github.com/redoubt/redoubt/internal/model"
)

// errNotIdentical rolls back the transaction of an upload that has to be parsed.
var errNotIdentical = errors.New("the upload did not come before")

// recordIdentical records an upload that is identical to the previous one. It returns nil if
// the upload is not identical.
func recordIdentical(ctx context.Context, c *call, upload ingest.Upload) (*api.ImportResponse, error) {
	out, err := runIdempotent(ctx, c, func(ctx context.Context) (*api.ImportResponse, error) {
		if err := gate.MayHandIn(ctx, c.tx, c.caller, upload.Ref, upload.Commit); err != nil {
			return nil, err
		}
		upload.Globs = c.caller.Globs()
		judge := &importGate{tx: c.tx}
		summary, identical, err := gate.Identical(ctx, c.tx, judge, upload)
		if err != nil {
			return nil, err
		}
		if !identical {
			return nil, errNotIdentical
		}
		summaries := []ingest.Summary{summary}
		out := ImportAnswer(summaries)
		out.Files, out.Given = 1, 1
		out.Gate, err = judge.answer(ctx, summaries)
		return out, err
	})
	if errors.Is(err, errNotIdentical) {
		return nil, nil
	}
	return out, err
}

// hasUpload reports whether a scan has the digest of an upload. It needs no write transaction.
func hasUpload(ctx context.Context, c *call, upload ingest.Upload, files *importFiles) (bool, error) {
	if files.project.ID == 0 {
		return false, nil
	}
	return c.server.Store.HasUpload(ctx, c.caller.Deployment.ID, files.project.ID,
		model.FullRef(upload.Ref), upload.Digest)
}
