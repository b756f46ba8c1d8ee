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

// Format is what an export is written as.
type Format string

// Formats, named as the end of a file's name.
const (
	CSV   Format = "csv"
	JSONL Format = "jsonl"
	SARIF Format = "sarif"
	XLSX  Format = "xlsx"
)

// Formats lists all of them.
func Formats() []Format { return []Format{CSV, JSONL, SARIF, XLSX} }

// FileName is what a file of the format is called.
func (f Format) FileName() string { return "findings." + string(f) }

// byProject reports whether the format wants the findings of one project after
// those of another: SARIF has a run for each.
func (f Format) byProject() bool { return f == SARIF }

// MediaType is what HTTP calls the format.
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

// Parts selects what the filters accept now, in the parts that the format wants.
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

// Selection is a part of what is exported: findings in steps.
type Selection interface {
	// Total is how many there are at most.
	Total() int
	// Next hands over at most size findings in the contract's shape, and reports
	// whether there may be more. take does not keep the bytes.
	Next(ctx context.Context, size int, take func(t model.IssueType, finding []byte) error) (more bool, err error)
}

// Options say what an export cannot know by itself.
type Options struct {
	Version  string    // of this program, for formats that name their maker
	Progress func(int) // told how many findings were written in all, after each step; may be nil
}

// step is how many findings are in memory at a time.
const step = 500

// finding is one to be written.
type finding struct {
	api.Finding
	issueType model.IssueType
}

// writer writes one format.
type writer interface {
	// part begins a further selection.
	part() error
	// raw takes a finding as it came. It does not keep it.
	raw(t model.IssueType, finding []byte) error
	// close writes what comes after the last one.
	close() error
}

// Write writes all findings of the parts. A selection that fails ends it, and what
// was written by then is no whole file. An unknown format is an error before
// anything is written.
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
	return nil, fmt.Errorf("findings cannot be written as %q", f)
}

func writeParts(ctx context.Context, out writer, parts []Selection, o Options) error {
	written := 0
	for _, p := range parts {
		if err := out.part(); err != nil {
			return err
		}
		for more := true; more; {
			if err := ctx.Err(); err != nil {
				return fmt.Errorf("the export was given up: %w", context.Cause(ctx))
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

// decoded reads a finding.
func decoded(t model.IssueType, raw []byte) (*finding, error) {
	f := &finding{issueType: t}
	if err := json.Unmarshal(raw, &f.Finding); err != nil {
		return nil, fmt.Errorf("read a finding to export: %w", err)
	}
	return f, nil
}

// jsonLines writes a finding a line, as the Web API answers it, with its issue
// type in front.
type jsonLines struct{ w io.Writer }

func (*jsonLines) part() error { return nil }

func (j *jsonLines) raw(t model.IssueType, finding []byte) error {
	_, err := fmt.Fprintf(j.w, `{"issue_type":%q,%s`+"\n", t.String(), finding[1:])
	return err
}

func (*jsonLines) close() error { return nil }
