package export

import (
	"net/url"
	"strings"
)

// Types of SARIF 2.1.0 objects.

type sarifText struct {
	Text string `json:"text"`
}

type sarifRunEnd struct {
	Tool         sarifTool             `json:"tool"`
	ColumnKind   string                `json:"columnKind"`
	VCProvenance []sarifVersionControl `json:"versionControlProvenance,omitempty"`
	Properties   map[string]string     `json:"properties"`
}

type sarifTool struct {
	Driver sarifDriver `json:"driver"`
}

type sarifDriver struct {
	Name    string      `json:"name"`
	Version string      `json:"version,omitempty"`
	Rules   []sarifRule `json:"rules"`
}

type sarifVersionControl struct {
	Repository string `json:"repositoryUri"`
}

type sarifRule struct {
	ID         string    `json:"id"`
	Full       sarifText `json:"fullDescription"`
	Properties struct {
		Tags      []string `json:"tags,omitempty"`
		Precision string   `json:"precision,omitempty"`
		Product   string   `json:"product"`
	} `json:"properties"`
}

type sarifResult struct {
	RuleID       string                `json:"ruleId"`
	RuleIndex    int                   `json:"ruleIndex"`
	Level        string                `json:"level,omitempty"`
	Message      sarifText             `json:"message"`
	Locations    []sarifLocation       `json:"locations"`
	Fingerprints map[string]string     `json:"fingerprints"`
	Partial      map[string]string     `json:"partialFingerprints,omitempty"`
	Baseline     string                `json:"baselineState,omitempty"`
	Suppressions []sarifSuppression    `json:"suppressions,omitempty"`
	Properties   sarifResultProperties `json:"properties"`
}

type sarifSuppression struct {
	Kind          string `json:"kind"`
	Status        string `json:"status"`
	Justification string `json:"justification,omitempty"`
}

type sarifLocation struct {
	Physical struct {
		Artifact struct {
			URI string `json:"uri"`
		} `json:"artifactLocation"`
		Region *sarifRegion `json:"region,omitempty"`
	} `json:"physicalLocation"`
}

type sarifRegion struct {
	StartLine   int64 `json:"startLine"`
	StartColumn int64 `json:"startColumn,omitempty"`
	EndLine     int64 `json:"endLine,omitempty"`
	EndColumn   int64 `json:"endColumn,omitempty"`
}

// sarifResultProperties contains data for which SARIF has no properties.
type sarifResultProperties struct {
	Finding    int64            `json:"finding"`
	IssueType  string           `json:"issueType"`
	Ref        string           `json:"ref"`
	Status     string           `json:"status"`
	Severity   string           `json:"severity"`
	Confidence string           `json:"issue_confidence"`
	Score      string           `json:"security-severity,omitempty"`
	CreatedAt  string           `json:"createdAt"`
	Assignee   string           `json:"assignee,omitempty"`
	Dependency *sarifDependency `json:"dependency,omitempty"`
	SecretType string           `json:"secretType,omitempty"`
	Validation string           `json:"validationState,omitempty"`
}

// sarifDependency is the vulnerable dependency of a result.
type sarifDependency struct {
	Ecosystem     string     `json:"ecosystem"`
	Package       string     `json:"package"`
	Version       string     `json:"version"`
	Transitivity  string     `json:"transitivity"`
	Vulnerability string     `json:"vulnerability,omitempty"`
	Reachability  string     `json:"reachability,omitempty"`
	InCode        bool       `json:"inCode,omitempty"` // the location is code that uses it, not the lockfile
	Malicious     bool       `json:"malicious,omitempty"`
	Unrated       bool       `json:"severityUnrated,omitempty"`
	Fixes         []sarifFix `json:"fixes,omitempty"`
}

type sarifFix struct {
	Package string `json:"package"`
	Version string `json:"version"`
}

func dependencyOf(f *finding) *sarifDependency {
	d := f.FoundDependency
	out := &sarifDependency{
		Ecosystem: d.Ecosystem, Package: d.Package, Version: d.Version,
		Transitivity: d.Transitivity, Reachability: f.Reachability,
		InCode: f.Usage != nil, Malicious: f.IsMalicious != nil && *f.IsMalicious, Unrated: f.Unrated,
	}
	if f.VulnerabilityIdentifier != nil {
		out.Vulnerability = *f.VulnerabilityIdentifier
	}
	for _, fix := range f.FixRecommendations {
		out.Fixes = append(out.Fixes, sarifFix(fix))
	}
	return out
}

func locationOf(f *finding) sarifLocation {
	var l sarifLocation
	parts := strings.Split(f.Location.FilePath, "/")
	for i := range parts {
		parts[i] = url.PathEscape(parts[i])
	}
	l.Physical.Artifact.URI = strings.Join(parts, "/")
	if strings.Contains(parts[0], ":") { // otherwise the prefix would be parsed as a scheme
		l.Physical.Artifact.URI = "./" + l.Physical.Artifact.URI
	}
	if at := f.Location; at.Line > 0 {
		l.Physical.Region = &sarifRegion{at.Line, at.Column, at.EndLine, at.EndColumn}
	}
	return l
}
