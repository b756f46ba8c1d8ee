// Package imports contains the command that imports reports, lockfiles and bills of materials into
// a database on this machine. Code around findings is read from the checkout in which the command
// runs.
package imports

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"slices"
	"time"

	"github.com/redoubt/redoubt/api"
	"github.com/redoubt/redoubt/internal/advisory"
	"github.com/redoubt/redoubt/internal/cli/command"
	"github.com/redoubt/redoubt/internal/cli/webapi"
	"github.com/redoubt/redoubt/internal/conceal"
	"github.com/redoubt/redoubt/internal/exceptions"
	"github.com/redoubt/redoubt/internal/gate"
	"github.com/redoubt/redoubt/internal/ingest"
	"github.com/redoubt/redoubt/internal/model"
	"github.com/redoubt/redoubt/internal/redact"
	"github.com/redoubt/redoubt/internal/report"
	"github.com/redoubt/redoubt/internal/store"
)

// Command imports files into a database.
type Command struct {
	command.Tenant
	Project  string    `help:"Project, such as acme/payments; created if missing." required:"" placeholder:"NAME"`
	Ref      string    `help:"Scanned branch or ref (default: HEAD)." placeholder:"REF"`
	Commit   string    `help:"Scanned commit; can be abbreviated in its checkout (default: from the report)." placeholder:"SHA"`
	RepoURL  string    `help:"Repository URL, for links to code." placeholder:"URL"`
	Tag      []string  `help:"Add tags to the project." placeholder:"TAG"`
	Category string    `help:"Category of runs of one tool; each closes only its own findings." placeholder:"NAME"`
	Format   string    `help:"File format (default: detected): ${formats}." placeholder:"FORMAT"`
	Full     bool      `help:"Treat files as a full scan: close findings of their source that they lack." xor:"extent"`
	Diff     bool      `help:"Treat files as a diff scan: do not close findings of full scans." xor:"extent"`
	At       time.Time `help:"Backdate the scan, such as 2026-01-31T12:00:00Z." format:"2006-01-02T15:04:05Z07:00" placeholder:"TIME"`
	Root     string    `help:"Checkout folder on the scanning machine; for absolute paths in reports." placeholder:"DIR"`
	Strict   bool      `help:"Reject the import if an item or file is unreadable."`
	JSON     bool      `help:"Print the result as JSON." name:"json"`
	Files    []string  `arg:"" name:"file" help:"Reports, bills of materials, VEX documents, lockfiles (relative to the repository), or folders with lockfiles and bills of materials."`
}

// exitPartly is the exit code if some files could not be read and the others were imported.
const exitPartly = 3

// Run imports the files as one upload: a scan for each source in them, all or none. Unreadable
// lockfiles are reported, and the other files are imported.
func (c Command) Run(a *command.App) error {
	st, d, err := c.Use(a)
	if err != nil {
		return err
	}
	files, summaries, err := c.run(a, st, d.ID)
	if err == nil {
		err = c.Print(a, summaries, files)
	}
	if err = errors.Join(err, st.Close()); err != nil {
		return err
	}
	files.printUnread(a.Err)
	for _, path := range files.left {
		fmt.Fprintf(a.Err, "%s is missing from the folder, but stays current: use --full to remove it\n", path)
	}
	files.code.printOmitted(a.Err)
	if len(files.unread) > 0 {
		return &command.ExitError{Code: exitPartly}
	}
	return nil
}

func (c Command) run(a *command.App, st *store.Store, deploymentID int64) (*importReader, []ingest.Summary, error) {
	ring, err := command.OpenKeys(a, c.Storage, st)
	if err != nil {
		return nil, nil, err
	}
	files := &importReader{strict: c.Strict, o: report.Options{
		Format: report.Format(c.Format), Category: c.Category, Root: c.Root, Key: ring.Secret,
	}}
	list, err := c.files(files)
	if err != nil {
		return nil, nil, err
	}
	redact.Finder{Key: ring.Secret}.Names(&c.Project, &c.RepoURL, &c.Ref, &c.Commit, &c.Category)
	files.code = c.openCheckout(a.Ctx)
	c.Commit = cmp.Or(files.code.commit, c.Commit)
	defer files.code.close()
	var secret func(tool, rule string) bool
	err = st.View(a.Ctx, deploymentID, func(ctx context.Context, tx *store.Tx) (err error) {
		texts, err := tx.RuleTexts(ctx)
		if err != nil {
			return err
		}
		files.o.RuleText = func(name string) []byte { return texts[name] }
		secret, err = conceal.KnownRules(ctx, tx)
		return err
	})
	if err != nil {
		return nil, nil, err
	}
	bar := newProgress(command.Raw(a.Err), list)
	defer bar.close()
	if err := files.readAll(a.Ctx, list, bar); err != nil {
		return nil, nil, err
	}
	cleaned := files.reading.Clean(secret)
	bar.storing()
	var summaries []ingest.Summary
	err = st.Update(a.Ctx, deploymentID, a.Actor(), func(ctx context.Context, tx *store.Tx) (err error) {
		upload := c.upload()
		upload.DeclaredFull = c.Full && !files.incomplete
		upload.Advised = advisory.NewLibrary(command.AdvisoryOrders).For(tx)
		reports, err := conceal.Resolve(ctx, tx, cleaned)
		if err != nil {
			return err
		}
		if summaries, err = ingest.ApplyAll(ctx, tx, exceptions.ForImport{Store: tx}, upload, reports); err != nil {
			return err
		}
		if len(files.unread) == 0 { // otherwise unread files may be among them
			files.left, err = c.leftLockfiles(ctx, tx, summaries)
		}
		return err
	})
	return files, summaries, err
}

