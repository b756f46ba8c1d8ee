package sarif

import (
	"regexp"
	"strings"

	"github.com/redoubt/redoubt/internal/model"
	"github.com/redoubt/redoubt/internal/report/read"
)

// traits are what one tool does in its own way.
type traits struct {
	tool      string          // our name for it
	issueType model.IssueType // of its results, unless the rule says more
	severity  model.Severity  // where neither result nor rule has one

	// allRules: the driver lists every rule that ran. Other tools list only
	// those with results, which tells nothing about the rest.
	allRules bool
	// template: a rule's fullDescription is the message before metavariables
	// are filled in.
	template bool
	// tagged: confidence is in a tag, "HIGH CONFIDENCE", and precision is
	// always the same.
	tagged bool
	// byFile: the run is called a failure when one file could not be read, and
	// notifications of level error name those files; others are about comments.
	byFile bool
	// listsAll: artifacts are the files that were looked at, those without
	// results too, though none has a role.
	listsAll bool
	// failedFile finds the file in the text of a notification without location.
	failedFile *regexp.Regexp
}

// semgrepFailure is how semgrep begins the text of an error: "Syntax error at
// line a/b.py:3", "Timeout when running r on a/b.py".
var semgrepFailure = regexp.MustCompile(`(?:at line|when running \S+ on(?: file)?) ([^\s:]+)`)

// syntaxError is semgrep's name for errors of syntax, of a part of a file or all of it.
const syntaxError = "Syntax error"

// tools are the scanners with traits of their own.
var tools = map[string]traits{
	"semgrep":  {issueType: model.SAST, allRules: true, template: true, tagged: true, failedFile: semgrepFailure},
	"eslint":   {issueType: model.SAST, byFile: true, listsAll: true},
	"codeql":   {issueType: model.SAST, allRules: true},
	"gitleaks": {issueType: model.Secrets, severity: model.SeverityHigh, allRules: true},
	"trivy":    {issueType: model.SAST},
}

// secretTools find nothing but secrets.
var secretTools = []string{
	"betterleaks", "detect-secrets", "ggshield", "gitguardian",
	"gitleaks", "kingfisher", "nosey-parker", "noseyparker", "ripsecrets",
	"secretlint", "talisman", "titus", "trufflehog", "whispers",
}

// traitsOf looks a tool up by the name that its driver gives.
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

// ToolName is a driver's name in lower case with hyphens. semgrep and opengrep
// are one tool (docs/reference/findings.md), whatever the engine.
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
