package report

import (
	"bytes"
	"encoding/json"
	"encoding/xml"
	"errors"
	"iter"
	"slices"
	"strings"

	"github.com/redoubt/redoubt/internal/report/format"
	"github.com/redoubt/redoubt/internal/report/lockfile"
)

// FormatInfo describes a format to users.
type FormatInfo struct {
	Format format.Format
	Title  string   // such as "SARIF 2.1.0"
	From   string   // programs that write it
	Names  []string // file names; only for lockfiles
}

// Formats returns all formats that Read supports.
func Formats() []FormatInfo {
	return []FormatInfo{
		{Format: format.SemgrepJSON, Title: "Semgrep JSON", From: "semgrep --json, opengrep --json"},
		{
			Format: format.SARIF,
			Title:  "SARIF 2.1.0", From: "CodeQL, gitleaks, gosec, Bandit, Trivy, Checkov and most other scanners",
		},
		{Format: format.GitleaksJSON, Title: "gitleaks JSON", From: "gitleaks --report-format json"},
		{
			Format: format.GitLabJSON,
			Title:  "GitLab security report, JSON",
			From:   "GitLab's analyzers of code, secrets, dependencies and images, semgrep --gitlab-sast",
		},
		{Format: format.TrivyJSON, Title: "Trivy JSON", From: "trivy --format json"},
		{Format: format.GrypeJSON, Title: "Grype JSON", From: "grype -o json"},
		{Format: format.GovulncheckJSON, Title: "govulncheck JSON", From: "govulncheck -format json"},
		{Format: format.TruffleHogJSON, Title: "TruffleHog JSON, a line each", From: "trufflehog --json"},
		{Format: format.OSVScannerJSON, Title: "osv-scanner JSON", From: "osv-scanner --format json"},
		{Format: format.PipAuditJSON, Title: "pip-audit JSON", From: "pip-audit -f json"},
		{
			Format: format.NPMAuditJSON,
			Title:  "npm audit JSON", From: "npm, pnpm and Yarn 1 audit --json, yarn npm audit --json",
		},
		{Format: format.BrakemanJSON, Title: "Brakeman JSON", From: "brakeman -f json"},
		{Format: format.CycloneDXJSON, Title: "CycloneDX 1.2 to 1.7, JSON", From: "syft, Trivy, cdxgen and others"},
		{Format: format.CycloneDXXML, Title: "CycloneDX 1.2 to 1.7, XML", From: "syft, CycloneDX plugins of build tools"},
		{Format: format.SPDXJSON, Title: "SPDX 2.2 and 2.3, JSON", From: "syft, Trivy and others"},
		{Format: format.OpenVEXJSON, Title: "OpenVEX 0.0.x and 0.2.0", From: "vexctl and other VEX authors"},
		{Format: format.Lockfile, Title: "lockfiles, by file name", From: "package managers", Names: lockfile.Names()},
	}
}

// Detect returns the format of a file from its first bytes, or else from its name. 64 KiB are
// sufficient. The error is a *ForeignError for a known but unsupported format, and otherwise
// explains how to specify the format.
func Detect(name string, head []byte) (format.Format, error) {
	trimmed := bytes.TrimLeft(bytes.TrimPrefix(head, []byte("\xef\xbb\xbf")), " \t\r\n")
	isLockfile := lockfile.Is(name)
	var found format.Format
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
		return format.Lockfile, nil
	case foreign != nil:
		return "", foreign
	case string(bytes.TrimRight(trimmed, " \t\r\n")) == "[]":
		return format.GitleaksJSON, nil // gitleaks without findings; other formats are never an empty list
	case len(trimmed) == 0:
		return "", errors.New("the file is empty; " + howToName())
	}
	return "", errors.New("unknown file format; " + howToName())
}

// howToName returns the advice for a file of an unknown format.
func howToName() string {
	var names []string
	for _, f := range Formats() {
		names = append(names, string(f.Format))
	}
	return "set --format FORMAT (in a request, the parameter format), or use one of the supported formats: " +
		strings.Join(names, ", ") + " (lockfiles are detected by name, such as package-lock.json)"
}

// marked is a format with its signs.
type marked struct {
	format format.Format
	signs  []sign
}

