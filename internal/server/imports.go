package server

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"github.com/redoubt/redoubt/api"
	"github.com/redoubt/redoubt/internal/conceal"
	"github.com/redoubt/redoubt/internal/exceptions"
	"github.com/redoubt/redoubt/internal/gate"
	"github.com/redoubt/redoubt/internal/ingest"
	"github.com/redoubt/redoubt/internal/model"
	"github.com/redoubt/redoubt/internal/report"
)

// importReports reads reports from the body as it comes in, and takes all of
// them in within one transaction. Nothing is kept of the body on the way, and
// secrets in it are gone before anything is written (semantics §16). With a key,
// what is compared is the files and fields, not how the form puts them.
func importReports(ctx context.Context, c *call, in *api.ImportQuery) (*api.ImportResponse, error) {
	room := c.server.intake.Reserve()
	defer room.Release()
	files := &importFiles{call: c, in: in, may: room.May, free: room.Free, o: report.Options{
		Key: c.server.SecretKey, Limits: report.Limits{Input: c.server.Limits.Upload}, Take: room.Add, Built: room.Build,
	}}
	if err := files.readBody(ctx); err != nil {
		return nil, err
	}
	if err := c.idempotent.members(in); err != nil {
		return nil, err
	}
	upload, err := uploadOf(in)
	if err != nil {
		return nil, err
	}
	if err := gate.MayTake(c.caller.Globs(), in.Project); err != nil {
		return nil, err
	}
	if signedIn := c.caller.SignedIn; signedIn != nil {
		if err := signedIn(ctx); err != nil {
			return nil, err
		}
	}
	out, err := importIdentical(ctx, c, &upload, files)
	if err != nil || out != nil {
		return out, err
	}
	cleaned := files.reading.Clean(files.secret) // what takes long, before others wait for it
	if out, err = takeImport(storing(ctx, room), c, upload, files, cleaned); err == nil {
		settle(ctx, c, out)
	}
	return out, err
}

// importIdentical records an upload of one file that is identical to the previous one. Any
// other upload it parses, and returns nil.
func importIdentical(
	ctx context.Context, c *call, upload *ingest.Upload, files *importFiles,
) (out *api.ImportResponse, err error) {
	if files.buffered == nil {
		return nil, nil
	}
	upload.Decides = c.caller.CanTriage()
	if upload.Digest, err = files.digest(upload.Decides); err != nil {
		return nil, err
	}
	known, err := hasUpload(ctx, c, *upload, files)
	if err != nil {
		return nil, err
	}
	if known {
		if out, err = recordIdentical(ctx, c, *upload); err != nil || out != nil {
			return out, err
		}
	}
	return nil, files.readToEnd()
}

// takeImport takes in what was read of an upload.
func takeImport(
	ctx context.Context, c *call, upload ingest.Upload, files *importFiles, cleaned *report.Cleaned,
) (*api.ImportResponse, error) {
	return runIdempotent(ctx, c, func(ctx context.Context) (*api.ImportResponse, error) {
		upload.Globs, upload.Decides = c.caller.Globs(), c.caller.CanTriage()
		upload.Advised = c.server.Advisories.For(c.tx)
		if err := gate.MayHandIn(ctx, c.tx, c.caller, upload.Ref, upload.Commit); err != nil {
			return nil, err
		}
		judge := importGate{tx: c.tx}
		upload.Before = judge.look
		reports, err := conceal.Resolve(ctx, c.tx, cleaned)
		if err != nil {
			return nil, err
		}
		summaries, err := ingest.ApplyAll(ctx, c.tx, exceptions.ForImport{Store: c.tx}, upload, reports)
		if err != nil {
			return nil, err
		}
		out := ImportAnswer(summaries)
		out.Files, out.Unread = files.read, append(out.Unread, files.unread...)
		out.Given = out.Files + len(out.Unread)
		out.Gate, err = judge.answer(ctx, summaries)
		return out, err
	})
}

const (
	// largeImport is how many findings an upload changes that is answered once lists
	// show them at once.
	largeImport = 1000
	// settleMost is how long that may take; it is far less than to store them.
	settleMost = 2 * time.Second
)

// settle has lists show what a large upload changed before it is answered, so that
// nobody waits who asks for one next. A small one is followed faster than one can ask.
func settle(ctx context.Context, c *call, out *api.ImportResponse) {
	changed := 0
	for _, i := range out.Imports {
		changed += i.New + i.Changed + i.Returned + i.Moved + i.Closed + i.Removed
	}
	if changed < largeImport {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, settleMost)
	defer cancel()
	c.server.Index.Settle(ctx, c.caller.Deployment.ID)
}

