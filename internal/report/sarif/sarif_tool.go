package sarif

import (
	"regexp"
	"strings"

	"github.com/redoubt/redoubt/internal/model"
	"github.com/redoubt/redoubt/internal/report/read"
)

// traits are the deviations of a tool.
type traits struct {
	tool      string          // our name of the tool
	issueType model.IssueType // default product of results
	severity  model.Severity  // default severity

	// allRules means that the driver lists every rule that ran. Other tools list only rules with
	// results.
	allRules bool
	// template means that the fullDescription of a rule is the message before metavariables are
	// replaced.
	template bool
	// tagged means that the confidence is in a tag, such as "HIGH CONFIDENCE", and precision is
	// constant.
	tagged bool
	// byFile means that a run is unsuccessful if one file could not be read. Notifications of level
	// error name these files; others are about comments.
	byFile bool
	// listsAll means that the artifacts are all scanned files, although they have no role.
	listsAll bool
	// failedFile matches the file in the text of a notification without a location.
	failedFile *regexp.Regexp
}

// semgrepFailure matches the text of semgrep's errors, such as "Timeout when running r on a/b.py".
var semgrepFailure = regexp.MustCompile(`(?:at line|when running \S+ on(?: file)?) ([^\s:]+)`)

// syntaxError is semgrep's name of syntax errors in a whole file or a part of it.
const syntaxError = "Syntax error"

// tools are the scanners with deviations.
var tools = map[string]traits{
	"semgrep":  {issueType: model.SAST, allRules: true, template: true, tagged: true, failedFile: semgrepFailure},
	"eslint":   {issueType: model.SAST, byFile: true, listsAll: true},
	"codeql":   {issueType: model.SAST, allRules: true},
	"gitleaks": {issueType: model.Secrets, severity: model.SeverityHigh, allRules: true},
	"trivy":    {issueType: model.SAST},
}

// secretTools find only secrets.
var secretTools = []string{
	"betterleaks", "detect-secrets", "ggshield", "gitguardian",
	"gitleaks", "kingfisher", "nosey-parker", "noseyparker", "ripsecrets",
	"secretlint", "talisman", "titus", "trufflehog", "whispers",
}

// traitsOf returns the traits of a tool by the name of its driver.
func traitsOf(driver read.Text) traits {
	name := ToolName(driver)
	t, known := tools[name]
	for _, secret := range secretTools {
		if !known && strings.HasPrefix(name, secret) {
			t = traits{issueType: model.Secrets, severity: model.SeverityHigh}
		}
	}
	if t.issueType == 0 {
		t.issueType = model.SAST
	}
	if t.severity == 0 {
		t.severity = model.SeverityMedium
	}
	t.tool = name
	return t
}

// ToolName returns the name of a driver in lower case with hyphens. semgrep and opengrep are one
// tool (docs/reference/findings.md), independent of the engine.
func ToolName(driver read.Text) string {
	name := strings.ToLower(strings.Join(strings.Fields(driver.Name()), "-"))
	switch {
	case strings.HasPrefix(name, "semgrep"), strings.HasPrefix(name, "opengrep"):
		return "semgrep"
	case name == "":
		return "unknown"
	}
	return name
}
