package main

import (
	"errors"
	"fmt"
	"maps"

	"github.com/redoubt/redoubt/internal/policy"
)

// maxSearchRuns bounds how often the scanner is run to find rules that it rejects
// without naming any: five or so of some thousand rules, each run a few seconds.
const maxSearchRuns = 100

// ruleSearch finds rules that the scanner rejects without naming any, by letting
// it parse parts of them.
type ruleSearch struct {
	app     *app
	semgrep string
	left    int // runs that it may still take
}

// harmless is a rule that every scanner takes. One that rejects it has no trouble
// with rules.
var harmless = policy.Rule{ID: "harmless", Text: []byte(`{"id":"harmless","languages":["python"],"severity":"ERROR","message":"m","pattern":"x"}`)}

// find adds to bad which rules of the set the scanner rejects: none where that is
// no rule's fault. An error is what kept it from looking.
func (s *ruleSearch) find(set *ruleSet, bad *badRulesError) error {
	if err := s.check([]policy.Rule{harmless}); err != nil {
		if _, rejected := errors.AsType[*badRulesError](err); rejected {
			return nil
		}
		return err
	}
	return s.narrow(set.rules, set.files, bad.text, bad.why)
}

func (s *ruleSearch) check(rules []policy.Rule) error {
	s.left--
	_, err := checkRules(s.app, s.semgrep, rules)
	return err
}

// narrow halves rules of which the scanner rejects some: between two files as long
// as they are of several. What the runs do not suffice to tell apart is rejected as
// a whole, since it cannot be served.
func (s *ruleSearch) narrow(rules []policy.Rule, files []string, text string, why map[string]string) error {
	switch {
	case len(rules) == 1:
		why[rules[0].ID] = complaint(text)
		return nil
	case s.left < 2:
		for _, r := range rules {
			why[r.ID] = fmt.Sprintf("it is one of %d of which the scanner rejects some; it names none, and was asked %d times", len(rules), maxSearchRuns)
		}
		return nil
	}
	at := middle(files)
	s.left-- // kept for the second half, however long the first one takes
	if err := s.half(rules[:at], files[:at], why); err != nil {
		return err
	}
	s.left++
	return s.half(rules[at:], files[at:], why)
}

// half looks into one half. Rules that the scanner names itself there are taken
// out when the rest is parsed as a whole.
func (s *ruleSearch) half(rules []policy.Rule, files []string, why map[string]string) error {
	err := s.check(rules)
	bad, rejected := errors.AsType[*badRulesError](err)
	switch {
	case !rejected:
		return err
	case len(bad.why) == 0:
		return s.narrow(rules, files, bad.text, why)
	}
	maps.Copy(why, bad.why)
	return nil
}

// middle is where to halve: where a file begins that is nearest to the middle, or
// the middle of the only file.
func middle(files []string) int {
	half := len(files) / 2
	for off := range half {
		for _, at := range []int{half - off, half + off} {
			if at < len(files) && files[at] != files[at-1] {
				return at
			}
		}
	}
	return half
}
