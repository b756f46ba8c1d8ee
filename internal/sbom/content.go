package sbom

import (
	"time"

	"github.com/redoubt/redoubt/internal/model"
)

// Content is the data of an export. The caller of Write collects it.
type Content struct {
	Deployment string    // name of the tenant: the root of an export of all projects
	Projects   []Project // exactly one if the request names a project
	Created    time.Time
	Serial     string // urn:uuid:…, lower case
	Tool       string // version of Redoubt; may be empty
}

// Project is one project at one ref. Names are unique within a Content.
type Project struct {
	Name            string
	URL             string // of the repository; empty if unknown
	Ref             string // full ref
	Commit          string // empty if unknown
	Dependencies    []model.Dependency
	Edges           []model.DependencyEdge // which dependency requires which, within a lockfile
	Vulnerabilities []Vulnerability
}

// Vulnerability is an unresolved supply-chain finding, with the members that bills of materials
// contain.
type Vulnerability struct {
	ID           string // CVE or GHSA, or else the name of the rule
	Triage       model.VEXTriage
	DecidedAt    time.Time      // zero if never
	Severity     model.Severity // 0 if unrated
	Reachability model.Reachability
	Malicious    bool
	EPSS         *model.EPSS // nil if unknown
	CWEs         []string    // such as "CWE-79: Cross-site Scripting"
	Description  string
	References   []string // URLs
	Fixes        []model.Fix

	Ecosystem    string
	Package      string
	Version      string
	Transitivity model.Transitivity
	Lockfile     string
}
