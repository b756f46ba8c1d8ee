package sarif

import (
	"cmp"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/redoubt/redoubt/internal/model"
	"github.com/redoubt/redoubt/internal/report/format"
	"github.com/redoubt/redoubt/internal/report/lockfile"
	"github.com/redoubt/redoubt/internal/report/read"
	"github.com/redoubt/redoubt/internal/report/secrets"
	"github.com/redoubt/redoubt/internal/report/semgrep"
)

// convert converts a result to a finding. It refuses invalid results, and counts results that are
// not findings as clean.
func (r *sarifRun) convert(res *sarifResult) {
	if !res.isFinding() {
		r.rep.Clean++
		return
	}
	rule := r.ruleOf(res)
	if rule.Name == "" {
		r.refuse(res.item, "it has no rule: set ruleId, rule or ruleIndex; %s",
			cmp.Or(res.misfit, "all are missing"))
		return
	}
	location := res.Location()
	path, err := r.Path(location.Physical.Artifact)
	if err != nil {
		r.refuse(res.item, "%v", err)
		return
	}
	var props sarifResultProperties
	read.Loosely(res.Properties, &props)
	region := location.Physical.Region
	out := model.Result{
		Item: res.item, Rule: rule.Rule, Path: path, Location: region.location(),
		Message: cmp.Or(r.message(res, rule.from), rule.Name),
		Severity: cmp.Or(format.SeverityOfNumber(string(props.Score)), rule.byScore, format.SeverityOf(string(res.Level)),
			rule.byLevel, r.traits.severity),
		Confidence: cmp.Or(format.ConfidenceOf(string(props.Confidence)), rule.Confidence),
		Muted:      res.isSuppressed(), MutedOutside: res.isSuppressed() && !res.inSource(),
	}
	r.fingerprint(res, &out)
	switch {
	case rule.isSecret:
		r.secret(res, rule, &out)
	case r.traits.tool == "trivy" && rule.IssueType == model.SCA:
		out.Dependency = trivyDependency(rule.Rule, string(res.Message.plain()), path)
	case rule.IssueType == model.SCA && props.Dependency != nil:
		out.Dependency = props.Dependency.vulnerable(&out)
	default:
		r.code(res, props, &out)
	}
	r.In.Build(format.ResultSize)
	r.rep.Results = append(r.rep.Results, out)
}

// isFinding reports whether a result is a finding. Results that passed or were not evaluated are
// not, nor are those absent compared to a baseline.
func (res *sarifResult) isFinding() bool {
	switch res.Kind {
	case "pass", "open", "informational", "notApplicable":
		return false
	}
	return res.BaselineState != "absent"
}

// isSuppressed reports whether a result has suppressions, none of which is under review or
// rejected, as the standard defines.
func (res *sarifResult) isSuppressed() bool {
	for _, s := range res.Suppressions {
		if s.Status == "underReview" || s.Status == "rejected" {
			return false
		}
	}
	return len(res.Suppressions) > 0
}

// inSource reports whether a result is suppressed by a comment in the code.
func (res *sarifResult) inSource() bool {
	return slices.ContainsFunc(res.Suppressions, func(s sarifSuppression) bool { return s.Kind == "inSource" })
}

// Location returns the first location, or the scanned file if there is none.
func (res *sarifResult) Location() sarifLocation {
	var l sarifLocation
	if len(res.Locations) > 0 {
		l = res.Locations[0]
	}
	if a := l.Physical.Artifact; a.URI == "" && a.Index == nil && res.Target != nil {
		l.Physical.Artifact = *res.Target
	}
	return l
}

func (g sarifRegion) location() model.Location {
	return model.Location{
		Line: int(g.StartLine), Column: int(g.StartColumn),
		EndLine: max(int(g.EndLine), int(g.StartLine)), EndColumn: int(g.EndColumn),
	}
}

var (
	link     = regexp.MustCompile(`\[([^\[\]]*)\]\((\d+)\)`) // to a related location, or similar code
	argument = regexp.MustCompile(`\{(\d+)\}`)
)

