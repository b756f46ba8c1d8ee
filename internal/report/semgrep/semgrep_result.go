package semgrep

import (
	"cmp"
	"encoding/json"
	"regexp"
	"strings"

	"github.com/redoubt/redoubt/internal/model"
	"github.com/redoubt/redoubt/internal/report/format"
	"github.com/redoubt/redoubt/internal/report/read"
	"github.com/redoubt/redoubt/internal/report/secrets"
)

// RequiresLogin replaces fingerprints and code in reports without a login.
const RequiresLogin = "requires login"

// semgrepResult is an entry of results.
type semgrepResult struct {
	CheckID read.Text        `json:"check_id"`
	Path    read.Text        `json:"path"`
	Start   secrets.Position `json:"start"`
	End     secrets.Position `json:"end"`
	Extra   *semgrepExtra    `json:"extra"`

	context string // syntactic context of its lines, if known
	looked  bool   // whether its lines are from the checkout
}

type semgrepExtra struct {
	Message     read.Text       `json:"message"`
	Severity    read.Text       `json:"severity"`
	Metadata    json.RawMessage `json:"metadata"`
	Metavars    json.RawMessage `json:"metavars"`
	Fingerprint read.Text       `json:"fingerprint"`
	Lines       read.Text       `json:"lines"`
	Ignored     read.Boolean    `json:"is_ignored"`
	SCA         *semgrepSCA     `json:"sca_info"`
	Validation  read.Text       `json:"validation_state"`
	Historical  *struct {
		Commit read.Text `json:"git_commit"`
	} `json:"historical_info"`
	Trace  *semgrepTrace   `json:"dataflow_trace"`
	Engine json.RawMessage `json:"engine_kind"`
}

func (s *semgrep) result(item string) error {
	var m semgrepResult
	misfit, err := s.Decode(item, &m)
	if err != nil {
		return err
	}
	s.AddResult(item, &m, misfit)
	return nil
}

// AddResult converts and adds a result, or refuses it.
func (s *semgrep) AddResult(item string, m *semgrepResult, misfit string) {
	if m.CheckID.Name() == "" || m.Extra == nil {
		s.refuse(item, "a result needs check_id, path and extra; %s", cmp.Or(misfit, "one of them is missing"))
		return
	}
	if res := s.resultOf(item, m); res != nil {
		s.In.Build(format.ResultSize)
		s.rep.Results = append(s.rep.Results, *res)
		s.matched(m, res)
	}
}

// resultOf converts a result of a report or an upload. It refuses an invalid result and returns
// nil.
func (s *semgrep) resultOf(item string, m *semgrepResult) *model.Result {
	path, err := s.checkout.Path(string(m.Path))
	if err != nil {
		s.refuse(item, "%v", err)
		return nil
	}
	rule := s.Rule(m)
	res := model.Result{
		Item: item, Rule: rule.Rule, Path: path,
		Location: model.Location{
			Line: int(m.Start.Line), Column: int(m.Start.Col), EndLine: int(m.End.Line), EndColumn: int(m.End.Col),
		},
		Message:      m.Extra.Message.Block(),
		MatchBasedID: UnlessGated(m.Extra.Fingerprint).Name(),
		Severity:     rule.Severity, Confidence: rule.Confidence,
		Muted: bool(m.Extra.Ignored), Binds: metavariable.Match(m.Extra.Metavars),
	}
	if p := s.readSource(path, rule, m); p != nil {
		res.Code, res.CodeHash = p.code, p.hash
	} else if lines := string(UnlessGated(m.Extra.Lines)); lines != "" {
		res.Code = read.MultiLine(lines, read.MaxBlock)
		m.context = SyntacticContext(lines)
		res.CodeHash = format.CodeHash(m.context)
	}
	switch rule.IssueType {
	case model.SCA:
		res.Dependency = s.dependency(m, rule, path)
	case model.Secrets:
		s.secret(m, rule, &res)
	default:
		res.DataFlow = m.Extra.Trace.steps(&s.checkout)
	}
	res.Blocking = !res.Muted && rule.blocks(m, res.Dependency)
	return &res
}

// metavariable matches the name of a bound metavariable. Groups of regular expressions, such as $1,
// are excluded because they are not related to the code.
var metavariable = regexp.MustCompile(`"\$(?:\.\.\.)?[A-Z_][A-Z_0-9]*"\s*:`)

// UnlessGated returns the text, or "" if semgrep replaced it because a login is required.
func UnlessGated(t read.Text) read.Text {
	if t == RequiresLogin {
		return ""
	}
	return t
}

// secret converts a result to a secret finding without the secret. Only keyed hashes are stored.
func (s *semgrep) secret(m *semgrepResult, rule *semgrepRule, res *model.Result) {
	match := &model.SecretMatch{Validation: model.NoValidator}
	if v, ok := model.ParseValidationState(strings.ToLower(string(m.Extra.Validation))); ok {
		match.Validation = v
	}
	if m.Extra.Historical != nil {
		match.Commit = m.Extra.Historical.Commit.Name()
	}
	if lines := string(UnlessGated(m.Extra.Lines)); lines != "" {
		s.secrets.RegisterMatch(s.rep.Tool, match, secrets.Region(lines, m.Start, m.End), model.CodeDigest(res.CodeHash))
	}
	var metavars map[string]struct {
		Content read.Text `json:"abstract_content"`
	}
	read.Loosely(m.Extra.Metavars, &metavars)
	for _, v := range metavars {
		s.secrets.Suspect(string(v.Content))
	}
	res.Message = rule.Name
	secrets.Hide(res, match)
}

// dedent removes the common indentation of all lines that are not blank.
func dedent(s string) string {
	lines := strings.Split(s, "\n")
	indent, known := "", false
	for i, line := range lines {
		body := strings.TrimLeft(line, " \t")
		if body == "" {
			lines[i] = ""
			continue
		}
		own := line[:len(line)-len(body)]
		if !known {
			indent, known = own, true
		}
		indent = commonPrefix(indent, own)
	}
	for i := range lines {
		lines[i] = strings.TrimPrefix(lines[i], indent)
	}
	return strings.Join(lines, "\n")
}

func commonPrefix(a, b string) string {
	n := min(len(a), len(b))
	for i := range n {
		if a[i] != b[i] {
			return a[:i]
		}
	}
	return a[:n]
}
