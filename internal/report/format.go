package report

import (
	"bytes"
	"cmp"
	"encoding/json"
	"encoding/xml"
	"errors"
	"fmt"
	"iter"
	"strings"

	"github.com/redoubt/redoubt/internal/report/lockfile"
)

// Format is a kind of file that Read understands.
type Format string

// Formats of files.
const (
	SemgrepJSON     Format = "semgrep-json"
	SARIF           Format = "sarif"
	GitleaksJSON    Format = "gitleaks-json"
	GitLabJSON      Format = "gitlab-json"
	TrivyJSON       Format = "trivy-json"
	GrypeJSON       Format = "grype-json"
	GovulncheckJSON Format = "govulncheck-json"
	TruffleHogJSON  Format = "trufflehog-json"
	OSVScannerJSON  Format = "osv-scanner-json"
	PipAuditJSON    Format = "pip-audit-json"
	NPMAuditJSON    Format = "npm-audit-json"
	CycloneDXJSON   Format = "cyclonedx-json"
	CycloneDXXML    Format = "cyclonedx-xml"
	SPDXJSON        Format = "spdx-json"
	OpenVEXJSON     Format = "openvex-json"
	Lockfile        Format = "lockfile"
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
		{Format: CycloneDXJSON, Title: "CycloneDX 1.2 to 1.6, JSON", From: "syft, Trivy, cdxgen and others"},
		{Format: CycloneDXXML, Title: "CycloneDX 1.2 to 1.6, XML", From: "syft, CycloneDX plugins of build tools"},
		{Format: SPDXJSON, Title: "SPDX 2.2 and 2.3, JSON", From: "syft, Trivy and others"},
		{Format: OpenVEXJSON, Title: "OpenVEX 0.0.x and 0.2.0", From: "vexctl and whoever says what is exploitable"},
		{Format: Lockfile, Title: "lockfiles, by file name", From: "package managers", Names: lockfile.Names()},
	}
}

// understood names the formats in one line.
func understood() string {
	var titles []string
	for _, f := range Formats() {
		title := f.Title
		if len(f.Names) > 0 {
			title += " (" + strings.Join(f.Names, ", ") + ")"
		}
		titles = append(titles, title)
	}
	return strings.Join(titles, "; ")
}

// Detect tells what a file is from its beginning (64 KiB are plenty), and
// where that says nothing, from its name. The error says what is understood.
func Detect(name string, head []byte) (Format, error) {
	trimmed := bytes.TrimLeft(bytes.TrimPrefix(head, []byte("\xef\xbb\xbf")), " \t\r\n")
	var hint string
	if len(trimmed) > 0 {
		var found Format
		switch trimmed[0] {
		case '{', '[':
			found, hint = detectJSON(trimmed)
		case '<':
			found = detectXML(trimmed)
		}
		if found != "" {
			return found, nil
		}
	}
	if lockfile.Is(name) {
		return Lockfile, nil
	}
	if hint == "" {
		hint = "give the format, or write one of those that are understood: " + understood()
	}
	if len(trimmed) == 0 {
		return "", errors.New("the file is empty; " + hint)
	}
	return "", fmt.Errorf("the format of this file is not known; %s", hint)
}

// marks tell JSON documents by a member at the top, or by one just below the
// named member of the top. Lockfiles hold names of packages there, so the word
// alone would not do.
var marks = map[string]Format{
	"runs": SARIF, "bomFormat": CycloneDXJSON, "spdxVersion": SPDXJSON, "SPDXID": SPDXJSON,
	"interfile_languages_used": SemgrepJSON, "engine_requested": SemgrepJSON, "skipped_rules": SemgrepJSON,
	"results.check_id": SemgrepJSON,
	"paths.scanned":    SemgrepJSON, // all that older versions tell without results
	"RuleID":           GitleaksJSON, "SchemaVersion": TrivyJSON, "SourceMetadata": TruffleHogJSON, "DetectorName": TruffleHogJSON,
	"scan.analyzer": GitLabJSON, "vulnerabilities.identifiers": GitLabJSON, "matches.matchDetails": GrypeJSON,
	"config.protocol_version": GovulncheckJSON, "results.packages": OSVScannerJSON, "experimental_config": OSVScannerJSON,
	"dependencies.vulns": PipAuditJSON,
	"auditReportVersion": NPMAuditJSON, "data.advisory": NPMAuditJSON, "children.Vulnerable Versions": NPMAuditJSON,
}

// weak marks tell documents that hold no better one, as those without results.
var weak = map[string]Format{"vulnerabilities": GitLabJSON, "matches": GrypeJSON, "advisories": NPMAuditJSON}

// hints tell documents that are not understood by a member at the top.
var hints = map[string]string{
	"@graph":                "it looks like SPDX 3; export SPDX 2.3 or CycloneDX instead",
	"test_id":               "it looks like Bandit's own JSON; run bandit with -f sarif",
	"generated_at":          "it looks like Bandit's own JSON; run bandit with -f sarif",
	"artifactRelationships": "it looks like syft's own JSON; run syft with -o cyclonedx-json",
}

// detectJSON looks at the members at the top, and for hints at those just
// below. The head may end anywhere.
func detectJSON(head []byte) (found Format, hint string) {
	dec := json.NewDecoder(bytes.NewReader(head))
	var last Format
	parent := ""
	for k := range keys(dec) {
		switch {
		case k.depth == 1 && (k.name == "$schema" || k.name == "@context"):
			found = schemas(k.value)
		case k.depth == 1 && k.name == "type" && strings.HasPrefix(k.value, "audit"):
			found = NPMAuditJSON // a line of Yarn 1
		case k.depth == 1:
			found, parent = marks[k.name], k.name
		case k.depth == 2:
			found = marks[parent+"."+k.name]
		}
		if found != "" {
			return found, ""
		}
		if hint == "" && k.depth <= 2 {
			hint = hints[k.name]
		}
		if k.depth == 1 {
			last = cmp.Or(last, weak[k.name])
		}
	}
	return last, hint
}

// key is a member of an object: how many objects it is in, its name, and its
// value if that is a string.
type key struct {
	depth       int
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
					yield(key{depth, name, ""})
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
				if !yield(key{depth, name, value}) {
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
