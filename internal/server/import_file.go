package server

import (
	"context"
	"errors"
	"io"
	"mime"
	"mime/multipart"
	"net/http"
	"strconv"

	"github.com/redoubt/redoubt/api"
	"github.com/redoubt/redoubt/internal/conceal"
	"github.com/redoubt/redoubt/internal/httpx"
	"github.com/redoubt/redoubt/internal/model"
	"github.com/redoubt/redoubt/internal/redact"
	"github.com/redoubt/redoubt/internal/report"
	"github.com/redoubt/redoubt/internal/store"
)

// maxFiles and maxField bound a form: its files, and the bytes of one field.
const (
	maxFiles = 1000
	maxField = 4 << 10
)

// importFiles reads the files of an upload. One lockfile among several that
// cannot be read keeps none of the others out (semantics §15).
type importFiles struct {
	call     *call
	in       *api.ImportQuery
	o        report.Options
	may      func(bytes int) bool // whether there is room for what saves work
	free     func(bytes int)      // gives that room back
	reading  report.Reading
	begun    bool                         // the rules are known
	secret   func(tool, rule string) bool // rules that look for secrets
	named    int                          // files that the form has so far; 0 without one
	buffered *bufferedFile                // the first file, until it is read
	read     int
	unread   []api.UnreadFile
	fault    error // of the first that could not be read

	rules   []byte        // digestOfRules
	project model.Project // as it is stored; zero for a new one
}

// readBody reads the body: a form with files, or one raw file.
func (f *importFiles) readBody(ctx context.Context) error {
	body, err := inflate(f.call.r, f.call.server.Limits.Upload)
	if err != nil {
		return err
	}
	media, params, err := mime.ParseMediaType(f.call.r.Header.Get("Content-Type"))
	if err == nil && media == "multipart/form-data" {
		if err := f.readForm(ctx, multipart.NewReader(body, params["boundary"])); err != nil {
			return err
		}
		return f.begin(ctx) // of a form without files
	}
	if err := f.begin(ctx); err != nil {
		return err
	}
	return f.add(body, f.in.Filename)
}

// begin asks, before the first file is read and once it is told what it is of, what is
// to be known of rules, and of the project.
func (f *importFiles) begin(ctx context.Context) error {
	if f.begun {
		return nil
	}
	f.begun = true
	f.names().Names(&f.in.Project, &f.in.Ref, &f.in.Commit, &f.in.Category, &f.in.RepoURL, &f.in.Filename, &f.in.Root)
	c := f.call
	return c.view(ctx, func(ctx context.Context) error {
		texts, err := c.tx.RuleTexts(ctx)
		if err != nil {
			return err
		}
		f.o.RuleText, f.rules = func(name string) []byte { return texts[name] }, digestOfRules(texts)
		if f.secret, err = conceal.KnownRules(ctx, c.tx); err != nil {
			return err
		}
		f.project, err = knownProject(ctx, c.tx, c.caller.Globs(), f.in)
		return err
	})
}

