package files

import (
	"context"
	"errors"
	"io"
	"mime"
	"mime/multipart"
	"net/http"
	"strconv"

	"github.com/redoubt/redoubt/api"
	"github.com/redoubt/redoubt/internal/apihttp/core"
	"github.com/redoubt/redoubt/internal/conceal"
	"github.com/redoubt/redoubt/internal/httpx"
	"github.com/redoubt/redoubt/internal/model"
	"github.com/redoubt/redoubt/internal/redact"
	"github.com/redoubt/redoubt/internal/report"
	"github.com/redoubt/redoubt/internal/store"
)

// maxFiles and maxField limit a form: the number of files, and the bytes of one field.
const (
	maxFiles = 1000
	maxField = 4 << 10
)

// Reader reads the files of an upload. If a lockfile among several files cannot be read, the others
// are still accepted (docs/reference/uploads.md).
type Reader struct {
	Call     *core.Call
	In       *api.ImportQuery
	O        report.Options
	May      func(bytes int) bool // reserves memory for an optimization, if there is enough
	Free     func(bytes int)      // releases that memory
	Reading  report.Reading
	begun    bool                         // the rules were loaded
	Secret   func(tool, rule string) bool // reports whether a rule detects secrets
	named    int                          // files of the form so far; 0 without a form
	Buffered *bufferedFile                // the first file, until it is read
	Read     int
	Unread   []api.UnreadFile
	fault    error // error of the first file that could not be read

	rules   []byte        // result of digestOfRules
	Project model.Project // the stored project; zero for a new one
}

// ReadBody reads the body: a form with files, or one raw file.
func (f *Reader) ReadBody(ctx context.Context) error {
	body, err := core.Inflate(f.Call.R, f.Call.Server.Limits.Upload)
	if err != nil {
		return err
	}
	media, params, err := mime.ParseMediaType(f.Call.R.Header.Get("Content-Type"))
	if err == nil && media == "multipart/form-data" {
		if err := f.readForm(ctx, multipart.NewReader(body, params["boundary"])); err != nil {
			return err
		}
		return f.begin(ctx) // a form without files
	}
	if err := f.begin(ctx); err != nil {
		return err
	}
	return f.Add(body, f.In.Filename)
}

// begin loads the rules and the project before the first file is read, when the project's name is
// known.
func (f *Reader) begin(ctx context.Context) error {
	if f.begun {
		return nil
	}
	f.begun = true
	f.names().Names(&f.In.Project, &f.In.Ref, &f.In.Commit, &f.In.Category, &f.In.RepoURL, &f.In.Filename, &f.In.Root)
	c := f.Call
	return c.View(ctx, func(ctx context.Context) error {
		texts, err := c.Tx.RuleTexts(ctx)
		if err != nil {
			return err
		}
		f.O.RuleText, f.rules = func(name string) []byte { return texts[name] }, digestOfRules(texts)
		if f.Secret, err = conceal.KnownRules(ctx, c.Tx); err != nil {
			return err
		}
		f.Project, err = knownProject(ctx, c.Tx, c.Caller.Globs(), f.In)
		return err
	})
}

// readForm reads the fields of a form and then its files. Fields must come first, because they
// define how files are read.
func (f *Reader) readForm(ctx context.Context, form *multipart.Reader) error {
	for {
		part, err := form.NextPart()
		if err == io.EOF { //nolint:errorlint // a form that is cut off wraps it, and would pass for one that ended
			break
		}
		if err != nil {
			return core.BodyFault(err)
		}
		switch {
		case part.FileName() == "" && f.named > 0:
			return model.Invalid("body."+part.FormName(), "follows a file: put the fields of the form before its files")
		case part.FileName() == "":
			err = setField(f.In, part)
		case f.named == maxFiles:
			err = model.Invalid("body", "contains more than %d files: send the others in another request", maxFiles)
		default:
			f.named++
			if err = f.begin(ctx); err == nil {
				err = f.addPart(part)
			}
		}
		if err != nil {
			return err
		}
	}
	switch {
	case f.named == 0 && !f.In.Whole:
		return model.Invalid("body", "contains no file")
	case f.In.Whole:
		f.Reading.MarkComplete() // there may be no readable lockfile
	case f.Read == 0 && f.Buffered == nil:
		return f.fault
	}
	return nil
}

// formFileName returns the whole name of a file: FileName removes folders, which are part of a
// lockfile's path in the repository.
func formFileName(part *multipart.Part) string {
	_, params, err := mime.ParseMediaType(part.Header.Get("Content-Disposition"))
	if err != nil {
		return part.FileName()
	}
	return params["filename"]
}

