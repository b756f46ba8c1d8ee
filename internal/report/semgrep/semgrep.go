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

// semgrep reads the JSON of semgrep and opengrep, which count as one tool
// (docs/reference/findings.md).
//
// The searched files are paths.scanned, except files with an error of their own, such as a timeout,
// and lockfiles that could not be resolved. These count as skipped, because missing results about
// them mean nothing. In a partially parsed file this applies only to the unparsed lines. An error
// of level "error" without a file marks the run as failed.
//
// The report does not contain the rules that ran. time.rules and rules_by_engine list only rules
// with matching files, without those for dependencies and for languages that were removed.
type semgrep struct {
	*format.Walker
	rep      *model.Report
	checkout format.Checkout
	secrets  *secrets.Redactor
	rules    map[string]*semgrepRule // by name and raw metadata
	key      []byte                  // reused key of rules
	results  bool                    // whether the member results exists
	texts    func(name string) []byte
	sources  *Sources          // nil if there is no checkout
	formulas map[string]string // of rules, by name
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
	// Without --disable-nosem, muted results are omitted.
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

// finish sets the values that depend on the whole report.
func (s *semgrep) finish() {
	rep := s.rep
	rep.Skipped, rep.Unresolved = read.Distinct(rep.Skipped), read.Distinct(rep.Unresolved)
	format.MergePartial(rep)
	rep.Searched = format.Minus(read.Distinct(rep.Searched), rep.Skipped)
	for _, r := range rep.Rules {
		rep.Products = rep.Products.With(r.IssueType)
	}
	if rep.Products == 0 {
		rep.Products = rep.Products.With(model.SAST)
	}
	s.secrets.Then = append(s.secrets.Then, s.identify)
}

// semgrepError is an entry of errors. Older versions have spans instead of a path.
type semgrepError struct {
	Level read.Text     `json:"level"`
	Type  read.Texts    `json:"type"` // a word, or a list of a word and its subject
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

// gap returns the reason why a file was not scanned. The message is omitted because it may quote
// code.
func (e *semgrepError) gap() model.ScanGap {
	why := reasonWord(e.Type.First())
	kind := model.GapFailed
	if strings.Contains(strings.ToLower(why), "timeout") || strings.Contains(strings.ToLower(why), "memory") {
		kind = model.GapTimeout
	}
	return model.ScanGap{Kind: kind, Rule: e.Rule.Name(), Why: why}
}

// maxReason is the maximum length of a reason, in bytes.
const maxReason = 60

// reasonWord returns a readable form of a scanner's reason, or "" if it is not a plain word.
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
			s.rep.Searched = []string{} // an empty list means that no file was scanned
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

// skipped records a skipped path and the reason. Paths outside of the repository are ignored.
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

// Seconds converts seconds to a duration between zero and a day.
func Seconds(s float64) time.Duration {
	return time.Duration(min(max(s, 0), 24*60*60) * float64(time.Second))
}

// subproject records unresolved lockfiles, which were not searched for dependencies. Other members
// contain the paths searched for code and secrets.
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

// refuse records an item that could not be converted.
func (s *semgrep) refuse(item, format string, args ...any) {
	s.rep.Refuse(model.Refusal{Item: item, Reason: model.CutBytes(fmt.Sprintf(format, args...), read.MaxName)})
}
