package format

import (
	"github.com/redoubt/redoubt/internal/report/secrets"
)

// Options tell Read about a file. The zero value reads any format with the
// default limits and hashes no secrets.
type Options struct {
	// Name is the file's name, a path in the repository where it is one: it
	// names lockfiles and stands in messages. Absolute names lose their folder.
	Name string
	// Format is what to read the file as; empty detects it.
	Format Format
	// Category makes a source of its own of the same tool (docs/reference/findings.md). It
	// beats the category that a report names itself.
	Category string
	// Root is the folder of the checkout on the machine that scanned. Absolute
	// paths below it become paths of the repository; those below roots that
	// the report itself tells do so anyway.
	Root string
	// Key is the server's key for hashes of secrets (docs/reference/secrets.md). Without
	// one no secret is hashed, and equal ones cannot be told from others.
	Key []byte
	// RuleText returns a rule of that exact name as Semgrep has it, in JSON, or
	// nil. With it, ids that Semgrep's JSON lacks are computed where it tells
	// what goes into them (docs/explanation/identity.md). It may be nil.
	RuleText func(name string) []byte
	// Source returns a file of the checkout that was scanned, or nothing. With it the code
	// of matches is taken from there that Semgrep's JSON does not tell, as long as the file
	// is as it was. It may be nil.
	Source func(path string) string
	// Unlooked is told of files that Source has and that no code of matches is taken from,
	// and why. It may be nil.
	Unlooked func(path, why string)
	// Limits bound the file; zero members take their default.
	Limits Limits
	// Take is told of each part that is read, in bytes after inflating, and ends
	// the reading by an error; it bounds several files together. It may be nil.
	Take func(bytes int) error
	// Built is told of the memory that is built of what was read, in bytes as
	// estimated, and ends the reading by an error. It may be nil.
	Built func(bytes int) error

	Budget  *Budget           // of the Reading
	Secrets *secrets.Redactor // of the Reading
}

// Limits bound what one file may hold. Over a limit the file is an error that
// wraps model.ErrTooLarge. Strings have fixed limits, beyond which they are
// cut: messages and code 64 KiB, names 1 KiB; paths over 4 KiB are refused.
// Values nest 10,000 deep at most in JSON, XML and YAML, 32 deep in TOML.
type Limits struct {
	Input    int64 // bytes of the file after inflating, 1 GiB by default
	Document int64 // bytes of a file that is read whole (BOMs, lockfiles), 64 MiB by default; 16 MiB for YAML
	Item     int64 // bytes of one result, rule or other member of a streamed file, 8 MiB by default
	Items    int   // results, rules, paths or dependencies of one file, each; 1,000,000 by default
}

// OrDefault replaces zero members by their defaults.
func (l Limits) OrDefault() Limits {
	return Limits{
		Input:    positive(l.Input, 1<<30),
		Document: positive(l.Document, 64<<20),
		Item:     positive(l.Item, 8<<20),
		Items:    positive(l.Items, 1_000_000),
	}
}

func positive[N int | int64](n, otherwise N) N {
	if n > 0 {
		return n
	}
	return otherwise
}
