package format

import (
	"github.com/redoubt/redoubt/internal/report/secrets"
)

// Options describe a file to read. The zero value detects the format, uses the default limits and
// does not hash secrets.
type Options struct {
	// Name is the name of the file, or its path in the repository. It identifies lockfiles and is
	// part of messages. An absolute name is reduced to its base name.
	Name string
	// Format is the format of the file. It is detected if empty.
	Format Format
	// Category separates several sources of the same tool (docs/reference/findings.md). It
	// overrides the category in the report.
	Category string
	// Root is the folder of the checkout on the scanning machine. Absolute paths below it become
	// paths of the repository, as do those below roots in the report.
	Root string
	// Key is the server's key for hashes of secrets (docs/reference/secrets.md). If it is empty,
	// secrets are not hashed, and equal secrets are not recognized.
	Key []byte
	// RuleText returns a Semgrep rule of an exact name as JSON, or nil. It is used to compute ids
	// that Semgrep's JSON omits (docs/reference/identities.md). It may be nil.
	RuleText func(name string) []byte
	// Source returns a file of the scanned checkout, or "". It provides the code of matches that
	// Semgrep's JSON omits, if the file is unchanged. It may be nil.
	Source func(path string) string
	// Unlooked is called with files of Source that provide no code of matches, and the reason. It
	// may be nil.
	Unlooked func(path, why string)
	// Limits restrict the file. Zero members have default values.
	Limits Limits
	// OnRead is called with the number of decompressed bytes of each part that is read. Its error
	// ends the reading. It can limit several files together. It may be nil.
	OnRead func(bytes int) error
	// Built is called with the estimated memory of decoded data, in bytes. Its error ends the
	// reading. It may be nil.
	Built func(bytes int) error

	Budget  *Budget           // of the Reading
	Secrets *secrets.Redactor // of the Reading
}

// Limits restrict the content of one file. A file over a limit is an error that wraps
// model.ErrTooLarge. Strings are truncated at fixed limits: messages and code at 64 KiB, names at 1
// KiB. Paths over 4 KiB are refused. Values nest at most 10,000 levels in JSON, XML and YAML, and
// 32 in TOML.
type Limits struct {
	Input    int64 // bytes of the decompressed file, 1 GiB by default
	Document int64 // bytes of a file that is read as a whole (BOMs, lockfiles), 64 MiB by default; 16 MiB for YAML
	Item     int64 // bytes of one result, rule or other member of a streamed file, 8 MiB by default
	Items    int   // results, rules, paths or dependencies of one file, each; 1,000,000 by default
}

// OrDefault replaces zero members with their default values.
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
