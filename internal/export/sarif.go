package export

import (
	"encoding/json"
	"io"
	"strconv"
	"strings"

	"github.com/redoubt/redoubt/internal/model"
)

// sarifLog writes SARIF 2.1.0 with a run per project. Results are written immediately. The rules of
// a run, of which there are few, follow at its end.
type sarifLog struct {
	w       io.Writer
	version string
	runs    int
	project project
	results int
	rules   []sarifRule
	index   map[string]int // index of the rule by issue type and name
}

// project is the project of a run.
type project struct{ name, url string }

func newSARIF(w io.Writer, version string) (*sarifLog, error) {
	_, err := io.WriteString(w, `{"$schema":"https://json.schemastore.org/sarif-2.1.0.json","version":"2.1.0","runs":[`)
	return &sarifLog{w: w, version: version}, err
}

func (s *sarifLog) part() error {
	if err := s.endRun(); err != nil {
		return err
	}
	s.runs, s.results, s.rules, s.index, s.project = s.runs+1, 0, nil, map[string]int{}, project{}
	begin := `{"results":[`
	if s.runs > 1 {
		begin = ",\n" + begin
	}
	_, err := io.WriteString(s.w, begin)
	return err
}

func (s *sarifLog) raw(t model.IssueType, raw []byte) error {
	f, err := decoded(t, raw)
	if err != nil {
		return err
	}
	s.project = project{f.Repository.Name, f.Repository.URL}
	before := "\n"
	if s.results > 0 {
		before = ",\n"
	}
	s.results++
	if _, err := io.WriteString(s.w, before); err != nil {
		return err
	}
	return s.put(resultOf(f, s.ruleOf(f)))
}

// ruleOf returns the index of a finding's rule and adds the rule if necessary.
func (s *sarifLog) ruleOf(f *finding) int {
	key := f.issueType.String() + " " + f.RuleName
	i, ok := s.index[key]
	if !ok {
		i = len(s.rules)
		s.index[key] = i
		s.rules = append(s.rules, ruleOf(f))
	}
	return i
}

func (s *sarifLog) endRun() error {
	if s.runs == 0 {
		return nil
	}
	end := sarifRunEnd{
		Tool:         sarifTool{sarifDriver{Name: "Redoubt", Version: s.version, Rules: s.rules}},
		ColumnKind:   "unicodeCodePoints",
		VCProvenance: provenance(s.project.url),
		Properties:   map[string]string{"project": s.project.name},
	}
	if end.Tool.Driver.Rules == nil {
		end.Tool.Driver.Rules = []sarifRule{}
	}
	text, err := json.Marshal(end)
	if err != nil {
		return err
	}
	_, err = io.WriteString(s.w, "],\n"+string(text[1:]))
	return err
}

func (s *sarifLog) close() error {
	if s.runs == 0 { // without a selection, the log contains one empty run
		if err := s.part(); err != nil {
			return err
		}
	}
	if err := s.endRun(); err != nil {
		return err
	}
	_, err := io.WriteString(s.w, "]}\n")
	return err
}

func (s *sarifLog) put(v any) error {
	text, err := json.Marshal(v)
	if err == nil {
		_, err = s.w.Write(text)
	}
	return err
}

// provenance returns the repository if its URL is an HTTP URL.
func provenance(url string) []sarifVersionControl {
	if !strings.HasPrefix(url, "https://") && !strings.HasPrefix(url, "http://") {
		return nil
	}
	return []sarifVersionControl{{url}}
}

// levels contains the SARIF level of each severity, and scores a security-severity value from which
// clients derive it.
var (
	levels = map[string]string{"critical": "error", "high": "error", "medium": "warning", "low": "note"}
	scores = map[string]string{"critical": "9.5", "high": "8.0", "medium": "5.5", "low": "2.0"}
)

func ruleOf(f *finding) sarifRule {
	message := f.Rule.Message
	if message == "" {
		message = f.RuleName
	}
	r := sarifRule{ID: f.RuleName, Full: sarifText{message}}
	r.Properties.Precision, r.Properties.Product = f.Rule.Confidence, f.issueType.String()
	for _, all := range [][]string{f.Categories, f.Rule.CWENames, f.Rule.OWASPNames} {
		r.Properties.Tags = append(r.Properties.Tags, all...)
	}
	return r
}

func resultOf(f *finding, rule int) sarifResult {
	message := f.message()
	if message == "" {
		message = f.RuleName
	}
	out := sarifResult{
		RuleID: f.RuleName, RuleIndex: rule, Level: levels[f.Severity], Message: sarifText{message},
		Locations:    []sarifLocation{locationOf(f)},
		Fingerprints: map[string]string{"redoubtFinding/v1": strconv.FormatInt(f.ID, 10)},
		Partial:      map[string]string{},
		Properties: sarifResultProperties{
			Finding: f.ID, IssueType: f.issueType.String(), Ref: f.Ref,
			Status: f.Status, Severity: f.Severity, Confidence: f.Confidence,
			Score: scores[f.Severity], CreatedAt: f.CreatedAt.UTC().Format(timeFormat), Assignee: f.Assignee,
		},
	}
	if f.MatchBasedID != "" {
		out.Partial["matchBasedId/v1"] = f.MatchBasedID
	}
	if f.Status == "fixed" {
		out.Baseline = "absent"
	}
	if f.Status == "ignored" || f.State == "muted" {
		comment := ""
		if f.TriageComment != nil {
			comment = *f.TriageComment
		}
		out.Suppressions = []sarifSuppression{{"external", "accepted", comment}}
	}
	if f.FoundDependency != nil {
		out.Properties.Dependency = dependencyOf(f)
	}
	if f.SecretType != nil {
		out.Properties.SecretType, out.Properties.Validation = *f.SecretType, f.ValidationState
	}
	return out
}
