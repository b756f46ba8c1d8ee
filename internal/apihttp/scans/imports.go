package scans

import (
	"context"
	"fmt"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"github.com/redoubt/redoubt/api"
	"github.com/redoubt/redoubt/internal/apihttp/core"
	"github.com/redoubt/redoubt/internal/apihttp/files"
	"github.com/redoubt/redoubt/internal/conceal"
	"github.com/redoubt/redoubt/internal/exceptions"
	"github.com/redoubt/redoubt/internal/gate"
	"github.com/redoubt/redoubt/internal/ingest"
	"github.com/redoubt/redoubt/internal/model"
	"github.com/redoubt/redoubt/internal/report"
)

// importReports reads reports from the body as a stream and stores all of them in one transaction.
// The body is not stored, and secrets are removed before anything is written
// (docs/reference/secrets.md). The idempotency key covers files and fields, independent of the
// encoding of the form.
func importReports(ctx context.Context, c *core.Call, in *api.ImportQuery) (*api.ImportResponse, error) {
	reserved := c.Server.Intake.Reserve()
	defer reserved.Release()
	reader := &files.Reader{Call: c, In: in, May: reserved.May, Free: reserved.Free, O: report.Options{
		Key: c.Server.SecretKey, Limits: report.Limits{Input: c.Server.Limits.Upload},
		OnRead: reserved.Add, Built: reserved.Build,
	}}
	if err := reader.ReadBody(ctx); err != nil {
		return nil, err
	}
	if err := c.Idempotent.Members(in); err != nil {
		return nil, err
	}
	upload, err := uploadOf(in)
	if err != nil {
		return nil, err
	}
	if err := gate.CanUseProject(c.Caller.Globs(), in.Project); err != nil {
		return nil, err
	}
	if signedIn := c.Caller.SignedIn; signedIn != nil {
		if err := signedIn(ctx); err != nil {
			return nil, err
		}
	}
	out, err := importIdentical(ctx, c, &upload, reader)
	if err != nil || out != nil {
		return out, err
	}
	cleaned := reader.Reading.Clean(reader.Secret) // slow work, before the transaction blocks others
	if out, err = storeImport(files.Storing(ctx, reserved), c, upload, reader, cleaned); err == nil {
		awaitIndex(ctx, c, out)
	}
	return out, err
}

// importIdentical records an upload of one file that is identical to the previous one. It parses
// any other upload and returns nil.
func importIdentical(
	ctx context.Context, c *core.Call, upload *ingest.Upload, reader *files.Reader,
) (out *api.ImportResponse, err error) {
	if reader.Buffered == nil {
		return nil, nil
	}
	upload.Decides = c.Caller.CanTriage()
	if upload.Digest, err = reader.Digest(upload.Decides); err != nil {
		return nil, err
	}
	known, err := hasUpload(ctx, c, *upload, reader)
	if err != nil {
		return nil, err
	}
	if known {
		if out, err = recordIdentical(ctx, c, *upload); err != nil || out != nil {
			return out, err
		}
	}
	return nil, reader.ReadToEnd()
}

// storeImport stores the reports of an upload.
func storeImport(
	ctx context.Context, c *core.Call, upload ingest.Upload, reader *files.Reader, cleaned *report.Cleaned,
) (*api.ImportResponse, error) {
	return core.RunIdempotent(ctx, c, func(ctx context.Context) (*api.ImportResponse, error) {
		upload.Globs, upload.Decides = c.Caller.Globs(), c.Caller.CanTriage()
		upload.Advised = c.Server.Advisories.For(c.Tx)
		if err := gate.CanUpload(ctx, c.Tx, c.Caller, upload.Ref, upload.Commit); err != nil {
			return nil, err
		}
		judge := importGate{tx: c.Tx}
		upload.Before = judge.inspect
		reports, err := conceal.Resolve(ctx, c.Tx, cleaned)
		if err != nil {
			return nil, err
		}
		summaries, err := ingest.ApplyAll(ctx, c.Tx, exceptions.ForImport{Store: c.Tx}, upload, reports)
		if err != nil {
			return nil, err
		}
		out := gate.ImportAnswer(summaries)
		out.Files, out.Unread = reader.Read, append(out.Unread, reader.Unread...)
		out.Given = out.Files + len(out.Unread)
		out.Gate, err = judge.answer(ctx, summaries)
		return out, err
	})
}

