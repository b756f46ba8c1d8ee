package semgrep

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode"

	"github.com/redoubt/redoubt/internal/model"
	"github.com/redoubt/redoubt/internal/report/format"
	"github.com/redoubt/redoubt/internal/report/read"
	"github.com/redoubt/redoubt/internal/report/secrets"
)

// semgrep reads the JSON of semgrep and opengrep, which are one tool to us
// (docs/reference/findings.md).
//
// What the run looked at comes from paths.scanned. Taken out of it, and told as skipped, are files with an error of
// their own, as a timeout, and lockfiles that could not be resolved: silence about them means nothing. Of a file
// that was parsed in part that holds only of the lines that were not. An error of level "error" that names no file
// makes the run a failed one.
//
// Which rules ran it does not tell: time.rules and rules_by_engine name only
// rules that had code to look at, so those for dependencies and for languages
// that are gone by now are missing.
type semgrep struct {
	*format.Walker
	rep      *model.Report
	checkout format.Checkout
	secrets  *secrets.Redactor
	rules    map[string]*semgrepRule // by name and raw metadata
	key      []byte                  // of rules, reused
	results  bool                    // the member was there
	texts    func(name string) []byte
	sources  *Sources          // nil: there is no checkout
	formulas map[string]string // of rules by name
	matches  []semgrepMatch
}

// ReadSemgrep reads the JSON of semgrep and opengrep.
func ReadSemgrep(in *format.Input, o format.Options) ([]*model.Report, error) {
	s := &semgrep{
		Walker:  in.Walker(),
		rep:     &model.Report{Tool: "semgrep", Category: read.Text(o.Category).Name()},
		secrets: o.Secrets,
		rules:   map[string]*semgrepRule{},

		texts: o.RuleText, formulas: map[string]string{},
		sources: NewSources(o.Source, o.Unlooked),
	}
	s.checkout.AddRoot(o.Root)
	if err := s.Object("", s.member); err != nil {
		return nil, err
	}
	if err := s.End(); err != nil {
		return nil, err
	}
	if !s.results {
		return nil, errors.New("it has no member results, so it is not Semgrep's JSON")
	}
	s.finish()
	// Without --disable-nosem, what is muted is left out.
	s.rep.HidesMuted = !slices.ContainsFunc(s.rep.Results, func(r model.Result) bool { return r.Muted })
	return []*model.Report{s.rep}, nil
}

func (s *semgrep) member(name string) error {
	switch name {
	case "version":
		var v read.Text
		_, err := s.Decode(name, &v)
		s.rep.ToolVersion = v.Name()
		return err
	case "results":
		s.results = true
		return s.Array(name, s.result)
	case "errors":
		return s.Array(name, s.failure)
	case "paths":
		return s.Object(name, s.paths)
	case "time":
		return s.Object(name, s.Time)
	case "subprojects":
		return s.Array(name, s.subproject)
	}
	return s.Skip(name)
}

// finish says what only the whole report tells.
func (s *semgrep) finish() {
	rep := s.rep
	rep.Skipped, rep.Unresolved = read.Distinct(rep.Skipped), read.Distinct(rep.Unresolved)
	format.SettlePartial(rep)
	rep.Searched = format.Minus(read.Distinct(rep.Searched), rep.Skipped)
	for _, r := range rep.Rules {
		rep.Products = rep.Products.With(r.IssueType)
	}
	if rep.Products == 0 {
		rep.Products = rep.Products.With(model.SAST)
	}
	s.secrets.Then = append(s.secrets.Then, s.identify)
}

// semgrepError is one of errors. Spans stand in for a path in older versions.
type semgrepError struct {
	Level read.Text     `json:"level"`
	Type  read.Texts    `json:"type"` // a word, or a list of a word and what it is about
	Rule  read.Text     `json:"rule_id"`
	Path  read.Text     `json:"path"`
	Spans []semgrepSpan `json:"spans"`
}

