package model

// Bounds of the code that is kept around a finding.
const (
	SnippetAround   = 2   // lines before a finding, and behind it
	MaxSnippetLines = 24  // all in all; the first of a longer finding
	MaxSnippetLine  = 400 // bytes of a line
)

// Snippet is code around a finding as it was when a scan saw it there.
type Snippet struct {
	FindingID int64
	ScanID    int64
	Commit    string // empty when not known
	Path      string // of the finding then
	Line      int    // the finding's first, from 1
	EndLine   int    // its last
	First     int    // number of Lines[0]
	Lines     []string
}

// SnippetPlace is where a finding is, of which code may be wanted.
type SnippetPlace struct {
	FindingID int64
	Path      string
	Line      int  // from 1
	EndLine   int  // at least Line
	Column    int  // from 1; 0 when not known
	Secret    bool // a secret is there: nothing of its lines may be kept
	Strings   bool // its rule is about secrets in code: strings may not be kept
}

// Covers reports whether a line is one of the finding's.
func (p SnippetPlace) Covers(line int) bool { return line >= p.Line && line <= p.EndLine }
