package report

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/redoubt/redoubt"
)

// semgrep reads the JSON of semgrep and opengrep, which are one tool to us
// (decisions §4).
//
// What the run looked at comes from paths.scanned. Taken out of it, and told
// as skipped, are files with an error of their own, be it a timeout or a
// partial parse, and lockfiles that could not be resolved: silence about them
// means nothing. An error of level "error" that names no file makes the run a
// failed one.
//
// Which rules ran it does not tell: time.rules and rules_by_engine name only
// rules that had code to look at, so those for dependencies and for languages
// that are gone by now are missing.
type semgrep struct {
	*walker
	rep      *redoubt.Report
	checkout checkout
	secrets  *redactor
	rules    map[string]*semgrepRule // by name and raw metadata
	key      []byte                  // of rules, reused
	results  bool                    // the member was there
	texts    func(name string) []byte
	formulas map[string]string // of rules by name
	matches  []semgrepMatch
}

func readSemgrep(in *input, o Options) ([]*redoubt.Report, error) {
	s := &semgrep{
		walker:  in.walker(),
		rep:     &redoubt.Report{Tool: "semgrep", Category: text(o.Category).name()},
		secrets: o.secrets,
		rules:   map[string]*semgrepRule{},

		texts: o.RuleText, formulas: map[string]string{},
	}
	s.checkout.addRoot(o.Root)
	if err := s.object("", s.member); err != nil {
		return nil, err
	}
	if err := s.end(); err != nil {
		return nil, err
	}
	if !s.results {
		return nil, errors.New("it has no member results, so it is not Semgrep's JSON")
	}
	s.finish()
	// Without --disable-nosem, what is muted is left out.
	s.rep.HidesMuted = !slices.ContainsFunc(s.rep.Results, func(r redoubt.Result) bool { return r.Muted })
	return []*redoubt.Report{s.rep}, nil
}

func (s *semgrep) member(name string) error {
	switch name {
	case "version":
		var v text
		_, err := s.decode(name, &v)
		s.rep.ToolVersion = v.name()
		return err
	case "results":
		s.results = true
		return s.array(name, s.result)
	case "errors":
		return s.array(name, s.failure)
	case "paths":
		return s.object(name, s.paths)
	case "time":
		return s.object(name, s.time)
	case "subprojects":
		return s.array(name, s.subproject)
	}
	return s.skip(name)
}

// finish says what only the whole report tells.
func (s *semgrep) finish() {
	rep := s.rep
	rep.Skipped = distinct(rep.Skipped)
	rep.Searched = minus(distinct(rep.Searched), rep.Skipped)
	for _, r := range rep.Rules {
		rep.Products = rep.Products.With(r.IssueType)
	}
	if rep.Products == 0 {
		rep.Products = rep.Products.With(redoubt.SAST)
	}
	s.secrets.then = append(s.secrets.then, s.identify)
}

// semgrepError is one of errors. Spans stand in for a path in older versions.
type semgrepError struct {
	Level text `json:"level"`
	Path  text `json:"path"`
	Spans []struct {
		File text `json:"file"`
	} `json:"spans"`
}

func (s *semgrep) failure(item string) error {
	var e semgrepError
	if _, err := s.decode(item, &e); err != nil {
		return err
	}
	if e.Path == "" && len(e.Spans) > 0 {
		e.Path = e.Spans[0].File
	}
	if e.Path != "" {
		s.skipped(string(e.Path))
	} else if e.Level == "error" {
		s.rep.Failed = true
	}
	return nil
}

func (s *semgrep) paths(name string) error {
	switch name {
	case "scanned":
		if s.rep.Searched == nil {
			s.rep.Searched = []string{} // told, if only that there was nothing
		}
		return s.strings("paths.scanned", func(p string) {
			if p, err := s.checkout.path(p); err == nil {
				s.rep.Searched = append(s.rep.Searched, p)
			}
		})
	case "skipped":
		return s.array("paths.skipped", func(item string) error {
			var skipped struct {
				Path text `json:"path"`
			}
			_, err := s.decode(item, &skipped)
			s.skipped(string(skipped.Path))
			return err
		})
	}
	return s.skip("paths." + name)
}

// skipped notes a path; one that is outside of the repository matters to
// nobody.
func (s *semgrep) skipped(raw string) {
	if p, err := s.checkout.path(raw); err == nil {
		s.rep.Skipped = append(s.rep.Skipped, p)
	}
}

func (s *semgrep) time(name string) error {
	if name != "profiling_times" {
		return s.skip("time." + name)
	}
	var times struct {
		Total float64 `json:"total_time"`
	}
	_, err := s.decode("time.profiling_times", &times)
	s.rep.TotalTime = seconds(times.Total)
	return err
}

// seconds bounds a number of seconds to a day, and below to none.
func seconds(s float64) time.Duration {
	return time.Duration(min(max(s, 0), 24*60*60) * float64(time.Second))
}

// subproject notes lockfiles. One that was not resolved was not searched.
func (s *semgrep) subproject(item string) error {
	var p struct {
		Sources  texts   `json:"dependency_sources"`
		Resolved boolean `json:"resolved"`
	}
	if _, err := s.decode(item, &p); err != nil {
		return err
	}
	if p.Resolved {
		s.rep.Products = s.rep.Products.With(redoubt.SCA)
		return nil
	}
	for _, source := range p.Sources {
		s.skipped(source)
	}
	return nil
}

// refuse notes an item that could not be taken.
func (s *semgrep) refuse(item, format string, args ...any) {
	s.rep.Refused = append(s.rep.Refused, redoubt.Refusal{Item: item, Reason: cut(fmt.Sprintf(format, args...), maxName)})
}

// minus returns the list without those in another one.
func minus(list, others []string) []string {
	drop := make(map[string]bool, len(others))
	for _, s := range others {
		drop[s] = true
	}
	out := list[:0]
	for _, s := range list {
		if !drop[s] {
			out = append(out, s)
		}
	}
	return out
}
