package scans

import (
	"context"
	"errors"

	"github.com/redoubt/redoubt/api"
	"github.com/redoubt/redoubt/internal/apihttp/core"
	"github.com/redoubt/redoubt/internal/apihttp/files"
	"github.com/redoubt/redoubt/internal/gate"
	"github.com/redoubt/redoubt/internal/ingest"
	"github.com/redoubt/redoubt/internal/model"
)

// errNotIdentical rolls back the transaction of an upload that has to be parsed.
var errNotIdentical = errors.New("no identical upload")

// recordIdentical records an upload that is identical to the previous one. It returns nil if
// the upload is not identical.
func recordIdentical(ctx context.Context, c *core.Call, upload ingest.Upload) (*api.ImportResponse, error) {
	out, err := core.RunIdempotent(ctx, c, func(ctx context.Context) (*api.ImportResponse, error) {
		if err := gate.CanUpload(ctx, c.Tx, c.Caller, upload.Ref, upload.Commit); err != nil {
			return nil, err
		}
		upload.Globs = c.Caller.Globs()
		judge := &importGate{tx: c.Tx}
		summary, identical, err := gate.Identical(ctx, c.Tx, judge, upload)
		if err != nil {
			return nil, err
		}
		if !identical {
			return nil, errNotIdentical
		}
		summaries := []ingest.Summary{summary}
		out := gate.ImportAnswer(summaries)
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
func hasUpload(ctx context.Context, c *core.Call, upload ingest.Upload, reader *files.Reader) (bool, error) {
	if reader.Project.ID == 0 {
		return false, nil
	}
	return c.Server.Store.HasUpload(ctx, c.Caller.Deployment.ID, reader.Project.ID,
		model.FullRef(upload.Ref), upload.Digest)
}
