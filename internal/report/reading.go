package report

import (
	"io"

	"github.com/redoubt/redoubt/internal/model"
	"github.com/redoubt/redoubt/internal/report/format"
	"github.com/redoubt/redoubt/internal/report/lockfile"
	"github.com/redoubt/redoubt/internal/report/read"
	"github.com/redoubt/redoubt/internal/report/secrets"
	"github.com/redoubt/redoubt/internal/report/semgrep"
	"github.com/redoubt/redoubt/internal/weakness"
)

// Reading reads the files of one upload. The zero Reading is ready to use.
//
// Files share their knowledge of secrets (docs/reference/secrets.md). A secret in one file is
// removed from all. A rule that one file declares as a rule for secrets is one in all files.
// Reports are therefore available only after all files are read. The options of all files must have
// the same key.
type Reading struct {
	budget  format.Budget
	secrets *secrets.Redactor
	files   []file
	cleaned *Cleaned // set by Clean
}

// Add reads one file, which may be compressed with gzip. The error is a *FileError. Single invalid
// items are not errors; the reports list them as refused.
func (r *Reading) Add(src io.Reader, o format.Options) error {
	o.Secrets, o.Budget = r.redactor(o.Key), &r.budget
	known := r.secrets.Known()
	reports, err := readFile(src, o)
	r.budget.Build((r.secrets.Known()-known)*format.PhraseSize, o.Built)
	if err == nil && r.budget.Err != nil {
		err = format.NewFileError(o, -1, r.budget.Err)
	}
	if err != nil {
		return format.CleanError(r.secrets, err)
	}
	r.files = append(r.files, file{o.Name, reports})
	return nil
}

// MarkComplete declares that no lockfiles exist other than those that were read, by adding an empty
// report.
func (r *Reading) MarkComplete() {
	r.redactor(nil)
	r.files = append(r.files, file{reports: []*model.Report{{
		Tool: lockfile.Tool, Products: model.Products(0).With(model.SCA), Inventories: []model.Inventory{},
	}}})
}

// Unread records a lockfile that exists but could not be read, so that its known packages are
// preserved. It returns its path in the repository, or false if the name is not that of a lockfile.
func (r *Reading) Unread(o format.Options, reason string) (name string, ok bool) {
	if !lockfile.Is(o.Name) && !included(r.redactor(o.Key), o) {
		return "", false
	}
	name = format.FileInRepository(o)
	rep := &model.Report{
		Tool: lockfile.Tool, Category: read.Text(o.Category).Name(),
		Products: model.Products(0).With(model.SCA), Inventories: []model.Inventory{},
		Skipped: []string{name},
	}
	rep.Refuse(model.Refusal{Item: read.OneLine(name, read.MaxName), Reason: read.OneLine(reason, read.MaxName)})
	r.files = append(r.files, file{reports: []*model.Report{rep}})
	return name, true
}

// included reports whether a requirements file refers to the file.
func included(r *secrets.Redactor, o format.Options) bool {
	return r != nil && r.Locks.Includes(format.FileInRepository(o))
}

func (r *Reading) redactor(key []byte) *secrets.Redactor {
	if r.secrets == nil {
		r.secrets = secrets.NewRedactor(key)
	}
	return r.secrets
}

// RestoreReading returns the reading of a stored report of an earlier reading. declared is the
// result of the earlier Cleaned.Declared.
func RestoreReading(key []byte, rep *model.Report, declared []string) *Reading {
	r := &Reading{files: []file{{reports: []*model.Report{rep}}}}
	secrets := r.redactor(key)
	names := make(map[string]bool, len(declared))
	for _, name := range declared {
		names[name] = true
	}
	for _, rule := range rep.Rules {
		if names[rule.Name] {
			secrets.Declared[rule] = true
		}
	}
	return r
}

// Reports returns the reports of Clean, for callers without a store.
func (r *Reading) Reports(known func(tool, rule string) bool) []*model.Report {
	return r.Clean(known).Reports(nil)
}

// Clean ends the reading and removes secrets. It is the slow part of an upload and needs no
// transaction. The function known reports whether a rule of a tool is for secrets, in addition to
// the declared ones. It may be nil. Repeated calls return the same result.
func (r *Reading) Clean(known func(tool, rule string) bool) *Cleaned {
	if r.cleaned != nil {
		return r.cleaned
	}
	secrets := r.redactor(nil)
	secrets.Locks.Resolve()
	for _, resolve := range secrets.Last {
		resolve()
	}
	var all []*model.Report
	for _, f := range r.files {
		all = append(all, f.reports...)
	}
	secrets.Reveal(all, known)
	for _, rep := range all {
		secrets.Number(rep)
		for _, rule := range rep.Rules {
			rule.CWE = weakness.Name(rule.CWE)
		}
	}
	secrets.Blank(all)
	secrets.Scrub(all...)
	for _, finish := range secrets.Then {
		finish()
	}
	r.cleaned = &Cleaned{secrets, join(r.files)}
	r.files = nil // free the memory: the reports are merged
	return r.cleaned
}

// Cleaned is a complete upload without the secrets that were known when Clean was called.
type Cleaned struct {
	secrets *secrets.Redactor
	reports []*model.Report
}

// Reports returns one report for each tool, category and image. Results of rules that known now
// reports as rules for secrets are converted to secrets. known may be nil.
func (c *Cleaned) Reports(known func(tool, rule string) bool) []*model.Report {
	if revealed := c.secrets.Reveal(c.reports, known); revealed {
		for _, rep := range c.reports {
			c.secrets.Number(rep)
		}
		c.secrets.Scrub(c.reports...)
		c.secrets.ForgetFormulas(c.reports)
	}
	return c.reports
}

// Declared returns the names of rules that declare their product themselves, so that it is not
// guessed.
func (c *Cleaned) Declared() []string {
	names := []string{}
	for _, rep := range c.reports {
		for _, rule := range rep.Rules {
			if c.secrets.Declared[rule] {
				names = append(names, rule.Name)
			}
		}
	}
	return read.Distinct(names)
}

// Blanker returns a Blanker with the secrets of the files.
func (r *Reading) Blanker() *secrets.Blanker { return secrets.NewBlanker(r.redactor(nil)) }

// ReadCIResults reads the findings that `semgrep ci` posts. They contain ids and hashes but no
// code. The token that older versions send is discarded.
//
// The upload does not contain secrets, and the scanner's ids and hashes of them are unkeyed and
// could be guessed. Only a hash of code_hash with the server's key is stored, which identifies a
// secret as long as its line is unchanged. A Semgrep report contains the line and results in the
// same identity (docs/explanation/identity.md).
func ReadCIResults(r io.Reader, o format.Options) (*Reading, error) {
	var one Reading
	o.Secrets = one.redactor(o.Key)
	rep, err := semgrep.ReadResultsOfCI(r, o)
	if err != nil {
		return nil, err
	}
	one.files = []file{{reports: []*model.Report{rep}}}
	return &one, nil
}
