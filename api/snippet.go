package api

// ListSnippetsResponse lists the findings of a scan whose surrounding code may be uploaded.
type ListSnippetsResponse struct {
	Kept     bool           `json:"kept" doc:"Whether the deployment keeps code; if not, nothing is wanted."`
	Findings []SnippetPlace `json:"findings" doc:"Where the findings of the scan are, the worst first. Empty where a newer scan followed."`
	More     bool           `json:"more" doc:"Whether there are more than are listed."`
	Secrets  []SnippetPlace `json:"secrets" doc:"Where all scans of the ref saw secrets: these lines are to be left out of any code."`
}

// SnippetPlace is the location of a finding.
type SnippetPlace struct {
	FindingID int64  `json:"finding_id" doc:"Id of the finding." example:"1234"`
	Path      string `json:"path" doc:"Its file." example:"src/app.py"`
	Line      int    `json:"line" doc:"Its first line." example:"10"`
	EndLine   int    `json:"end_line" doc:"Its last line." example:"10"`
	Column    int    `json:"column" doc:"Its first column; 0 when not known." example:"5"`
	Secret    bool   `json:"secret" doc:"Whether it is a secret: nothing of its own lines is kept, and no value around it."`
	Strings   bool   `json:"strings" doc:"Whether its rule is about secrets in code: no string is kept."`
}

// PutSnippetsRequest contains code around findings of a scan.
type PutSnippetsRequest struct {
	Snippets []Snippet `json:"snippets" maxItems:"500" doc:"Of each finding at most once."`
}

// Snippet is the code around one finding.
type Snippet struct {
	FindingID int64    `json:"finding_id" doc:"Id of the finding." example:"1234"`
	Path      string   `json:"path" maxLength:"4096" doc:"Its file, as listed." example:"src/app.py"`
	Line      int      `json:"line" minimum:"1" doc:"Its first line, as listed." example:"10"`
	First     int      `json:"first" minimum:"1" doc:"Number of the first of the lines." example:"8"`
	Lines     []string `json:"lines" minItems:"1" maxItems:"24" doc:"Two lines before the finding, its own and two behind it, each of at most 400 bytes, without line ends." example:"[\"if x == x:\"]"`
}

// PutSnippetsResponse counts the findings whose code was stored.
type PutSnippetsResponse struct {
	Stored  int `json:"stored" doc:"Findings whose code is kept now." example:"3"`
	Skipped int `json:"skipped" doc:"Findings that are no longer there, or elsewhere."`
}
