package report

import (
	"bytes"
	"encoding/json"
	"encoding/xml"
	"errors"
	"iter"
	"slices"
	"strings"

	"github.com/redoubt/redoubt/internal/report/lockfile"
)

// FormatInfo describes a format to people.
type FormatInfo struct {
	Format Format
	Title  string   // as "SARIF 2.1.0"
	From   string   // what writes it
	Names  []string // file names; only lockfiles go by name
}

// Formats lists everything that Read understands.
func Formats() []FormatInfo {
	return []FormatInfo{
		{Format: SemgrepJSON, Title: "Semgrep JSON", From: "semgrep --json, opengrep --json"},
		{Format: SARIF, Title: "SARIF 2.1.0", From: "CodeQL, gitleaks, gosec, Bandit, Trivy, Checkov and most other scanners"},
		{Format: GitleaksJSON, Title: "gitleaks JSON", From: "gitleaks --report-format json"},
		{Format: GitLabJSON, Title: "GitLab security report, JSON", From: "GitLab's analyzers of code, secrets, dependencies and images, semgrep --gitlab-sast"},
		{Format: TrivyJSON, Title: "Trivy JSON", From: "trivy --format json"},
		{Format: GrypeJSON, Title: "Grype JSON", From: "grype -o json"},
		{Format: GovulncheckJSON, Title: "govulncheck JSON", From: "govulncheck -format json"},
		{Format: TruffleHogJSON, Title: "TruffleHog JSON, a line each", From: "trufflehog --json"},
		{Format: OSVScannerJSON, Title: "osv-scanner JSON", From: "osv-scanner --format json"},
		{Format: PipAuditJSON, Title: "pip-audit JSON", From: "pip-audit -f json"},
		{Format: NPMAuditJSON, Title: "npm audit JSON", From: "npm, pnpm and Yarn 1 audit --json, yarn npm audit --json"},
		{Format: CycloneDXJSON, Title: "CycloneDX 1.2 to 1.7, JSON", From: "syft, Trivy, cdxgen and others"},
		{Format: CycloneDXXML, Title: "CycloneDX 1.2 to 1.7, XML", From: "syft, CycloneDX plugins of build tools"},
		{Format: SPDXJSON, Title: "SPDX 2.2 and 2.3, JSON", From: "syft, Trivy and others"},
		{Format: OpenVEXJSON, Title: "OpenVEX 0.0.x and 0.2.0", From: "vexctl and whoever says what is exploitable"},
		{Format: Lockfile, Title: "lockfiles, by file name", From: "package managers", Names: lockfile.Names()},
	}
}

// Detect returns the format of a file by its beginning (64 KiB are plenty), and
// where that says nothing, by its name. The error is a *ForeignError for a format that
// is recognized and not read; else it says how to name the format.
func Detect(name string, head []byte) (Format, error) {
	trimmed := bytes.TrimLeft(bytes.TrimPrefix(head, []byte("\xef\xbb\xbf")), " \t\r\n")
	isLockfile := lockfile.Is(name)
	var found Format
	var foreign error
	if len(trimmed) > 0 {
		switch trimmed[0] {
		case '{', '[':
			found, foreign = detectJSON(trimmed)
		case '<':
			found = detectXML(trimmed)
		}
	}
	switch {
	case found != "":
		return found, nil
	case isLockfile:
		return Lockfile, nil
	case foreign != nil:
		return "", foreign
	case string(bytes.TrimRight(trimmed, " \t\r\n")) == "[]":
		return GitleaksJSON, nil // of a run that found nothing; no other format here is a list that may be empty
	case len(trimmed) == 0:
		return "", errors.New("the file is empty; " + howToName())
	}
	return "", errors.New("the format of this file is not known; " + howToName())
}

// howToName says what to do about a file whose format is not known.
func howToName() string {
	var names []string
	for _, f := range Formats() {
		names = append(names, string(f.Format))
	}
	return "name it with --format FORMAT (in a request, with the parameter format), or send one of those that are read: " +
		strings.Join(names, ", ") + " (lockfiles are known by their names, as package-lock.json)"
}

// marked is a format and the signs of it.
type marked struct {
	format Format
	signs  []sign
}

