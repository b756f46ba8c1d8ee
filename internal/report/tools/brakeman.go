package tools

import (
	"cmp"
	"fmt"
	"regexp"
	"strconv"

	"github.com/redoubt/redoubt/internal/model"
	"github.com/redoubt/redoubt/internal/report/format"
	"github.com/redoubt/redoubt/internal/report/read"
)

// brakemanRun is the metadata of a run.
type brakemanRun struct {
	Version read.Text `json:"brakeman_version"`
	Folder  read.Text `json:"app_path"`
	Start   read.Text `json:"start_time"`
}

type brakemanWarning struct {
	muted bool

	Type        read.Text   `json:"warning_type"`
	Code        read.Text   `json:"warning_code"`
	Fingerprint read.Text   `json:"fingerprint"`
	Check       read.Text   `json:"check_name"`
	Message     read.Text   `json:"message"`
	File        read.Text   `json:"file"`
	Line        read.Number `json:"line"`
	Link        read.Text   `json:"link"`
	Snippet     read.Text   `json:"code"`
	Confidence  read.Text   `json:"confidence"`
	CWE         read.Texts  `json:"cwe_id"`
}

// brakemanError is the error of a file that could not be parsed, or of a failed check.
type brakemanError struct {
	Error read.Text `json:"error"`
}

// ReadBrakeman reads Brakeman's JSON. Names of rules are as in its SARIF.
func ReadBrakeman(in *format.Input, o format.Options) ([]*model.Report, error) {
	n := newNative(in, o, "brakeman")
	err := n.Object("", func(name string) error {
		switch name {
		case "scan_info":
			return n.brakemanRun(name)
		case "warnings":
			return n.Array(name, items(n, n.brakeman))
		case "ignored_warnings": // ignored by config/brakeman.ignore
			return n.Array(name, items(n, func(item string, w *brakemanWarning) {
				w.muted = true
				n.brakeman(item, w)
			}))
		case "errors":
			return n.Array(name, items(n, n.brakemanError))
		}
		return n.Skip(name)
	})
	if err != nil {
		return nil, err
	}
	return n.finish(model.SAST)
}

func (n *native) brakemanRun(name string) error {
	var run brakemanRun
	if _, err := n.Decode(name, &run); err != nil {
		return err
	}
	n.rep.ToolVersion = run.Version.Name()
	n.rep.StartedAt = format.Time(brakemanTime.ReplaceAllString(string(run.Start), "${1}T$2$3:$4")).Time()
	n.checkout.AddRoot(string(run.Folder))
	return nil
}

// brakemanTime matches Ruby's format of times: 2026-01-03 10:00:00 +0100.
var brakemanTime = regexp.MustCompile(`^(\S+) (\S+) ([+-]\d\d)(\d\d)$`)

func (n *native) brakeman(item string, w *brakemanWarning) {
	rule := model.Rule{
		Name: w.rule(), IssueType: model.SAST, Message: w.Type.Block(), CWE: w.weaknesses(), URL: w.Link.Link(),
	}
	// Brakeman's SARIF derives levels from the same word.
	confidence := format.ConfidenceOf(string(w.Confidence))
	if w.Confidence == "Weak" {
		confidence = model.ConfidenceLow
	}
	severity := map[model.Confidence]model.Severity{
		model.ConfidenceHigh: model.SeverityHigh, model.ConfidenceLow: model.SeverityLow,
	}[confidence]
	location := model.Location{Line: int(w.Line)}
	from := len(n.rep.Results)
	if w.Snippet != "" && w.Check == "BasicAuth" { // the code contains a password
		n.leaked(leak{
			item: item, rule: rule, path: string(w.File), location: location, raw: string(w.Snippet), severity: severity,
		})
	} else {
		code, hash := format.CodeOf(w.Snippet)
		n.AddResult(model.Result{
			Item: item, Location: location, Message: w.Message.Block(), Fingerprint: w.Fingerprint.Name(),
			Severity: severity, Confidence: confidence, Code: code, CodeHash: hash,
		}, rule, string(w.File))
	}
	for i := range n.rep.Results[from:] {
		n.rep.Results[from+i].Muted, n.rep.Results[from+i].MutedOutside = w.muted, w.muted
	}
}

// rule returns the name of the rule, which is its number if it has one.
func (w *brakemanWarning) rule() string {
	if code, err := strconv.Atoi(string(w.Code)); err == nil && code >= 0 {
		return fmt.Sprintf("BRAKE%04d", code)
	}
	return cmp.Or(w.Check, w.Type).Name()
}

func (w *brakemanWarning) weaknesses() []string {
	names := w.CWE.Names()
	for i, number := range names {
		names[i] = "CWE-" + number
	}
	return names
}

// brakemanFile matches the file name in an error.
var brakemanFile = regexp.MustCompile(`(?:^Parsing|Could not parse|While processing) (\S+)(?:$| took too long)`)

// brakemanError records only the file of an error, because its text may quote code.
func (n *native) brakemanError(_ string, e *brakemanError) {
	if m := brakemanFile.FindStringSubmatch(string(e.Error)); m != nil {
		if file, err := n.checkout.Path(m[1]); err == nil {
			n.rep.Skipped = append(n.rep.Skipped, file)
			n.rep.Gaps = append(n.rep.Gaps, model.ScanGap{Kind: model.GapFailed, What: file})
			return
		}
	}
	n.rep.Failed = true // the unscanned files are unknown
}
