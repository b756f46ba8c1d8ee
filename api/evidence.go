package api

// EvidenceResponse contains the evidence for judging a finding: code, data flow, dependency path,
// precedent and other refs.
type EvidenceResponse struct {
	Code       []CodeLine  `json:"code" doc:"Lines of code; empty if none are stored. Secret values are never included."`
	CodeAt     *CodePlace  `json:"code_at" doc:"Location of the code at its upload, if it differs from the current location; else null."`
	Flow       []FlowStep  `json:"flow" doc:"Data flow from source to sink, step by step; empty if the scanner reported none."`
	Dependency []string    `json:"dependency_path" doc:"Supply chain only: dependency path from the direct dependency to the package, as name@version; empty if unknown." example:"[\"express@4.17.0\",\"qs@6.7.0\"]"`
	Precedent  Precedent   `json:"precedent" doc:"Outcomes of the findings of the same rule, this finding included."`
	Others     []Elsewhere `json:"others" doc:"The same finding on other refs."`
}

// CodeLine is a line of code.
type CodeLine struct {
	Number int    `json:"number" doc:"Line number, from 1; 0: unknown." example:"10"`
	Text   string `json:"text" doc:"The line without its line end." example:"eval(x)"`
	Hit    bool   `json:"hit" doc:"Whether the line is part of the finding."`
}

// CodePlace is the location of code in a commit.
type CodePlace struct {
	_      struct{} `nullable:"true"`
	Path   string   `json:"path" doc:"Path of the file." example:"src/app.py"`
	Line   int      `json:"line" doc:"First line of the finding." example:"10"`
	Commit string   `json:"commit" doc:"The commit; empty if unknown."`
}

// FlowStep is one step of a data flow.
type FlowStep struct {
	Path    string `json:"path" doc:"Path of the file." example:"src/app.py"`
	Line    int    `json:"line" doc:"Line, from 1; 0: unknown." example:"7"`
	Column  int    `json:"column" doc:"Column, from 1; 0: unknown." example:"3"`
	Content string `json:"content" doc:"Code of the step; empty if the scanner reported none." example:"request.args[\"q\"]"`
}

// Precedent counts the findings of a rule, each once for all its refs.
type Precedent struct {
	Total         int `json:"total" doc:"Total count." example:"12"`
	Ignored       int `json:"ignored" doc:"Ignored findings." example:"3"`
	FalsePositive int `json:"false_positive" doc:"Findings ignored as false positives." example:"2"`
	Fixed         int `json:"fixed" doc:"Fixed findings." example:"5"`
}

// Elsewhere is the same finding on another ref.
type Elsewhere struct {
	ID     int64  `json:"id" doc:"Id of the finding on that ref." example:"1240"`
	Ref    string `json:"ref" doc:"Full name of the ref." example:"refs/heads/develop"`
	Status string `json:"status" enum:"open,fixed,ignored,reviewing,fixing" doc:"Status on that ref." example:"open"`
}