// marks lists the JSON formats that are read, by members that only they have.
// Lockfiles hold names of packages as members, so a word alone would not do.
var marks = []marked{
	{SARIF, []sign{{"runs"}}},
	{CycloneDXJSON, []sign{{"bomFormat"}}},
	{SPDXJSON, []sign{{"spdxVersion"}, {"SPDXID"}}},
	{SemgrepJSON, []sign{
		{"interfile_languages_used"},
		{"engine_requested"},
		{"skipped_rules"},
		{"results[].check_id"},
		{"paths.scanned"}, // all that older versions tell without results
		{"results", "errors[].level", "errors[].type"},
	}},
	{GitleaksJSON, []sign{{"RuleID"}}},
	{TrivyJSON, []sign{{"SchemaVersion", "ArtifactName"}, {"SchemaVersion", "Results"}}},
	{TruffleHogJSON, []sign{{"SourceMetadata"}, {"DetectorName"}}},
	{GitLabJSON, []sign{
		{"scan.analyzer"},
		{"scan.type", "version", "vulnerabilities"},
		{"vulnerabilities[].identifiers", "vulnerabilities[].location"},
		{"remediations", "vulnerabilities"}, // before there was a scan
	}},
	{GrypeJSON, []sign{{"matches[].matchDetails"}, {"ignoredMatches[].matchDetails"}, {"matches", "descriptor.name=grype"}}},
	{GovulncheckJSON, []sign{{"config.protocol_version"}}},
	{OSVScannerJSON, []sign{{"results[].packages", "results[].source"}, {"experimental_config"}}},
	{PipAuditJSON, []sign{{"dependencies[].vulns"}, {"dependencies", "fixes"}}},
	{NPMAuditJSON, []sign{
		{"auditReportVersion"},
		{"actions", "advisories"},
		{"advisories", "metadata.vulnerabilities"},
		{"advisories.*.module_name"}, // npm 6, pnpm, Yarn 2 and 3
		{"data.advisory"},
		{"type=auditAdvisory"},
		{"type=auditSummary"},            // a line of Yarn 1
		{"children.Vulnerable Versions"}, // of Yarn 4
	}},
}

// detectJSON looks at the members of a document. A format that is not read counts
// first: it may have members that look like those of one that is.
func detectJSON(head []byte) (Format, error) {
	members, address := look(keys(json.NewDecoder(bytes.NewReader(head))))
	if err := members.foreignOf(); err != nil {
		return "", err
	}
	if found := schemas(address); found != "" {
		return found, nil
	}
	for _, m := range marks {
		if slices.ContainsFunc(m.signs, members.has) {
			return m.format, nil
		}
	}
	return "", nil
}

// key is a member of an object: how many objects it is in, whether the innermost is an
// element of a list, its name, and its value if that is a string.
type key struct {
	depth       int
	listed      bool
	name, value string
}

// keys goes through the members of a document up to its end or first fault.
func keys(dec *json.Decoder) iter.Seq[key] {
	return func(yield func(key) bool) {
		var open []bool // true for objects
		depth, name, named := 0, "", false
		for {
			token, err := dec.Token()
			if err != nil {
				if named { // its value goes on beyond the head
					yield(key{depth, isListed(open), name, ""})
				}
				return
			}
			delim, _ := token.(json.Delim)
			value, isString := token.(string)
			inObject := len(open) > 0 && open[len(open)-1]
			switch {
			case delim == '}' || delim == ']':
				if inObject {
					depth--
				}
				open = open[:len(open)-1]
				continue
			case inObject && !named && isString:
				name, named = value, true
				continue
			}
			if inObject {
				named = false
				if !yield(key{depth, isListed(open), name, value}) {
					return
				}
			}
			if delim == '{' {
				depth++
			}
			if delim != 0 {
				open = append(open, delim == '{')
			}
		}
	}
}

// isListed reports whether the innermost of the open objects and lists is an object
// in a list.
func isListed(open []bool) bool {
	n := len(open)
	return n > 1 && open[n-1] && !open[n-2]
}

// schemas tells documents by the address of their schema or context.
func schemas(address string) Format {
	address = strings.ToLower(address)
	switch {
	case strings.Contains(address, "sarif"):
		return SARIF
	case strings.Contains(address, "cyclonedx"):
		return CycloneDXJSON
	case strings.Contains(address, "security-report-schemas"):
		return GitLabJSON
	case strings.Contains(address, "openvex.dev/ns"):
		return OpenVEXJSON
	}
	return ""
}

// detectXML looks at the first element.
func detectXML(head []byte) Format {
	dec := xml.NewDecoder(bytes.NewReader(head))
	for {
		token, err := dec.Token()
		if err != nil {
			return ""
		}
		if start, ok := token.(xml.StartElement); ok {
			if start.Name.Local == "bom" && strings.Contains(start.Name.Space, "cyclonedx.org") {
				return CycloneDXXML
			}
			return ""
		}
	}
}
