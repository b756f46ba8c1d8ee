package api

// AdvisoryResponse describes a vulnerability, its affected packages and its source records.
type AdvisoryResponse struct {
	Advisory Advisory `json:"advisory" doc:"The vulnerability."`
}

// Advisory is a vulnerability, merged from all database records that describe it.
type Advisory struct {
	ID         string            `json:"id" doc:"Displayed id: the lowest CVE, else the GHSA id, else the record's own id." example:"CVE-2021-44228"`
	Aliases    []string          `json:"aliases" doc:"Other ids."`
	Summary    string            `json:"summary" doc:"One-line summary; empty if no database provides one."`
	Details    string            `json:"details" doc:"Full description, as Markdown."`
	Severity   string            `json:"severity" enum:"low,medium,high,critical" doc:"Severity: from CVSS 4, else CVSS 3, else the database's own rating." example:"critical"`
	CVSS       *CVSS             `json:"cvss" doc:"CVSS score from a database; null if there is none."`
	EPSSScore  *EPSSScore        `json:"epss_score" doc:"Probability of exploitation (EPSS); null if there is none."`
	Exploited  *Exploited        `json:"known_exploited" doc:"Entry in the catalog of known exploited vulnerabilities; null if there is none."`
	Malicious  bool              `json:"is_malicious" doc:"Whether the advisory describes a malicious package."`
	Withdrawn  bool              `json:"withdrawn" doc:"Whether all records are withdrawn. A withdrawn advisory matches no dependency."`
	CWENames   []string          `json:"cweNames" doc:"Weaknesses." example:"[\"CWE-502: Deserialization of Untrusted Data\"]"`
	Packages   []AdvisoryPackage `json:"packages" doc:"Affected packages."`
	References []string          `json:"references" doc:"URLs of references."`
	Records    []AdvisoryRecord  `json:"records" doc:"Source records."`
}

// CVSS is a CVSS base score with its vector.
type CVSS struct {
	_      struct{} `nullable:"true"`
	Score  float64  `json:"score" doc:"Base score, from 0 to 10." example:"9.8"`
	Vector string   `json:"vector" doc:"CVSS vector." example:"CVSS:3.1/AV:N/AC:L/PR:N/UI:N/S:U/C:H/I:H/A:H"`
}

// Exploited is an entry of the catalog of known exploited vulnerabilities.
type Exploited struct {
	_          struct{} `nullable:"true"`
	AddedAt    Time     `json:"added_at" doc:"Time of addition."`
	DueAt      *Time    `json:"due_at" nullable:"true" doc:"Due date of the fix; null if none is set."`
	Ransomware bool     `json:"ransomware" doc:"Whether ransomware is known to use it."`
	Action     string   `json:"required_action" doc:"Required action."`
}

// AdvisoryPackage lists the affected and fixed versions of a package.
type AdvisoryPackage struct {
	Ecosystem string   `json:"ecosystem" doc:"Ecosystem, spelled as for dependencies." example:"npm"`
	Package   string   `json:"package" doc:"Name of the package." example:"lodash"`
	Affected  string   `json:"affected" doc:"Affected versions, as text." example:"all before 4.17.21"`
	Fixed     []string `json:"fixed" doc:"Fixed versions."`
	Record    string   `json:"record" doc:"Id of the source record."`
}

// AdvisoryRecord is the record of one database.
type AdvisoryRecord struct {
	ID          string `json:"id" doc:"Id of the record." example:"GHSA-35jh-r3h4-6jhm"`
	PublishedAt *Time  `json:"published_at" nullable:"true" doc:"Publication time; null if unknown."`
	ModifiedAt  *Time  `json:"modified_at" nullable:"true" doc:"Time of the last change; null if unknown."`
	WithdrawnAt *Time  `json:"withdrawn_at" nullable:"true" doc:"Withdrawal time; null if not withdrawn."`
}

// ImpactQuery contains the parameters for listing the findings of a vulnerability.
type ImpactQuery struct {
	Cursor string `query:"cursor" doc:"Cursor of the previous response."`
	Limit  int64  `query:"limit" minimum:"0" maximum:"3000" default:"100" doc:"Findings per page; 0 means the default."`
	All    bool   `query:"all" doc:"Include fixed and removed findings."`
}

// ImpactResponse is one page of the findings of a vulnerability.
type ImpactResponse struct {
	Impact []Impact `json:"impact" doc:"Findings of the vulnerability from all sources and on all refs, by id."`
	Cursor string   `json:"cursor,omitempty" doc:"Cursor of the next page; absent on the last page."`
}

// Impact is one finding of a vulnerability, with its project, dependency and fixed versions.
type Impact struct {
	FindingID          int64               `json:"finding_id" doc:"Id of the finding." example:"1234"`
	Repository         Repository          `json:"repository" doc:"The project."`
	Ref                string              `json:"ref" doc:"Full name of the ref." example:"refs/heads/main"`
	Lockfile           string              `json:"lockfile" doc:"Path of the lockfile." example:"package-lock.json"`
	Ecosystem          string              `json:"ecosystem" doc:"Ecosystem of the package." example:"npm"`
	Package            string              `json:"package" doc:"Name of the package." example:"lodash"`
	Version            string              `json:"version" doc:"Installed version." example:"4.17.20"`
	Transitivity       string              `json:"transitivity" enum:"direct,transitive,unknown" doc:"Whether the dependency is direct or transitive."`
	Severity           string              `json:"severity" enum:"low,medium,high,critical" doc:"Severity of the finding."`
	Status             string              `json:"status" enum:"open,fixed,ignored,reviewing,fixing,removed" doc:"Status of the finding."`
	Since              Time                `json:"since" doc:"When the finding was first found or last reopened."`
	FixRecommendations []FixRecommendation `json:"fix_recommendations" doc:"Recommended versions; empty if unknown."`
	Source             string              `json:"source" doc:"Source of the finding: a scanner, or advisories." example:"advisories"`
}