// marks lists the supported JSON formats with the members that identify them. Lockfiles contain
// package names as members, so a common word is not sufficient.
var marks = []marked{
	{format.SARIF, []sign{{"runs"}}},
	{format.CycloneDXJSON, []sign{{"bomFormat"}}},
	{format.SPDXJSON, []sign{{"spdxVersion"}, {"SPDXID"}}},
	{format.SemgrepJSON, []sign{
		{"interfile_languages_used"},
		{"engine_requested"},
		{"skipped_rules"},
		{"results[].check_id"},
		{"paths.scanned"}, // older versions without results
		{"results", "errors[].level", "errors[].type"},
	}},
	{format.GitleaksJSON, []sign{{"RuleID"}}},
	{format.TrivyJSON, []sign{{"SchemaVersion", "ArtifactName"}, {"SchemaVersion", "Results"}}},
	{format.TruffleHogJSON, []sign{{"SourceMetadata"}, {"DetectorName"}}},
	{format.GitLabJSON, []sign{
		{"scan.analyzer"},
		{"scan.type", "version", "vulnerabilities"},
		{"vulnerabilities[].identifiers", "vulnerabilities[].location"},
		{"remediations", "vulnerabilities"}, // older versions without scan
	}},
	{format.GrypeJSON, []sign{
		{"matches[].matchDetails"},
		{"ignoredMatches[].matchDetails"},
		{"matches", "descriptor.name=grype"},
	}},
	{format.GovulncheckJSON, []sign{{"config.protocol_version"}}},
	{format.OSVScannerJSON, []sign{{"results[].packages", "results[].source"}, {"experimental_config"}}},
	{format.PipAuditJSON, []sign{{"dependencies[].vulns"}, {"dependencies", "fixes"}}},
	{format.NPMAuditJSON, []sign{
		{"auditReportVersion"},
		{"actions", "advisories"},
		{"advisories", "metadata.vulnerabilities"},
		{"advisories.*.module_name"}, // npm 6, pnpm, Yarn 2 and 3
		{"data.advisory"},
		{"type=auditAdvisory"},
		{"type=auditSummary"},            // Yarn 1
		{"children.Vulnerable Versions"}, // Yarn 4
	}},
	{format.BrakemanJSON, []sign{{"scan_info.brakeman_version"}}},
}

// detectJSON identifies a JSON document by its members. Unsupported formats take precedence,
// because they may have members of a supported one.
func detectJSON(head []byte) (format.Format, error) {
	members, address := scanMembers(keys(json.NewDecoder(bytes.NewReader(head))))
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

// key is a member of an object. depth is the number of enclosing objects, and listed reports
// whether the innermost is an element of a list. value is empty unless it is a string.
type key struct {
	depth       int
	listed      bool
	name, value string
}

// keys iterates over the members of a document up to its end or the first error.
func keys(dec *json.Decoder) iter.Seq[key] {
	return func(yield func(key) bool) {
		var open []bool // true for objects
		depth, name, named := 0, "", false
		for {
			token, err := dec.Token()
			if err != nil {
				if named { // the head ends before the value
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

// isListed reports whether the innermost object is an element of a list.
func isListed(open []bool) bool {
	n := len(open)
	return n > 1 && open[n-1] && !open[n-2]
}

// schemas returns the format of a schema or context address.
func schemas(address string) format.Format {
	address = strings.ToLower(address)
	switch {
	case strings.Contains(address, "sarif"):
		return format.SARIF
	case strings.Contains(address, "cyclonedx"):
		return format.CycloneDXJSON
	case strings.Contains(address, "security-report-schemas"):
		return format.GitLabJSON
	case strings.Contains(address, "openvex.dev/ns"):
		return format.OpenVEXJSON
	}
	return ""
}

// detectXML identifies an XML document by its root element.
func detectXML(head []byte) format.Format {
	dec := xml.NewDecoder(bytes.NewReader(head))
	for {
		token, err := dec.Token()
		if err != nil {
			return ""
		}
		if start, ok := token.(xml.StartElement); ok {
			if start.Name.Local == "bom" && strings.Contains(start.Name.Space, "cyclonedx.org") {
				return format.CycloneDXXML
			}
			return ""
		}
	}
}
