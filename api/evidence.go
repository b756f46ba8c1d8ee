package api

// EvidenceResponse contains the evidence for judging a finding: code, data flow, dependency path,
// precedent and other refs.
type EvidenceResponse struct {
	Code       []CodeLine  `json:"code" doc:"The code, line by line; empty where none is kept. Of a secret it is never the secret."`
	CodeAt     *CodePlace  `json:"code_at" doc:"Where the code was when a build sent it, if that is not where the finding is now; null where it is."`
	Flow       []FlowStep  `json:"flow" doc:"How data gets from its source to where it does harm, step by step; empty where the scanner told none."`
	Dependency []string    `json:"dependency_path" doc:"Supply chain only: how the package gets in, from what is nearest to the project to the package itself, as name@version; empty where nobody knows." example:"[\"express@4.17.0\",\"qs@6.7.0\"]"`
	Precedent  Precedent   `json:"precedent" doc:"What became of the findings of the same rule, this one among them."`
	Others     []Elsewhere `json:"others" doc:"The same finding on other refs."`
}

// CodeLine is a line of code.
type CodeLine struct {
	Number int    `json:"number" doc:"Its number, from 1; 0 is not known." example:"10"`
	Text   string `json:"text" doc:"The line without its end." example:"eval(x)"`
	Hit    bool   `json:"hit" doc:"Whether it is one of the finding's own."`
}

// CodePlace is the location of code in a commit.
type CodePlace struct {
	_      struct{} `nullable:"true"`
	Path   string   `json:"path" doc:"Its file." example:"src/app.py"`
	Line   int      `json:"line" doc:"First line of the finding." example:"10"`
	Commit string   `json:"commit" doc:"The commit; empty where none was told."`
}

// FlowStep is one step of a data flow.
type FlowStep struct {
	Path    string `json:"path" doc:"Its file." example:"src/app.py"`
	Line    int    `json:"line" doc:"Its line, from 1; 0 is not known." example:"7"`
	Column  int    `json:"column" doc:"Its column, from 1; 0 is not known." example:"3"`
	Content string `json:"content" doc:"What stands there; empty where the scanner told nothing." example:"request.args[\"q\"]"`
}

// Precedent counts the findings of a rule, each once for all its refs.
type Precedent struct {
	Total         int `json:"total" doc:"All of them." example:"12"`
	Ignored       int `json:"ignored" doc:"Those that are ignored." example:"3"`
	FalsePositive int `json:"false_positive" doc:"Those that are ignored as false positives." example:"2"`
	Fixed         int `json:"fixed" doc:"Those that are fixed." example:"5"`
}

// Elsewhere is the same finding on another ref.
type Elsewhere struct {
	ID     int64  `json:"id" doc:"Id of the finding there." example:"1240"`
	Ref    string `json:"ref" doc:"The ref, in full." example:"refs/heads/develop"`
	Status string `json:"status" enum:"open,fixed,ignored,reviewing,fixing" doc:"Its status there." example:"open"`
}
