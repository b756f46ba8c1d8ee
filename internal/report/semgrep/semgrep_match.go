package semgrep

import (
	"bytes"
	"cmp"
	"encoding/json"
	"slices"
	"strconv"
	"strings"

	"github.com/redoubt/redoubt/internal/model"
	"github.com/redoubt/redoubt/internal/report/format"
	"github.com/redoubt/redoubt/internal/report/read"
)

// semgrepMatch contains the values from which the ids of a result are computed.
type semgrepMatch struct {
	result  int    // index in the report
	rule    string // as in the ids
	path    string
	context string
	formula string // with values inserted
	known   bool   // the text of the rule is known, so formula is valid
	wider   bool   // the formula may contain values that the code does not
	group   string // the match_based_id without its number, if known
}

// matched records a result for identify. Reports without a login contain neither code nor
// metavariables, so that ids cannot be computed, even if the checkout provides the code.
func (s *semgrep) matched(m *semgrepResult, res *model.Result) {
	if UnlessGated(m.Extra.Lines) == "" || m.looked || res.Secret != nil {
		return
	}
	match := semgrepMatch{
		result: len(s.rep.Results) - 1, rule: s.Rule(m).idName(), path: res.Path, context: m.context,
	}
	if s.texts != nil {
		formula, known := s.formula(res.Rule.Name)
		if known {
			values := metavars(m.Extra.Metavars)
			match.formula, match.known = Bind(formula, values)
			match.wider = slices.ContainsFunc(values, func(v Metavar) bool {
				return !strings.Contains(match.context, v.Content) && strings.Contains(match.formula, v.Content)
			})
		}
	}
	s.In.Build(len(match.context) + len(match.formula) + format.MatchSize)
	s.matches = append(s.matches, match)
}

// formula returns the formula of a rule, and whether its text is known.
func (s *semgrep) formula(rule string) (string, bool) {
	formula, cached := s.formulas[rule]
	if !cached {
		formula = "-" // no text
		if text := s.texts(rule); text != nil {
			formula = "+" + FormulaOf(text)
		}
		s.formulas[rule] = formula
	}
	return formula[1:], formula[0] == '+'
}

// metavars returns the metavariables in the order of the report.
func metavars(raw json.RawMessage) (out []Metavar) {
	dec := json.NewDecoder(bytes.NewReader(raw))
	if token, err := dec.Token(); err != nil || token != json.Delim('{') {
		return nil
	}
	for dec.More() {
		name, err := dec.Token()
		if err != nil {
			return out
		}
		var value struct {
			Content read.Text `json:"abstract_content"`
		}
		if err := dec.Decode(&value); err != nil {
			return out
		}
		out = append(out, Metavar{name.(string), string(value.Content)})
	}
	return out
}

// identify computes the ids that the report omits, after all equal matches are known. Matches with
// redacted secrets are counted, as the scanner does, but have no ids.
func (s *semgrep) identify() {
	results := s.rep.Results
	containsSecret := s.secrets.Firm().In
	slices.SortStableFunc(s.matches, func(a, b semgrepMatch) int {
		x, y := &results[a.result], &results[b.result]
		return cmp.Or(
			strings.Compare(x.Path, y.Path),
			cmp.Compare(x.Location.Line, y.Location.Line), cmp.Compare(x.Location.Column, y.Location.Column),
			cmp.Compare(x.Location.EndLine, y.Location.EndLine), cmp.Compare(x.Location.EndColumn, y.Location.EndColumn),
		)
	})
	type key struct{ rule, path, text string }
	matches := map[key]int{}
	for i := range s.matches {
		m := &s.matches[i]
		res, same := &results[m.result], key{m.rule, m.path, m.formula}
		m.group = Made(res.MatchBasedID)
		if !m.known {
			continue
		}
		id := MatchBasedID(m.rule, m.path, m.formula, matches[same])
		matches[same]++
		m.group = cmp.Or(m.group, Made(id))
		if res.CodeHash == "" || m.wider && containsSecret(m.formula) {
			continue
		}
		if res.MatchBasedID == "" {
			res.MatchBasedID, s.secrets.Computed[id] = id, true
		}
		if Made(id) == Made(res.MatchBasedID) { // otherwise the rule had another text
			res.PatternHash = PatternHash(m.formula)
		}
		if m.wider {
			s.secrets.Wider[PatternHash(m.formula)] = m.formula
		}
	}
	equal := map[key][]int{}
	groups := map[key]int{} // matches of a formula group, independent of their code
	for i := range s.matches {
		m := &s.matches[i]
		same := key{m.rule, m.path, m.context}
		equal[same] = append(equal[same], i)
		groups[key{m.rule, m.path, m.group}]++
	}
	for same, list := range equal {
		group := key{same.rule, same.path, s.matches[list[0]].group}
		for n, ordinal := range s.ordinals(list, groups[group] == len(list)) {
			res := &results[s.matches[list[n]].result]
			if res.CodeHash == "" {
				continue
			}
			res.SyntacticID, res.CodeNumber = SyntacticID(same.rule, same.path, same.text,
				ordinal), min(ordinal, maxCodeNumber)+1
			s.secrets.Computed[res.SyntacticID] = true
		}
	}
	s.matches = nil
}

// ordinals returns the ordinals of matches with equal code. The scanner counts matches that a
// nosemgrep comment mutes, but most reports omit them. The numbers in match_based_ids include them,
// but are usable only if the group contains no other code, which is counted too.
func (s *semgrep) ordinals(list []int, alone bool) []int {
	counted, reported := make([]int, len(list)), make([]int, len(list))
	for n := range list {
		counted[n] = n
	}
	id := func(n int) string { return s.rep.Results[s.matches[list[n]].result].MatchBasedID }
	for n := range list {
		number, err := strconv.Atoi(strings.TrimPrefix(id(n), Made(id(n))+"_"))
		if err != nil || !alone || number < n || Made(id(n)) != Made(id(0)) {
			return counted
		}
		reported[n] = number
	}
	return reported
}

// Made returns a match_based_id without its number.
func Made(id string) string {
	of, _, _ := strings.Cut(id, "_")
	return of
}
