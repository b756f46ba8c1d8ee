package sbom

import (
	"time"

	"github.com/redoubt/redoubt/internal/model"
)

// Content is what an export describes, collected by whoever runs the job.
type Content struct {
	Deployment string    // name of the tenant: the root of an export of all projects
	Projects   []Project // exactly one where the request names a project
	Created    time.Time
	Serial     string // urn:uuid:…, lower case
	Tool       string // version of Redoubt; may be empty
}

// Project is one project on one ref. Names are unique within a Content.
type Project struct {
	Name            string
	URL             string // of the repository; empty when unknown
	Ref             string // in full
	Commit          string // empty when unknown
	Dependencies    []model.Dependency
	Edges           []model.DependencyEdge // which of them ask for which, of one lockfile each
	Vulnerabilities []Vulnerability
}

// Vulnerability is an unresolved supply-chain finding, as far as a bill of
// materials tells it.
type Vulnerability struct {
	ID           string // CVE or GHSA; the rule's name where there is neither
	Triage       model.VEXTriage
	DecidedAt    time.Time      // when that was; zero when never
	Severity     model.Severity // 0 where nobody rates it
	Reachability model.Reachability
	Malicious    bool
	EPSS         *model.EPSS // nil when no score is known
	CWEs         []string    // as "CWE-79: Cross-site Scripting"
	Description  string
	References   []string // URLs
	Fixes        []model.Fix

	Ecosystem    string
	Package      string
	Version      string
	Transitivity model.Transitivity
	Lockfile     string
}
