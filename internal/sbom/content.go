package sbom

import (
	"time"

	"github.com/redoubt/redoubt"
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
	Dependencies    []redoubt.Dependency
	Edges           []redoubt.DependencyEdge // which of them ask for which, of one lockfile each
	Vulnerabilities []Vulnerability
}

// Vulnerability is an unresolved supply-chain finding, as far as a bill of
// materials tells it.
type Vulnerability struct {
	ID           string // CVE or GHSA; the rule's name where there is neither
	Triage       redoubt.VEXTriage
	DecidedAt    time.Time        // when that was; zero when never
	Severity     redoubt.Severity // 0 where nobody rates it
	Reachability redoubt.Reachability
	Malicious    bool
	EPSS         *redoubt.EPSS // nil when no score is known
	CWEs         []string      // as "CWE-79: Cross-site Scripting"
	Description  string
	References   []string // URLs
	Fixes        []redoubt.Fix

	Ecosystem    string
	Package      string
	Version      string
	Transitivity redoubt.Transitivity
	Lockfile     string
}