// uploadOf says of the reports what the request says of them.
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
		fault("query.project", "is needed: the project that the report is of, as acme/payments")
	} else if err := model.CheckProjectName(in.Project); err != nil {
		fault("query.project", err.Error())
	}
	if in.Full && in.Diff {
		fault("query.diff", "contradicts full: a report is of everything or of a change")
	}
	if in.Whole && in.Diff {
		fault("query.diff", "contradicts whole: the lockfiles are all that there are, or a change")
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

// ImportAnswer says what an upload did, as the API and the command line do.
func ImportAnswer(summaries []ingest.Summary) *api.ImportResponse {
	out := &api.ImportResponse{
		Imports: make([]api.Import, len(summaries)),
		Unread:  []api.UnreadFile{},
		Gate:    api.ImportGate{Blocking: []api.ImportItem{}, BlockingScans: []string{}},
	}
	for i, s := range summaries {
		out.Imports[i] = importOf(s)
	}
	return out
}

// notDecided says why what an upload says of findings changed none.
const notDecided = "The token may not triage, so VEX statements are proposed, and findings that the report mutes " +
	"outside of the code stay open. " +
	"Who may triage accepts proposals on the page VEX, over the API or with redoubt exceptions approve, or sends " +
	"the same again."

func importOf(s ingest.Summary) api.Import {
	out := api.Import{
		Project: s.Project, ProjectID: s.ProjectID, Ref: s.Ref,
		Source: s.Source, ScanID: decimal(s.ScanID), Outcome: outcomeOf(s),
		New: s.New, Changed: s.Changed, Returned: s.Returned, Moved: s.Moved,
		Closed: s.Closed, Removed: s.Removed, Unchanged: s.Unchanged,
		MorePlaces: s.MorePlaces, ProposedMutes: s.ProposedMutes,
		Items: importItems(s.Items), Advised: []api.ImportItem{}, Refused: make([]api.RefusedItem, len(s.Refused)),
		RefusedCount: s.CountRefused(), Counts: countsOf(s.Counts),
		Changes: api.InventoryChange{
			Lockfiles: s.Lockfiles, Added: s.DependenciesAdded,
			Removed: s.DependenciesRemoved, LockfilesDropped: orEmpty(s.LockfilesDropped),
		},
		VEX: make([]api.ImportVEX, len(s.VEX)),
	}
	dropped, again := 0, 0
	for i, r := range s.VEX {
		out.VEX[i] = VEXAnswer(r)
		if r.Outcome == model.VEXProposed {
			out.Note = notDecided
		}
		dropped += len(r.Dropped)
		if r.Outcome == model.VEXDropped {
			again++
		}
	}
	if s.ProposedMutes > 0 {
		out.Note = notDecided
	}
	var gone []string
	if dropped > 0 {
		gone = append(gone, fmt.Sprintf("%d older proposals of the project", dropped))
	}
	if again > 0 {
		gone = append(gone, fmt.Sprintf("%d of this upload", again))
	}
	if len(gone) > 0 {
		out.Note = strings.TrimSpace(out.Note + fmt.Sprintf(" Dropped: %s; a project may have %d documents with %d "+
			"statements of %d MiB, a deployment %d documents of %d MiB.",
			strings.Join(gone, " and "), model.MaxVEXProposals, model.MaxVEXProposedStatements, model.MaxVEXProposedBytes>>20,
			model.MaxAllVEXProposals, model.MaxAllVEXProposedBytes>>20))
	}
	if s.SkippedVulnerabilities > 0 {
		out.Note = strings.TrimSpace(out.Note + " " + SkippedNote(s.SkippedVulnerabilities))
	}
	if s.Followed != nil {
		out.Advised = importItems(s.Followed.Items)
	}
	for i, r := range s.Refused {
		out.Refused[i] = api.RefusedItem{Item: r.Item, Reason: r.Reason}
	}
	return out
}

// SkippedNote explains to users how many vulnerabilities of an SBOM were skipped.
func SkippedNote(n int) string {
	return fmt.Sprintf("Skipped vulnerabilities: %d. Redoubt wrote this SBOM, so only its packages were imported. To "+
		"move decisions, import a VEX document.", n)
}

func importItems(items []ingest.Item) []api.ImportItem {
	out := make([]api.ImportItem, len(items))
	for i, item := range items {
		out[i] = api.ImportItem{
			FindingID: item.FindingID,
			Rule:      item.Rule,
			Path:      item.Path,
			Line:      item.Line,
			Change:    string(item.Change),
			Muted:     item.Muted,
		}
	}
	return out
}

func outcomeOf(s ingest.Summary) string {
	switch {
	case s.Repeat:
		return "repeat"
	case s.Outcome == model.ScanLate:
		return "late"
	case s.Outcome == model.ScanSuperseded:
		return "superseded"
	}
	return "applied"
}

// importBody describes what the operation takes, which no struct does.
func importBody() *huma.RequestBody {
	binary := &huma.Schema{Type: huma.TypeString, Format: "binary"}
	fields := map[string]*huma.Schema{"file": {
		Type:        huma.TypeArray,
		Items:       binary,
		Description: "Reports or lockfiles; lockfiles are known by their name, which is their path in the repository.",
	}}
	fields["unread"] = &huma.Schema{
		Type:  huma.TypeArray,
		Items: binary,
		Description: "Lockfiles that are there and are not sent, as they are too large: the file name is the path in the " +
			"repository, the content says why, in a line. What is known of them stays.",
	}
	for _, name := range []string{"project", "ref", "category", "at", "commit", "repo_url", "format"} {
		fields[name] = &huma.Schema{
			Type:        huma.TypeString,
			Description: fmt.Sprintf("As the parameter %s; before the files.", name),
		}
	}
	for _, name := range []string{"whole", "full", "diff", "strict"} {
		fields[name] = &huma.Schema{
			Type:        huma.TypeBoolean,
			Description: fmt.Sprintf("As the parameter %s; before the files.", name),
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