// readForm reads fields, which must come first since they say how files are to
// be read, and then files.
func (f *importFiles) readForm(ctx context.Context, form *multipart.Reader) error {
	for {
		part, err := form.NextPart()
		if err == io.EOF { //nolint:errorlint // a form that is cut off wraps it, and would pass for one that ended
			break
		}
		if err != nil {
			return bodyFault(err)
		}
		switch {
		case part.FileName() == "" && f.named > 0:
			return model.Invalid("body."+part.FormName(), "comes behind a file: put the fields of the form before its files")
		case part.FileName() == "":
			err = setField(f.in, part)
		case f.named == maxFiles:
			err = model.Invalid("body", "holds more than %d files: send the others in another request", maxFiles)
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
	case f.named == 0 && !f.in.Whole:
		return model.Invalid("body", "holds no file")
	case f.in.Whole:
		f.reading.Whole() // there may be no lockfile left
	case f.read == 0 && f.buffered == nil:
		return f.fault
	}
	return nil
}

// formFileName is the whole name that a client gave: FileName cuts folders off,
// and for a lockfile they are its path in the repository.
func formFileName(part *multipart.Part) string {
	_, params, err := mime.ParseMediaType(part.Header.Get("Content-Disposition"))
	if err != nil {
		return part.FileName()
	}
	return params["filename"]
}

// addPart reads a file of a form, or why it was not sent.
func (f *importFiles) addPart(part *multipart.Part) error {
	name := formFileName(part)
	if part.FormName() == "unread" {
		return f.addUnsent(part, name)
	}
	return f.add(part, name)
}

// add reads a file as the request says to, which a form may say late. The first one waits
// until another one or the end comes.
func (f *importFiles) add(body io.Reader, name string) error {
	return f.call.idempotent.file(body, name, func(body io.Reader) error {
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

func (f *importFiles) readFile(body io.Reader, name string) error {
	o := f.options(name)
	err := f.reading.Add(body, o)
	switch {
	case err == nil:
		f.read++
	case f.named > 0 && !f.in.Strict && f.isFileFault(err) && f.leaveOut(o, err):
		return nil
	}
	return err
}

// names redacts what the request says of its files, as the reports are.
func (f *importFiles) names() redact.Finder { return redact.Finder{Key: f.o.Key} }

func (f *importFiles) options(name string) report.Options {
	o := f.o
	o.Name, o.Format, o.Category, o.Root = f.names().Name(name), report.Format(f.in.Format), f.in.Category, f.in.Root
	return o
}

// isFileFault reports whether the file is to blame: not the connection, nor the
// room that there is.
func (f *importFiles) isFileFault(err error) bool {
	var bad *report.FileError
	var oversize *http.MaxBytesError
	return errors.As(err, &bad) && !errors.As(err, &oversize) && !errors.Is(err, errCutOff) &&
		!errors.Is(err, model.ErrUnavailable) && !errors.Is(err, context.Canceled) && f.o.Take(0) == nil
}

// leaveOut notes that a lockfile cannot be read, and returns false for any other
// file: what a report says without it might close what it holds.
func (f *importFiles) leaveOut(o report.Options, err error) bool {
	reason := err.Error()
	if bad := (*report.FileError)(nil); errors.As(err, &bad) {
		reason = bad.Reason()
	}
	path, ok := f.reading.Unread(o, reason)
	if !ok {
		return false
	}
	f.unread = append(f.unread, api.UnreadFile{Name: path, Reason: reason})
	if f.fault == nil {
		f.fault = err
	}
	return true
}

// addUnsent takes why a lockfile is not sent.
func (f *importFiles) addUnsent(part *multipart.Part, name string) error {
	var why []byte
	err := f.call.idempotent.file(part, name+"\x00unread", func(body io.Reader) (err error) {
		why, err = io.ReadAll(io.LimitReader(body, maxField+1))
		return err
	})
	switch {
	case err != nil:
		return bodyFault(err)
	case len(why) == 0 || len(why) > maxField:
		return model.Invalid("body.unread", "expected in a line why %.200q is not sent, of at most %d bytes", name, maxField)
	}
	if err := f.readBuffered(); err != nil { // there is more than one file
		return err
	}
	if !f.leaveOut(f.options(name), &report.FileError{Name: name, Offset: -1, Err: errors.New(string(why))}) {
		return model.Invalid("body.unread", "names %.200q, which is no lockfile", name)
	}
	return nil
}

// setField takes a field of the form, under the name of the parameter.
func setField(in *api.ImportQuery, part *multipart.Part) error {
	data, err := io.ReadAll(io.LimitReader(part, maxField+1))
	if err != nil {
		return bodyFault(err)
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

// VEXAnswer describes what became of a document, as the API and the command line do.
func VEXAnswer(r model.VEXReceipt) api.ImportVEX {
	out := api.ImportVEX{
		Name: r.Document.Name, Format: r.Document.Format,
		Outcome: string(r.Outcome), Statements: r.Statements, Triaged: r.Changed,
	}
	if r.Document.ID != 0 {
		out.ID = decimal(r.Document.ID)
	}
	return out
}

// storing returns the context for storing an upload: a large upload lets small ones go first.
func storing(ctx context.Context, room *httpx.Reservation) context.Context {
	if room.Long() {
		return store.Long(ctx)
	}
	return ctx
}
