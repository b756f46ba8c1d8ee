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

// FormatInfo describes a format to people.
type FormatInfo struct {
	Format format.Format
	Title  string   // as "SARIF 2.1.0"
	From   string   // what writes it
	Names  []string // file names; only lockfiles go by name
}

// Formats lists everything that Read understands.
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
		{Format: format.OpenVEXJSON, Title: "OpenVEX 0.0.x and 0.2.0", From: "vexctl and whoever says what is exploitable"},
		{Format: format.Lockfile, Title: "lockfiles, by file name", From: "package managers", Names: lockfile.Names()},
	}
}

// Detect returns the format of a file by its beginning (64 KiB are plenty), and
// where that says nothing, by its name. The error is a *ForeignError for a format that
// is recognized and not read; else it says how to name the format.
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
		return format.GitleaksJSON, nil // of a run that found nothing; no other format here is a list that may be empty
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
	format format.Format
	signs  []sign
}

// marks lists the JSON formats that are read, by members that only they have.
// Lockfiles hold names of packages as members, so a word alone would not do.
var marks = []marked{
	{format.SARIF, []sign{{"runs"}}},
	{format.CycloneDXJSON, []sign{{"bomFormat"}}},
	{format.SPDXJSON, []sign{{"spdxVersion"}, {"SPDXID"}}},
	{format.SemgrepJSON, []sign{
		{"interfile_languages_used"},
		{"engine_requested"},
		{"skipped_rules"},
		{"results[].check_id"},
		{"paths.scanned"}, // all that older versions tell without results
		{"results", "errors[].level", "errors[].type"},
	}},
	{format.GitleaksJSON, []sign{{"RuleID"}}},
	{format.TrivyJSON, []sign{{"SchemaVersion", "ArtifactName"}, {"SchemaVersion", "Results"}}},
	{format.TruffleHogJSON, []sign{{"SourceMetadata"}, {"DetectorName"}}},
	{format.GitLabJSON, []sign{
		{"scan.analyzer"},
		{"scan.type", "version", "vulnerabilities"},
		{"vulnerabilities[].identifiers", "vulnerabilities[].location"},
		{"remediations", "vulnerabilities"}, // before there was a scan
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
		{"type=auditSummary"},            // a line of Yarn 1
		{"children.Vulnerable Versions"}, // of Yarn 4
	}},
	{format.BrakemanJSON, []sign{{"scan_info.brakeman_version"}}},
}

// detectJSON looks at the members of a document. A format that is not read counts
// first: it may have members that look like those of one that is.
func detectJSON(head []byte) (format.Format, error) {
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

// detectXML looks at the first element.
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
