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
// Its files share what they know of secrets (docs/reference/secrets.md): one that any of
// them tells is taken out of all, and a rule that any of them calls one for
// secrets is one in all, whichever came first. So a reading gives nothing out
// before all of it is read. All of its options must have the same key.
type Reading struct {
	room    format.Budget
	secrets *secrets.Redactor
	files   []file
	cleaned *Cleaned // once it ended
}

// Add reads one file, gzipped or not. The error is a *FileError; there is none
// for single bad items, which the reports list as refused.
func (r *Reading) Add(src io.Reader, o format.Options) error {
	o.Secrets, o.Budget = r.redactor(o.Key), &r.room
	known := r.secrets.Known()
	reports, err := readFile(src, o)
	r.room.Build((r.secrets.Known()-known)*format.PhraseSize, o.Built)
	if err == nil && r.room.Err != nil {
		err = format.NewFileError(o, -1, r.room.Err)
	}
	if err != nil {
		return format.CleanError(r.secrets, err)
	}
	r.files = append(r.files, file{o.Name, reports})
	return nil
}

// MarkComplete notes that the lockfiles read are all that there are, so that there is a
// statement where there is none.
func (r *Reading) MarkComplete() {
	r.redactor(nil)
	r.files = append(r.files, file{reports: []*model.Report{{
		Tool: lockfile.Tool, Products: model.Products(0).With(model.SCA), Inventories: []model.Inventory{},
	}}})
}

// Unread notes that a lockfile is there but could not be read, so that what was
// known of it stays in force, and returns its path in the repository. It returns
// false for what is no lockfile by its name, which says nothing.
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

// included reports whether a requirements file that was read refers to this one.
func included(r *secrets.Redactor, o format.Options) bool {
	return r != nil && r.Locks.Includes(format.FileInRepository(o))
}

func (r *Reading) redactor(key []byte) *secrets.Redactor {
	if r.secrets == nil {
		r.secrets = secrets.NewRedactor(key)
	}
	return r.secrets
}

// RestoreReading is the reading of a report that another one gave out, and that
// was kept until more is known of its rules. Declared is what that one's Declared
// said.
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

// Reports is what Clean reads, for whoever asks no store.
func (r *Reading) Reports(known func(tool, rule string) bool) []*model.Report {
	return r.Clean(known).Reports(nil)
}

// Clean ends the reading and frees what was read of secrets: the work of an upload
// that takes long, and needs no transaction. Known tells which rules of a tool are for
// secrets beyond those that the files call so, by their exact name; it may be nil.
// Asked again it returns the same.
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
	r.files = nil // what was joined is kept once
	return r.cleaned
}

// Cleaned is an upload that was read to its end and freed of secrets, by what was
// known at the time.
type Cleaned struct {
	secrets *secrets.Redactor
	reports []*model.Report
}

// Reports returns a report for each source in the files, mostly one, and no two of
// the same tool, category and image. Results of rules that are known by now to look for
// secrets become some. Known may be nil.
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

// Declared names the rules that say themselves which product they are of, which
// ends all guessing.
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

// Blanker knows the secrets that the files of the reading told.
func (r *Reading) Blanker() *secrets.Blanker { return secrets.NewBlanker(r.redactor(nil)) }

// ReadCIResults reads what `semgrep ci` posts as its results: its own finding
// objects, which hold identities and hashes and never code. The token that older
// versions send along is passed over unread.
//
// A secret is not in the upload, and the scanner's ids and hashes of it are
// unkeyed, so they could be guessed: kept is only its code_hash under the
// server's key, which identifies it as long as its line stays. A report of
// Semgrep's has the line, and so gives the same identity (docs/explanation/identity.md).
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
