package semgrep

import (
	"encoding/json"

	"github.com/redoubt/redoubt/internal/model"
	"github.com/redoubt/redoubt/internal/report/format"
	"github.com/redoubt/redoubt/internal/report/read"
	"github.com/redoubt/redoubt/internal/report/secrets"
)

// codeOmitted replaces code that the scanner was configured not to upload.
const codeOmitted = "<code omitted>"

// semgrepTrace is the flow of tainted data to a match.
type semgrepTrace struct {
	Source       json.RawMessage `json:"taint_source"`
	Intermediate []semgrepVar    `json:"intermediate_vars"`
	Sink         json.RawMessage `json:"taint_sink"`
}

type semgrepVar struct {
	Location semgrepLocation `json:"location"`
	Content  read.Text       `json:"content"`
}

type semgrepLocation struct {
	Path  read.Text        `json:"path"`
	Start secrets.Position `json:"start"`
}

// steps returns the locations from source to sink that are in the repository.
func (t *semgrepTrace) steps(c *format.Checkout) []model.FlowStep {
	if t == nil {
		return nil
	}
	f := flow{checkout: c}
	f.call(t.Source, 0)
	f.vars(t.Intermediate)
	f.call(t.Sink, 0)
	return f.steps
}

// flow collects the steps of a trace.
type flow struct {
	checkout *format.Checkout
	steps    []model.FlowStep
}

// maxCalls is the maximum nesting of calls.
const maxCalls = 20

// call parses ["CliLoc", [location, code]] or ["CliCall", [[location, code], [variables], call]].
func (f *flow) call(raw json.RawMessage, depth int) {
	var variant []json.RawMessage
	read.Loosely(raw, &variant)
	if len(variant) != 2 || depth > maxCalls {
		return
	}
	var kind read.Text
	var args []json.RawMessage
	read.Loosely(variant[0], &kind)
	read.Loosely(variant[1], &args)
	switch {
	case kind == "CliLoc" && len(args) == 2:
		f.AddLocation(args)
	case kind == "CliCall" && len(args) == 3:
		var location []json.RawMessage
		var vars []semgrepVar
		read.Loosely(args[0], &location)
		read.Loosely(args[1], &vars)
		f.AddLocation(location)
		f.vars(vars)
		f.call(args[2], depth+1)
	}
}

// AddLocation parses [location, code].
func (f *flow) AddLocation(pair []json.RawMessage) {
	if len(pair) != 2 {
		return
	}
	var v semgrepVar
	read.Loosely(pair[0], &v.Location)
	read.Loosely(pair[1], &v.Content)
	f.Add(v)
}

func (f *flow) vars(vars []semgrepVar) {
	for _, v := range vars {
		f.Add(v)
	}
}

func (f *flow) Add(v semgrepVar) {
	path, err := f.checkout.Path(string(v.Location.Path))
	if err != nil || len(f.steps) >= read.MaxList {
		return
	}
	content := v.Content.Block()
	if content == codeOmitted || content == RequiresLogin {
		content = ""
	}
	f.steps = append(f.steps, model.FlowStep{
		Path: path, Line: int(v.Location.Start.Line), Column: int(v.Location.Start.Col), Content: content,
	})
}