// ruleMessage identifies a message of a rule.
type ruleMessage struct {
	rule *sarifRule
	id   string
}

// message returns the text of a result or of the rule message it refers to. It replaces arguments
// and removes links to related locations. Rule messages without arguments are cached, because many
// short results may refer to one long message.
func (r *sarifRun) message(res *sarifResult, rule *sarifRule) string {
	if t := res.Message.plain(); t != "" || rule == nil {
		return res.unlink(expand(string(t), res.Message.Arguments))
	}
	of := ruleMessage{rule, string(res.Message.ID)}
	s, made := r.messages[of]
	switch {
	case len(res.Message.Arguments) > 0:
		s = expand(model.CutBytes(string(rule.Messages[of.id].plain()), read.MaxBlock), res.Message.Arguments)
	case !made:
		s = expand(string(rule.Messages[of.id].plain()), nil)
		if r.messages == nil {
			r.messages = map[ruleMessage]string{}
		}
		r.messages[of] = s
	}
	r.In.Build(max(0, len(s)-format.ShortMessage)) // each result stores its own copy
	return res.unlink(s)
}

// unlink replaces links to related locations with their text. Similar code, such as h[0](1), is
// unchanged.
func (res *sarifResult) unlink(s string) string {
	if len(res.Related) == 0 || !strings.Contains(s, "](") {
		return s
	}
	ids := make(map[string]bool, len(res.Related))
	for _, l := range res.Related {
		if l.ID != nil {
			ids[strconv.FormatInt(int64(*l.ID), 10)] = true
		}
	}
	return link.ReplaceAllStringFunc(s, func(text string) string {
		if parts := link.FindStringSubmatch(text); ids[parts[2]] {
			return parts[1]
		}
		return text
	})
}

// expand replaces placeholders with arguments.
func expand(s string, arguments []string) string {
	if len(arguments) > 0 {
		remaining := read.MaxBlock
		s = argument.ReplaceAllStringFunc(s, func(placeholder string) string {
			i, err := strconv.Atoi(placeholder[1 : len(placeholder)-1])
			if err != nil || i >= len(arguments) || remaining <= 0 {
				return placeholder
			}
			remaining -= len(arguments[i])
			return arguments[i]
		})
	}
	return read.Text(strings.TrimSpace(s)).Block() // truncated last, because a truncated secret would not be recognized
}

// fingerprint sets the tool's own fingerprint. For semgrep it is the match-based id. For other
// tools it is the first entry in fingerprints, or the line hash in partialFingerprints. Other
// partial fingerprints are ignored: gitleaks stores author and date of the commit there.
func (r *sarifRun) fingerprint(res *sarifResult, out *model.Result) {
	if r.traits.tool == "semgrep" {
		out.MatchBasedID = semgrep.UnlessGated(res.Fingerprints["matchBasedId/v1"]).Name()
		return
	}
	for _, key := range slices.Sorted(maps.Keys(res.Fingerprints)) {
		if out.Fingerprint = res.Fingerprints[key].Name(); out.Fingerprint != "" {
			return
		}
	}
	out.Fingerprint = res.Partial["primaryLocationLineHash"].Name()
}

// code sets the code, hash and data flow of a result.
func (r *sarifRun) code(res *sarifResult, props sarifResultProperties, out *model.Result) {
	lines := semgrep.UnlessGated(res.Location().Physical.Region.Snippet.Text)
	out.Code, out.CodeHash = format.CodeOf(lines)
	if r.traits.tool == "bandit" && slices.Contains(secrets.Guesses, out.Rule.Name) {
		r.secrets.HideGuess(out)
	}
	out.DataFlow = r.flow(res.CodeFlows)
	if r.traits.tool != "semgrep" {
		return
	}
	if lines != "" {
		out.CodeHash = format.CodeHash(semgrep.SyntacticContext(string(lines)))
	}
	if props.Exposure != "" {
		r.exposed(string(props.Exposure), out)
	}
}

