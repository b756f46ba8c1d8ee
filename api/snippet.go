package api

// ListSnippetsResponse lists the locations in a scan for which code may be uploaded.
type ListSnippetsResponse struct {
	StoresCode bool           `json:"kept" doc:"Whether the deployment stores code. If false, uploads of code are rejected."`
	Findings   []SnippetPlace `json:"findings" doc:"Locations of the scan's findings, by severity, highest first; empty if there is a newer scan of the same source and ref."`
	More       bool           `json:"more" doc:"Whether there are more findings than listed."`
	Secrets    []SnippetPlace `json:"secrets" doc:"Locations of secrets from all scans of the ref. Exclude these lines from any code."`
}

// SnippetPlace is the location of a finding.
type SnippetPlace struct {
	FindingID int64  `json:"finding_id" doc:"Id of the finding." example:"1234"`
	Path      string `json:"path" doc:"Path of the file." example:"src/app.py"`
	Line      int    `json:"line" doc:"First line." example:"10"`
	EndLine   int    `json:"end_line" doc:"Last line." example:"10"`
	Column    int    `json:"column" doc:"First column; 0: unknown." example:"5"`
	Secret    bool   `json:"secret" doc:"Whether the finding is a secret. Its lines and the values around it are redacted before storage."`
	Strings   bool   `json:"strings" doc:"Whether the rule is about secrets in code. String literals are redacted before storage then."`
}

// PutSnippetsRequest contains code around findings of a scan.
type PutSnippetsRequest struct {
	Snippets []Snippet `json:"snippets" maxItems:"500" doc:"Code, at most once for each finding."`
}

// Snippet is the code around one finding.
type Snippet struct {
	FindingID int64    `json:"finding_id" doc:"Id of the finding." example:"1234"`
	Path      string   `json:"path" maxLength:"4096" doc:"Path, as listed." example:"src/app.py"`
	Line      int      `json:"line" minimum:"1" doc:"First line of the finding, as listed." example:"10"`
	First     int      `json:"first" minimum:"1" doc:"Line number of the first element of lines." example:"8"`
	Lines     []string `json:"lines" minItems:"1" maxItems:"24" doc:"Lines of the finding and two lines before and after it, each of at most 400 bytes, without line ends." example:"[\"if x == x:\"]"`
}

// PutSnippetsResponse counts the findings whose code was stored.
type PutSnippetsResponse struct {
	Stored  int `json:"stored" doc:"Findings whose code was stored." example:"3"`
	Skipped int `json:"skipped" doc:"Findings that were removed or moved."`
}