// addPart reads a file of a form, or the reason why it was not sent.
func (f *Reader) addPart(part *multipart.Part) error {
	name := formFileName(part)
	if part.FormName() == "unread" {
		return f.addUnsent(part, name)
	}
	return f.Add(part, name)
}

// Add reads a file with the options of the request, which may follow in a later field. The first
// file is buffered until another file or the end follows.
func (f *Reader) Add(body io.Reader, name string) error {
	return f.Call.Idempotent.File(body, name, func(body io.Reader) error {
		body, waits := f.buffer(body, name)
		if waits {
			return nil
		}
		if err := f.readBuffered(); err != nil {
			return err
		}
		return f.readFile(body, name)
	})
}

func (f *Reader) readFile(body io.Reader, name string) error {
	o := f.options(name)
	err := f.Reading.Add(body, o)
	switch {
	case err == nil:
		f.Read++
	case f.named > 0 && !f.In.Strict && f.isFileFault(err) && f.leaveOut(o, err):
		return nil
	}
	return err
}

// names returns a finder that redacts the request's texts like those of reports.
func (f *Reader) names() redact.Finder { return redact.Finder{Key: f.O.Key} }

func (f *Reader) options(name string) report.Options {
	o := f.O
	o.Name, o.Format, o.Category, o.Root = f.names().Name(name), report.Format(f.In.Format), f.In.Category, f.In.Root
	return o
}

// isFileFault reports whether the file itself caused the error, and not the connection, a size
// limit or the memory limit.
func (f *Reader) isFileFault(err error) bool {
	var bad *report.FileError
	var oversize *http.MaxBytesError
	return errors.As(err, &bad) && !errors.As(err, &oversize) && !errors.Is(err, core.ErrCutOff) &&
		!errors.Is(err, model.ErrUnavailable) && !errors.Is(err, context.Canceled) && f.O.OnRead(0) == nil
}

// leaveOut records that a lockfile cannot be read. It returns false for any other file: an import
// without that report could close its findings.
func (f *Reader) leaveOut(o report.Options, err error) bool {
	reason := err.Error()
	if bad := (*report.FileError)(nil); errors.As(err, &bad) {
		reason = bad.Reason()
	}
	path, ok := f.Reading.Unread(o, reason)
	if !ok {
		return false
	}
	f.Unread = append(f.Unread, api.UnreadFile{Name: path, Reason: reason})
	if f.fault == nil {
		f.fault = err
	}
	return true
}

// addUnsent reads the reason why a lockfile was not sent.
func (f *Reader) addUnsent(part *multipart.Part, name string) error {
	var why []byte
	err := f.Call.Idempotent.File(part, name+"\x00unread", func(body io.Reader) (err error) {
		why, err = io.ReadAll(io.LimitReader(body, maxField+1))
		return err
	})
	switch {
	case err != nil:
		return core.BodyFault(err)
	case len(why) == 0 || len(why) > maxField:
		return model.Invalid("body.unread",
			"expected a one-line reason why %.200q is not sent, of at most %d bytes", name, maxField)
	}
	if err := f.readBuffered(); err != nil { // there is more than one file
		return err
	}
	if !f.leaveOut(f.options(name), &report.FileError{Name: name, Offset: -1, Err: errors.New(string(why))}) {
		return model.Invalid("body.unread", "%.200q is not a lockfile", name)
	}
	return nil
}

// setField sets the parameter of a form field.
func setField(in *api.ImportQuery, part *multipart.Part) error {
	data, err := io.ReadAll(io.LimitReader(part, maxField+1))
	if err != nil {
		return core.BodyFault(err)
	}
	name, value := part.FormName(), string(data)
	if len(data) > maxField {
		return model.Invalid("body."+name, "is longer than %d bytes", maxField)
	}
	texts := map[string]*string{
		"project": &in.Project, "ref": &in.Ref, "category": &in.Category, "at": &in.At, "commit": &in.Commit,
		"repo_url": &in.RepoURL, "format": &in.Format, "filename": &in.Filename, "root": &in.Root,
	}
	flags := map[string]*bool{"whole": &in.Whole, "full": &in.Full, "diff": &in.Diff, "strict": &in.Strict}
	switch {
	case texts[name] != nil:
		*texts[name] = value
	case flags[name] != nil:
		if *flags[name], err = strconv.ParseBool(value); err != nil {
			return model.Invalid("body."+name, "expected true or false, got %.20q", value)
		}
	}
	return nil
}

// Storing returns the context for storing an upload. Large uploads yield to small ones.
func Storing(ctx context.Context, reservation *httpx.Reservation) context.Context {
	if reservation.Long() {
		return store.Long(ctx)
	}
	return ctx
}
