package export

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"

	"github.com/redoubt/redoubt/api"
	"github.com/redoubt/redoubt/internal/index"
	"github.com/redoubt/redoubt/internal/model"
)

// Format is the file format of an export.
type Format string

// Formats, named by their file extension.
const (
	CSV   Format = "csv"
	JSONL Format = "jsonl"
	SARIF Format = "sarif"
	XLSX  Format = "xlsx"
)

// Formats returns all formats.
func Formats() []Format { return []Format{CSV, JSONL, SARIF, XLSX} }

// FileName returns the file name for the format.
func (f Format) FileName() string { return "findings." + string(f) }

// byProject reports whether findings must be grouped by project. SARIF has a run per project.
func (f Format) byProject() bool { return f == SARIF }

// MediaType returns the media type of the format.
func (f Format) MediaType() string {
	switch f {
	case CSV:
		return "text/csv; charset=utf-8; header=present"
	case JSONL:
		return "application/x-ndjson"
	case SARIF:
		return "application/sarif+json"
	case XLSX:
		return "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet"
	}
	return "application/octet-stream"
}

// Parts returns the current selections of the filters, as required by the format.
func Parts(v *index.View, f Format, filters ...model.FindingFilter) []Selection {
	var out []Selection
	for _, filter := range filters {
		if !f.byProject() {
			out = append(out, v.Select(filter))
			continue
		}
		for _, part := range v.SelectByProject(filter) {
			out = append(out, part)
		}
	}
	return out
}

// Selection is a part of an export that is read in steps.
type Selection interface {
	// Total returns the maximum number of findings.
	Total() int
	// Next passes up to size findings to take in the contract's format, and reports whether there
	// may be more. take must not retain the bytes.
	Next(ctx context.Context, size int, take func(t model.IssueType, finding []byte) error) (more bool, err error)
}

// Options configures an export.
type Options struct {
	Version  string    // of this program, for formats that contain it
	Progress func(int) // called after each step with the total number of written findings; may be nil
}

// step is the maximum number of findings in memory.
const step = 500

// finding is a finding to be written.
type finding struct {
	api.Finding
	issueType model.IssueType
}

// writer writes a format.
type writer interface {
	// part starts the next selection.
	part() error
	// raw writes an encoded finding. It must not retain the bytes.
	raw(t model.IssueType, finding []byte) error
	// close writes the end of the file.
	close() error
}

// Write writes all findings of the parts. If it returns an error, the output is incomplete. For an
// unknown format, it returns an error without output.
func Write(ctx context.Context, w io.Writer, f Format, parts []Selection, o Options) error {
	buffered := bufio.NewWriterSize(w, 64<<10)
	total := 0
	for _, p := range parts {
		total += p.Total()
	}
	out, err := newWriter(buffered, f, total, o)
	if err != nil {
		return err
	}
	if err := writeParts(ctx, out, parts, o); err != nil {
		return err
	}
	if err := out.close(); err != nil {
		return err
	}
	return buffered.Flush()
}

func newWriter(w io.Writer, f Format, total int, o Options) (writer, error) {
	switch f {
	case CSV:
		return newCSV(w)
	case JSONL:
		return &jsonLines{w}, nil
	case SARIF:
		return newSARIF(w, o.Version)
	case XLSX:
		return newXLSX(w, total)
	}
	return nil, fmt.Errorf("unknown export format %q", f)
}

func writeParts(ctx context.Context, out writer, parts []Selection, o Options) error {
	written := 0
	for _, p := range parts {
		if err := out.part(); err != nil {
			return err
		}
		for more := true; more; {
			if err := ctx.Err(); err != nil {
				return fmt.Errorf("the export was canceled: %w", context.Cause(ctx))
			}
			var err error
			more, err = p.Next(ctx, step, func(t model.IssueType, finding []byte) error {
				written++
				return out.raw(t, finding)
			})
			if err != nil {
				return err
			}
			if o.Progress != nil {
				o.Progress(written)
			}
		}
	}
	return nil
}

// decoded decodes a finding.
func decoded(t model.IssueType, raw []byte) (*finding, error) {
	f := &finding{issueType: t}
	if err := json.Unmarshal(raw, &f.Finding); err != nil {
		return nil, fmt.Errorf("read a finding to export: %w", err)
	}
	return f, nil
}

// jsonLines writes one finding per line in the format of the web API, with the issue type as the
// first member.
type jsonLines struct{ w io.Writer }

func (*jsonLines) part() error { return nil }

func (j *jsonLines) raw(t model.IssueType, finding []byte) error {
	_, err := fmt.Fprintf(j.w, `{"issue_type":%q,%s`+"\n", t.String(), finding[1:])
	return err
}

func (*jsonLines) close() error { return nil }
