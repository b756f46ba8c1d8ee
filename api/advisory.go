package api

// AdvisoryResponse describes a vulnerability, its affected packages and its source records.
type AdvisoryResponse struct {
	Advisory Advisory `json:"advisory" doc:"The vulnerability."`
}

// Advisory is a vulnerability, merged from all database records that describe it.
type Advisory struct {
	ID         string            `json:"id" doc:"What it is shown as: its lowest CVE, else its GHSA, else the record's own id." example:"CVE-2021-44228"`
	Aliases    []string          `json:"aliases" doc:"What else it is called."`
	Summary    string            `json:"summary" doc:"A line about it; empty when no database wrote one."`
	Details    string            `json:"details" doc:"The longer text about it, as Markdown."`
	Severity   string            `json:"severity" enum:"low,medium,high,critical" doc:"How much harm it may do: by CVSS 4, else 3, else the database's own word." example:"critical"`
	CVSS       *CVSS             `json:"cvss" doc:"The score that a database gives; null when none does."`
	EPSSScore  *EPSSScore        `json:"epss_score" doc:"Probability that it is exploited; null when there is none."`
	Exploited  *Exploited        `json:"known_exploited" doc:"Its entry in the catalogue of vulnerabilities that are known to be exploited; null when it has none."`
	Malicious  bool              `json:"is_malicious" doc:"Whether it is a package made to do harm."`
	Withdrawn  bool              `json:"withdrawn" doc:"Whether all its records were withdrawn: then it matches nothing."`
	CWENames   []string          `json:"cweNames" doc:"Weaknesses." example:"[\"CWE-502: Deserialization of Untrusted Data\"]"`
	Packages   []AdvisoryPackage `json:"packages" doc:"Affected packages."`
	References []string          `json:"references" doc:"Pages about it."`
	Records    []AdvisoryRecord  `json:"records" doc:"The records that it is made of."`
}

// CVSS is a CVSS base score with its vector.
type CVSS struct {
	_      struct{} `nullable:"true"`
	Score  float64  `json:"score" doc:"Base score, from 0 to 10." example:"9.8"`
	Vector string   `json:"vector" doc:"The vector." example:"CVSS:3.1/AV:N/AC:L/PR:N/UI:N/S:U/C:H/I:H/A:H"`
}

// Exploited is an entry of the catalog of known exploited vulnerabilities.
type Exploited struct {
	_          struct{} `nullable:"true"`
	AddedAt    Time     `json:"added_at" doc:"When it was added."`
	DueAt      *Time    `json:"due_at" nullable:"true" doc:"When it is to be fixed by; null when none is set."`
	Ransomware bool     `json:"ransomware" doc:"Whether ransomware is known to use it."`
	Action     string   `json:"required_action" doc:"What to do."`
}

// AdvisoryPackage lists the affected and fixed versions of a package.
type AdvisoryPackage struct {
	Ecosystem string   `json:"ecosystem" doc:"Ecosystem, as dependencies have it." example:"npm"`
	Package   string   `json:"package" doc:"Name of the package." example:"lodash"`
	Affected  string   `json:"affected" doc:"Affected versions, in words." example:"all before 4.17.21"`
	Fixed     []string `json:"fixed" doc:"Versions that fix it."`
	Record    string   `json:"record" doc:"The record that says so."`
}

// AdvisoryRecord is the record of one database.
type AdvisoryRecord struct {
	ID          string `json:"id" doc:"Its id." example:"GHSA-35jh-r3h4-6jhm"`
	PublishedAt *Time  `json:"published_at" nullable:"true" doc:"When it was published; null when not told."`
	ModifiedAt  *Time  `json:"modified_at" nullable:"true" doc:"When it was last changed; null when not told."`
	WithdrawnAt *Time  `json:"withdrawn_at" nullable:"true" doc:"When it was withdrawn; null while it holds."`
}

// ImpactQuery contains the parameters for listing the findings of a vulnerability.
type ImpactQuery struct {
	Cursor string `query:"cursor" doc:"Cursor of the previous answer."`
	Limit  int64  `query:"limit" minimum:"0" maximum:"3000" default:"100" doc:"Findings in one answer; 0 takes the default."`
	All    bool   `query:"all" doc:"Fixed and removed findings too."`
}

// ImpactResponse is one page of the findings of a vulnerability.
type ImpactResponse struct {
	Impact []Impact `json:"impact" doc:"Findings of it, whoever found them, on every ref, by id."`
	Cursor string   `json:"cursor,omitempty" doc:"Pass it to get the next page; absent on the last one."`
}

// Impact is one finding of a vulnerability, with its project, dependency and fixed versions.
type Impact struct {
	FindingID          int64               `json:"finding_id" doc:"Id of the finding." example:"1234"`
	Repository         Repository          `json:"repository" doc:"The project."`
	Ref                string              `json:"ref" doc:"Ref, in full." example:"refs/heads/main"`
	Lockfile           string              `json:"lockfile" doc:"Path of the lockfile." example:"package-lock.json"`
	Ecosystem          string              `json:"ecosystem" doc:"Ecosystem of the package." example:"npm"`
	Package            string              `json:"package" doc:"Name of the package." example:"lodash"`
	Version            string              `json:"version" doc:"Version that was found." example:"4.17.20"`
	Transitivity       string              `json:"transitivity" enum:"direct,transitive,unknown" doc:"Whether the project asked for it itself."`
	Severity           string              `json:"severity" enum:"low,medium,high,critical" doc:"How much harm it may do there."`
	Status             string              `json:"status" enum:"open,fixed,ignored,reviewing,fixing,removed" doc:"Status of the finding."`
	Since              Time                `json:"since" doc:"When it was first found, or last came back."`
	FixRecommendations []FixRecommendation `json:"fix_recommendations" doc:"What to upgrade to; empty when nothing is known."`
	Source             string              `json:"source" doc:"Who found it: a scanner, or advisories." example:"advisories"`
}