const (
	// LargeImport is the number of changed findings from which an upload waits for the index.
	LargeImport = 1000
	// maxIndexWait limits that wait, which is far shorter than storing the upload.
	maxIndexWait = 2 * time.Second
)

// awaitIndex waits until lists contain the changes of a large upload, so that the next read does not
// wait. Small uploads are indexed faster than a client can send the next request.
func awaitIndex(ctx context.Context, c *core.Call, out *api.ImportResponse) {
	changed := 0
	for _, i := range out.Imports {
		changed += i.New + i.Changed + i.Returned + i.Moved + i.Closed + i.Removed
	}
	if changed < LargeImport {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, maxIndexWait)
	defer cancel()
	c.Server.Index.AwaitCommits(ctx, c.Caller.Deployment.ID)
}

// uploadOf converts the parameters of the request.
func uploadOf(in *api.ImportQuery) (ingest.Upload, error) {
	var bad model.InvalidError
	fault := func(location, text string) {
		bad.Fields = append(bad.Fields, model.FieldError{Location: location, Message: text})
	}
	u := ingest.Upload{
		Project: model.Project{Name: in.Project, URL: in.RepoURL},
		Ref:     in.Ref, Commit: in.Commit, Full: !in.Diff, DeclaredFull: in.Full || in.Whole,
		Whole: in.Whole, Category: in.Category, Strict: in.Strict,
	}
	if in.Project == "" {
		fault("query.project", "is required: the project of the report, such as acme/payments")
	} else if err := model.CheckProjectName(in.Project); err != nil {
		fault("query.project", err.Error())
	}
	if in.Full && in.Diff {
		fault("query.diff", "contradicts full: send one of them")
	}
	if in.Whole && in.Diff {
		fault("query.diff", "contradicts whole: send one of them")
	}
	if in.At != "" {
		at, err := time.Parse(time.RFC3339, in.At)
		if err != nil || at.UTC().Year() < 1 {
			fault("query.at", "expected an RFC 3339 date-time, as 2024-05-28T06:38:54Z")
		}
		u.At = at
	}
	if len(bad.Fields) > 0 {
		return u, &bad
	}
	return u, nil
}

// importBody documents the body of the operation, which has no struct.
func importBody() *huma.RequestBody {
	binary := &huma.Schema{Type: huma.TypeString, Format: "binary"}
	fields := map[string]*huma.Schema{"file": {
		Type:        huma.TypeArray,
		Items:       binary,
		Description: "Reports or lockfiles. The name of a lockfile is its path in the repository.",
	}}
	fields["unread"] = &huma.Schema{
		Type:  huma.TypeArray,
		Items: binary,
		Description: "Existing lockfiles that are not sent because they are too large. The file name is the path " +
			"in the repository, the content is a one-line reason. Their previous contents remain.",
	}
	for _, name := range []string{"project", "ref", "category", "at", "commit", "repo_url", "format"} {
		fields[name] = &huma.Schema{
			Type:        huma.TypeString,
			Description: fmt.Sprintf("Same as the parameter %s; before the files.", name),
		}
	}
	for _, name := range []string{"whole", "full", "diff", "strict"} {
		fields[name] = &huma.Schema{
			Type:        huma.TypeBoolean,
			Description: fmt.Sprintf("Same as the parameter %s; before the files.", name),
		}
	}
	return &huma.RequestBody{
		Required: true, Description: "Reports of scanners, or lockfiles.",
		Content: map[string]*huma.MediaType{
			"multipart/form-data": {
				Schema: &huma.Schema{Type: huma.TypeObject, Properties: fields, Required: []string{"file"}},
			},
			"application/octet-stream": {Schema: binary},
			"application/json":         {Schema: &huma.Schema{Type: huma.TypeObject, Description: "A report as JSON."}},
		},
	}
}