// exposed converts a result of semgrep to a supply-chain result. Semgrep's SARIF contains the
// exposure but not the package; only its JSON contains both.
func (r *sarifRun) exposed(exposure string, out *model.Result) {
	reachability, ok := model.ParseReachability(exposure)
	if !ok {
		reachability = model.ReachabilityUnknown
	}
	out.Rule.IssueType = model.SCA
	out.Dependency = &model.Vulnerable{
		Lockfile: out.Path, Line: out.Location.Line, Transitivity: model.TransitivityUnknown, Reachability: reachability,
		InCode: !lockfile.Is(out.Path),
	}
}

// vulnerable converts the dependency in our own export. The lockfile of a dependency in code is
// unknown.
func (d *sarifDependency) vulnerable(out *model.Result) *model.Vulnerable {
	v := &model.Vulnerable{
		Ecosystem: d.Ecosystem.Name(), Package: d.Package.Name(),
		Version: d.Version.Name(), Vulnerability: d.Vulnerability.Name(),
		InCode: bool(d.InCode), Malicious: bool(d.Malicious), Unrated: bool(d.Unrated),
	}
	v.Transitivity, _ = model.ParseTransitivity(string(d.Transitivity)) // 0 is unknown
	v.Reachability, _ = model.ParseReachability(string(d.Reachability))
	if !v.InCode {
		v.Lockfile, v.Line = out.Path, out.Location.Line
	}
	for _, fix := range d.Fixes[:min(len(d.Fixes), read.MaxList)] {
		v.Fixes = append(v.Fixes, model.Fix{Package: fix.Package.Name(), Version: fix.Version.Name()})
	}
	return v
}

// flow returns the steps of the first thread of the first code flow.
func (r *sarifRun) flow(flows []sarifCodeFlow) []model.FlowStep {
	if len(flows) == 0 || len(flows[0].ThreadFlows) == 0 {
		return nil
	}
	var steps []model.FlowStep
	for _, l := range flows[0].ThreadFlows[0].Locations {
		path, err := r.Path(l.Location.Physical.Artifact)
		if err != nil || len(steps) >= read.MaxList {
			continue
		}
		region := l.Location.Physical.Region
		content := semgrep.UnlessGated(cmp.Or(region.Snippet.Text, l.Location.Message.plain()))
		steps = append(steps, model.FlowStep{
			Path: path, Line: int(region.StartLine), Column: int(region.StartColumn), Content: content.Block(),
		})
	}
	return steps
}

// secret converts a result to a secret finding without the secret. For gitleaks the snippet is the
// secret. Other tools show the line, which is treated as the secret: it hides more but still
// identifies the finding. Semgrep shows whole lines, from which the match is extracted as in its
// JSON.
func (r *sarifRun) secret(res *sarifResult, rule *madeRule, out *model.Result) {
	g := res.Location().Physical.Region
	snippet := string(semgrep.UnlessGated(g.Snippet.Text))
	match := snippet
	if r.traits.tool == "semgrep" {
		match = secrets.Region(snippet, secrets.Position{
			Line: g.StartLine,
			Col:  g.StartColumn,
		}, secrets.Position{Line: read.Number(out.Location.EndLine), Col: g.EndColumn})
		r.secrets.Remember(strings.TrimSpace(snippet))
	}
	secret := &model.SecretMatch{Validation: model.NoValidator}
	code := model.CodeDigest(format.CodeHash(semgrep.SyntacticContext(snippet)))
	r.secrets.RegisterMatch(r.traits.tool, secret, match, code)
	if r.traits.tool == "gitleaks" {
		secret.Commit = res.Partial["commitSha"].Name()
	}
	for _, l := range res.Locations[min(1, len(res.Locations)):] {
		r.secrets.Register(string(l.Physical.Region.Snippet.Text))
	}
	out.Message = cmp.Or(rule.Message, rule.Name)
	r.In.Build(max(0, len(out.Message)-format.ShortMessage))
	secrets.Hide(out, secret)
}