func (s *semgrep) failure(item string) error {
	var e semgrepError
	if _, err := s.Decode(item, &e); err != nil {
		return err
	}
	if e.Path == "" && len(e.Spans) > 0 {
		e.Path = e.Spans[0].File
	}
	if spans := e.partial(); spans != nil {
		s.partial(string(e.Path), spans, e.gap())
	} else if e.Path != "" {
		s.skipped(string(e.Path), e.gap())
	} else if e.Level == "error" {
		s.rep.Failed = true
	}
	if e.Path == "" && e.Rule != "" {
		s.rep.Gaps = append(s.rep.Gaps, model.ScanGap{
			Kind: model.GapRule,
			What: e.Rule.Name(),
			Why:  reasonWord(e.Type.First()),
		})
	}
	return nil
}

// gap says why a file was not looked at. The message stays behind: it may quote
// code.
func (e *semgrepError) gap() model.ScanGap {
	why := reasonWord(e.Type.First())
	kind := model.GapFailed
	if strings.Contains(strings.ToLower(why), "timeout") || strings.Contains(strings.ToLower(why), "memory") {
		kind = model.GapTimeout
	}
	return model.ScanGap{Kind: kind, Rule: e.Rule.Name(), Why: why}
}

// maxReason is the longest word for a reason, in bytes.
const maxReason = 60

// reasonWord is a scanner's word for a reason as people read it; what is no
// plain word is none.
func reasonWord(s string) string {
	s = strings.ReplaceAll(s, "_", " ")
	if len(s) > maxReason ||
		strings.ContainsFunc(s, func(r rune) bool { return r != ' ' && r != '-' && !unicode.IsLetter(r) }) {
		return ""
	}
	return s
}

func (s *semgrep) paths(name string) error {
	switch name {
	case "scanned":
		if s.rep.Searched == nil {
			s.rep.Searched = []string{} // told, if only that there was nothing
		}
		return s.Strings("paths.scanned", func(p string) {
			if p, err := s.checkout.Path(p); err == nil {
				s.rep.Searched = append(s.rep.Searched, p)
			}
		})
	case "skipped":
		return s.Array("paths.skipped", func(item string) error {
			var skipped struct {
				Path   read.Text `json:"path"`
				Reason read.Text `json:"reason"`
			}
			_, err := s.Decode(item, &skipped)
			s.skipped(string(skipped.Path), model.ScanGap{Kind: model.GapPath, Why: reasonWord(string(skipped.Reason))})
			return err
		})
	}
	return s.Skip("paths." + name)
}

// skipped notes a path, and why; one that is outside of the repository matters to
// nobody.
func (s *semgrep) skipped(raw string, gap model.ScanGap) {
	if p, err := s.checkout.Path(raw); err == nil {
		gap.What = p
		s.rep.Skipped, s.rep.Gaps = append(s.rep.Skipped, p), append(s.rep.Gaps, gap)
	}
}

func (s *semgrep) Time(name string) error {
	if name != "profiling_times" {
		return s.Skip("time." + name)
	}
	var times struct {
		Total float64 `json:"total_time"`
	}
	_, err := s.Decode("time.profiling_times", &times)
	s.rep.TotalTime = Seconds(times.Total)
	return err
}

// Seconds bounds a number of seconds to a day, and below to none.
func Seconds(s float64) time.Duration {
	return time.Duration(min(max(s, 0), 24*60*60) * float64(time.Second))
}

// subproject notes lockfiles. One that was not resolved was not searched for
// dependencies; for code and secrets the other lists tell.
func (s *semgrep) subproject(item string) error {
	var p struct {
		Sources  read.Texts   `json:"dependency_sources"`
		Resolved read.Boolean `json:"resolved"`
	}
	if _, err := s.Decode(item, &p); err != nil {
		return err
	}
	if p.Resolved {
		s.rep.Products = s.rep.Products.With(model.SCA)
		return nil
	}
	for _, source := range p.Sources {
		if p, err := s.checkout.Path(source); err == nil {
			s.rep.Unresolved = append(s.rep.Unresolved, p)
			s.rep.Gaps = append(s.rep.Gaps, model.ScanGap{Kind: model.GapLockfile, What: p, Why: "could not be resolved"})
		}
	}
	return nil
}

// refuse notes an item that could not be taken.
func (s *semgrep) refuse(item, format string, args ...any) {
	s.rep.Refuse(model.Refusal{Item: item, Reason: model.CutBytes(fmt.Sprintf(format, args...), read.MaxName)})
}