// leftLockfiles returns the lockfiles of earlier imports that are missing in a named directory. An
// import that is not full leaves them unchanged.
func (c Command) leftLockfiles(
	ctx context.Context, tx *store.Tx, summaries []ingest.Summary,
) (left []string, err error) {
	isFolder := func(name string) bool {
		info, err := os.Stat(name)
		return err == nil && info.IsDir()
	}
	if c.Full || c.Diff || !slices.ContainsFunc(c.Files, isFolder) {
		return nil, nil
	}
	for _, s := range summaries {
		if s.Source != model.ToolLockfile {
			continue
		}
		paths, err := tx.UnstatedLockfiles(ctx, s.ProjectID, s.Ref, s.Source, s.ScanID)
		if err != nil {
			return nil, err
		}
		left = append(left, paths...)
	}
	return left, nil
}

func (c Command) upload() ingest.Upload {
	return ingest.Upload{
		Project: model.Project{Name: c.Project, URL: c.RepoURL, Tags: c.Tag},
		Ref:     c.Ref, Commit: c.Commit, Category: c.Category,
		Full: !c.Diff, At: c.At, Strict: c.Strict, Decides: true, // users with access to the database may decide
	}
}

// Print prints a line for each source, then each rejected item and each unreadable file.
func (c Command) Print(a *command.App, summaries []ingest.Summary, files *importReader) error {
	if c.JSON {
		enc := json.NewEncoder(a.Out)
		enc.SetIndent("", "  ")
		out := ungated{ImportResponse: gate.ImportAnswer(summaries)}
		out.Files = files.read
		for _, f := range files.unread {
			out.Unread = append(out.Unread, f.UnreadFile)
		}
		out.Given = out.Files + len(out.Unread)
		return enc.Encode(out)
	}
	for _, s := range summaries {
		s.Refused = slices.DeleteFunc(slices.Clone(s.Refused), files.isUnread)
		fmt.Fprintf(a.Out, "%s %s: %s\n", s.Project, s.Ref, describe(s))
		for _, r := range s.VEX {
			fmt.Fprintf(a.Out, "  %s\n", webapi.DescribeVEX(gate.VEXAnswer(r)))
		}
		if s.SkippedVulnerabilities > 0 {
			fmt.Fprintf(a.Out, "  %s\n", gate.SkippedNote(s.SkippedVulnerabilities))
		}
		for _, r := range s.Refused {
			fmt.Fprintf(a.Out, "  refused %s: %s\n", r.Item, r.Reason)
		}
		if s.MoreRefused > 0 {
			fmt.Fprintf(a.Out, "  refused %d more\n", s.MoreRefused)
		}
	}
	if all := files.read + len(files.unread); all > 1 {
		fmt.Fprintf(a.Out, "%d of %d files read\n", files.read, all)
	}
	return nil
}

// ungated is the response of the upload API without the gate. An import into the database does not
// evaluate the gate, and an empty result would read as if nothing blocked.
type ungated struct {
	*api.ImportResponse
	Gate *api.ImportGate `json:"gate,omitempty"`
}

// describe describes the result of one source in a sentence.
func describe(s ingest.Summary) string {
	switch s.Outcome {
	case model.ScanLate:
		return fmt.Sprintf("%s scan %d is older than the newest full scan: recorded without changes", s.Source, s.ScanID)
	case model.ScanSuperseded:
		return fmt.Sprintf("%s scan %d repeats a commit with newer scans: recorded without changes", s.Source, s.ScanID)
	}
	if s.Source == model.ToolVEX {
		return fmt.Sprintf("VEX recorded as scan %d", s.ScanID)
	}
	text := fmt.Sprintf("%s scan %d: %d new, %d changed, %d returned, %d moved, %d closed, %d unchanged, %d refused",
		s.Source, s.ScanID, s.New, s.Changed, s.Returned, s.Moved, s.Closed, s.Unchanged, s.CountRefused())
	if s.MoreLocations > 0 {
		text += fmt.Sprintf("; %d more locations of the same secrets", s.MoreLocations)
	}
	if s.Lockfiles > 0 || s.DependenciesRemoved > 0 { // the last lockfile may be gone
		text += fmt.Sprintf("; %d lockfiles, %d dependencies added, %d removed",
			s.Lockfiles, s.DependenciesAdded, s.DependenciesRemoved)
	}
	if f := s.Followed; f != nil && len(f.Items) > 0 {
		text += fmt.Sprintf("; by advisories %d new, %d changed, %d returned, %d closed, %d removed",
			f.New, f.Changed+f.Moved, f.Returned, f.Closed, f.Removed)
	}
	return text
}
