package tools

import (
	"cmp"
	"errors"
	"strings"

	"github.com/redoubt/redoubt/internal/model"
	"github.com/redoubt/redoubt/internal/report/format"
	"github.com/redoubt/redoubt/internal/report/read"
)

// govulncheckMessage is a message of the stream. It has one member.
type govulncheckMessage struct {
	Config *struct {
		Protocol read.Text `json:"protocol_version"`
		Version  read.Text `json:"scanner_version"`
		Level    read.Text `json:"scan_level"`
	} `json:"config"`
	OSV     *govulncheckOSV     `json:"osv"`
	Finding *govulncheckFinding `json:"finding"`
}

type govulncheckOSV struct {
	ID       read.Text  `json:"id"`
	Aliases  read.Texts `json:"aliases"`
	Summary  read.Text  `json:"summary"`
	Details  read.Text  `json:"details"`
	Specific struct {
		URL read.Text `json:"url"`
	} `json:"database_specific"`
	References []struct {
		URL read.Text `json:"url"`
	} `json:"references"`
}

// govulncheckFinding reports that a module is vulnerable, that its package is imported, or that its
// function is called. The trace begins with that function and ends with the caller in the project.
type govulncheckFinding struct {
	item string

	OSV   read.Text          `json:"osv"`
	Fixed read.Text          `json:"fixed_version"`
	Trace []govulncheckFrame `json:"trace"`
}

type govulncheckFrame struct {
	Module   read.Text `json:"module"`
	Version  read.Text `json:"version"`
	Package  read.Text `json:"package"`
	Function read.Text `json:"function"`
	Receiver read.Text `json:"receiver"`
	Position struct {
		File   read.Text   `json:"filename"`
		Line   read.Number `json:"line"`
		Column read.Number `json:"column"`
	} `json:"position"`
}

// called reports whether the vulnerable function is called.
func (f *govulncheckFinding) called() bool { return f.Trace[0].Function != "" }

// govulncheck collects the most specific finding of each module and vulnerability.
type govulncheck struct {
	*native
	configured bool
	level      read.Text
	advisories map[read.Text]*govulncheckOSV
	deepest    map[[2]read.Text]*govulncheckFinding
	order      [][2]read.Text
}

// ReadGovulncheck reads a stream of messages, which has no end marker.
func ReadGovulncheck(in *format.Input, o format.Options) ([]*model.Report, error) {
	g := &govulncheck{
		native: newNative(in, o, "govulncheck"), advisories: map[read.Text]*govulncheckOSV{},
		deepest: map[[2]read.Text]*govulncheckFinding{},
	}
	if err := g.Lines("messages", items(g.native, g.message)); err != nil {
		return nil, err
	}
	if !g.configured {
		return nil, errors.New("it has no message config, so it is not govulncheck's JSON; run govulncheck -format json")
	}
	for _, key := range g.order {
		g.result(g.deepest[key])
	}
	return g.reports(model.SCA), nil
}

func (g *govulncheck) message(item string, m *govulncheckMessage) {
	switch {
	case m.Config != nil:
		g.configured, g.level, g.rep.ToolVersion = true, m.Config.Level, m.Config.Version.Name()
	case m.OSV != nil:
		g.advisories[m.OSV.ID] = m.OSV
	case m.Finding != nil:
		f := m.Finding
		if f.item = item; len(f.Trace) == 0 {
			g.refuse(item, "it has no trace, so its module is unknown")
			return
		}
		key := [2]read.Text{f.OSV, f.Trace[0].Module}
		old := g.deepest[key]
		if old == nil {
			g.order = append(g.order, key)
		}
		if old == nil || f.called() && !old.called() {
			g.deepest[key] = f
		}
	}
}

func (g *govulncheck) result(f *govulncheckFinding) {
	a := affected{
		item: f.item, kind: "gomod", name: f.Trace[0].Module, version: f.Trace[0].Version, location: "go.mod",
		fixes: read.Texts{string(f.Fixed)}, rule: model.Rule{Name: f.OSV.Name()}, flow: g.flow(f.Trace),
	}
	switch {
	case f.called():
		a.reachability = model.Reachable
	case g.level == "symbol": // calls were analyzed
		a.reachability = model.Unreachable
	}
	if advisory := g.advisories[f.OSV]; advisory != nil {
		a.aliases, a.message = advisory.Aliases, cmp.Or(advisory.Details, advisory.Summary).Block()
		a.rule.URL = advisory.Specific.URL.Link()
		var links read.Texts
		for _, reference := range advisory.References {
			links = append(links, string(reference.URL))
		}
		a.rule.References = links.Names()
	}
	g.vulnerable(a)
}

// flow returns the steps from the project's code to the vulnerable function.
func (g *govulncheck) flow(trace []govulncheckFrame) []model.FlowStep {
	var steps []model.FlowStep
	for i := len(trace) - 1; i >= 0 && len(steps) < read.MaxList; i-- {
		frame := trace[i]
		path, err := g.checkout.Path(string(frame.Position.File))
		if err != nil || frame.Function == "" || frame.Version != "" { // code of another module
			continue
		}
		name := strings.TrimPrefix(string(frame.Receiver)+"."+string(frame.Function), ".")
		steps = append(steps, model.FlowStep{
			Path: path, Line: int(frame.Position.Line), Column: int(frame.Position.Column), Content: read.Text(name).Block(),
		})
	}
	return steps
}
