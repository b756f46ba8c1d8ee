package api

// ListSnippetsResponse lists the findings of a scan whose surrounding code may be uploaded.
type ListSnippetsResponse struct {
	Kept     bool           `json:"kept" doc:"Whether the deployment stores code. If not, do not send any."`
	Findings []SnippetPlace `json:"findings" doc:"Locations of the scan's findings, worst first; empty if a newer scan followed."`
	More     bool           `json:"more" doc:"Whether there are more findings than listed."`
	Secrets  []SnippetPlace `json:"secrets" doc:"Locations of secrets from all scans of the ref. Exclude these lines from any code."`
}

// SnippetPlace is the location of a finding.
type SnippetPlace struct {
	FindingID int64  `json:"finding_id" doc:"Id of the finding." example:"1234"`
	Path      string `json:"path" doc:"Path of the file." example:"src/app.py"`
	Line      int    `json:"line" doc:"First line." example:"10"`
	EndLine   int    `json:"end_line" doc:"Last line." example:"10"`
	Column    int    `json:"column" doc:"First column; 0: unknown." example:"5"`
	Secret    bool   `json:"secret" doc:"Whether it is a secret. Its own lines and values around it are not stored."`
	Strings   bool   `json:"strings" doc:"Whether the rule detects secrets in code. Strings are not stored then."`
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
	First     int      `json:"first" minimum:"1" doc:"Number of the first line." example:"8"`
	Lines     []string `json:"lines" minItems:"1" maxItems:"24" doc:"Lines of the finding and two lines before and after it, each of at most 400 bytes, without line ends." example:"[\"if x == x:\"]"`
}

// PutSnippetsResponse counts the findings whose code was stored.
type PutSnippetsResponse struct {
	Stored  int `json:"stored" doc:"Findings whose code was stored." example:"3"`
	Skipped int `json:"skipped" doc:"Findings that were removed or moved."`
}
