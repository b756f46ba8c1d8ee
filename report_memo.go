package redoubt

// MaxMemoResults is how many results of a report are remembered; of one that has more,
// none are: whoever uploads a few bytes has the memo read.
const MaxMemoResults = 100_000

// ReportMemo is how the last full report of a source was read: by it a result whose
// bytes come again is known without being read. It says nothing of what is stored.
type ReportMemo struct {
	// Context is a keyed digest of all that the reading of results depended on beside
	// their own bytes. A memo of another context is none.
	Context Digest
	Results []ReadResult // by their place in the code, as Observe has them
}

// ReadResult is a result of a report and what it was read as.
type ReadResult struct {
	Raw      RawResult
	Identity Identity
	Content  Digest // as Finding has it, before the repository enters it
	Location Location
	Muted    bool
}

// RawResult tells a result by its bytes in the report.
type RawResult struct {
	Digest Digest // keyed; zero where the result has to be read each time
	Size   int    // in bytes
	// Group is a hash of its rule and path: results of one group number one another, so
	// one of them is known only if all are.
	Group uint64
	Rule  int // results of one number are of one Rule
	Index int // among the results of the report
}

// KnownResult is a result that was not read, since a memo knows it.
type KnownResult struct {
	ReadResult
	Rule *Rule
}
