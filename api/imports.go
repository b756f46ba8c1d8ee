package api

// ImportQuery describes an uploaded report. The same names may be sent as fields of a multipart
// form, before its files.
type ImportQuery struct {
	Project  string `query:"project" maxLength:"512" doc:"Name of the project, created if new. Required here or as a form field."`
	Ref      string `query:"ref" maxLength:"512" doc:"Branch or other ref, full or short; HEAD when absent."`
	Full     bool   `query:"full" doc:"The report is complete: findings of its source that are missing from it are fixed, even if it does not list what was scanned."`
	Diff     bool   `query:"diff" doc:"The report covers only a change: it fixes no findings of full scans."`
	Whole    bool   `query:"whole" doc:"The lockfiles are all that the commit contains: all others are removed, from any source. Implies full for lockfiles; an upload without files is valid."`
	Category string `query:"category" maxLength:"200" doc:"Category: reports of the same tool with another category are a separate source."`
	At       string `query:"at" format:"date-time" doc:"Start time of the scan and of its findings, for past scans (RFC 3339)."`
	Commit   string `query:"commit" maxLength:"200" doc:"Scanned commit."`
	RepoURL  string `query:"repo_url" maxLength:"2048" doc:"URL of the repository, for links."`
	Strict   bool   `query:"strict" doc:"Reject the upload if an item, or one lockfile among several files, is invalid."`
	Format   string `query:"format" enum:"semgrep-json,sarif,gitleaks-json,gitlab-json,trivy-json,grype-json,govulncheck-json,trufflehog-json,osv-scanner-json,pip-audit-json,npm-audit-json,brakeman-json,cyclonedx-json,cyclonedx-xml,spdx-json,openvex-json,lockfile" doc:"Format of the report; default: detected."`
	Root     string `query:"root" maxLength:"1024" doc:"Folder of the checkout on the scanning machine, for reports with absolute paths."`
	Filename string `query:"filename" maxLength:"1024" doc:"Name of a raw body; for lockfiles, the path in the repository."`
}

// ImportResponse contains the results of an upload.
type ImportResponse struct {
	Imports []Import     `json:"imports" doc:"One result for each source in the files."`
	Files   int          `json:"files" doc:"Number of files read." example:"137"`
	Given   int          `json:"files_given" doc:"Number of files uploaded: those read and those in unread." example:"137"`
	Unread  []UnreadFile `json:"unread" doc:"Lockfiles that could not be read. Their previous contents remain."`
	Gate    ImportGate   `json:"gate" doc:"Result of the policies for a build."`
}

// UnreadFile is a file of an upload that could not be read.
type UnreadFile struct {
	Name   string `json:"name" doc:"Path in the repository." example:"web/package-lock.json"`
	Reason string `json:"reason" doc:"Reason, as text."`
}

// ImportGate is the result of the policies for the findings of an upload. A finding blocks only if
// it is new against the primary branch and not ignored. Scanners that report directly get the same
// result.
type ImportGate struct {
	Blocked  bool         `json:"blocked" doc:"Whether the build should fail because of a new finding of a blocking rule."`
	Reason   string       `json:"reason" doc:"Reason, as text; empty if nothing blocks." example:""`
	Blocking []ImportItem `json:"blocking" doc:"Findings that block, by severity for each source, highest first."`
	Noted    []ImportItem `json:"noted" doc:"Findings that match policy conditions but fail no build: mode comment shows them, mode monitor only records them."`
	// BlockingScans may be absent from stored responses of older versions.
	BlockingScans []string `json:"blocking_scans" doc:"Scans with blocking findings. The page /orgs/{deployment}/scans/{scan}/blocking shows the reasons, the remedies and whether a re-run would pass."`
}

// Import contains the results for the reports of one source.
type Import struct {
	Project   string `json:"project" doc:"Name of the project." example:"acme/payments"`
	ProjectID int64  `json:"project_id" doc:"Id of the project." example:"17"`
	Ref       string `json:"ref" doc:"Full name of the ref." example:"refs/heads/main"`
	Source    string `json:"source" doc:"Tool and category." example:"semgrep"`
	ScanID    string `json:"scan_id" pattern:"^[0-9]+$" doc:"Id of the scan." example:"42"`
	Outcome   string `json:"outcome" enum:"applied,repeat,late,superseded" doc:"applied: in effect. repeat: identical to the file of the latest scan, nothing changed. late: only recorded, because a scan that started later is already applied. superseded: only recorded, as a re-run of an older commit."`

	New       int `json:"new" doc:"New findings." example:"3"`
	Changed   int `json:"changed" doc:"Findings whose line, text or severity changed."`
	Returned  int `json:"returned" doc:"Fixed or removed findings that were reopened."`
	Moved     int `json:"moved" doc:"Findings whose file or rule changed."`
	Closed    int `json:"closed" doc:"Findings that were fixed."`
	Removed   int `json:"removed" doc:"Findings that are out of scope."`
	Unchanged int `json:"unchanged" doc:"Unchanged findings."`

	ProposedMutes int    `json:"proposed_mutes" doc:"Findings that the report mutes other than by a code comment. They stay open because the token cannot triage."`
	Note          string `json:"note,omitempty" doc:"Ignored parts of the report and the reason, as text."`

	MorePlaces int `json:"more_places" doc:"Further locations of secrets that occur several times in a file: a secret is one finding per file."`

	Items   []ImportItem  `json:"items" doc:"Changed findings."`
	Advised []ImportItem  `json:"advisory_items" doc:"Advisory findings that changed with the inventory."`
	Refused []RefusedItem `json:"refused" doc:"First 100 rejected items, with reasons."`
	// RefusedCount is 0 if the server lists every item.
	RefusedCount int             `json:"refused_count" doc:"Number of rejected items, including unlisted ones."`
	Counts       FindingsCounts  `json:"findings_counts" doc:"Findings in the report."`
	Changes      InventoryChange `json:"dependencies" doc:"Changes of the inventory."`
	VEX          []ImportVEX     `json:"vex" doc:"Results for VEX documents in the report, including statements of an SBOM."`
}

// ImportVEX is a VEX document of an upload.
type ImportVEX struct {
	ID         string `json:"id,omitempty" pattern:"^[0-9]+$" doc:"Id of the stored document; absent if none is stored." example:"3"`
	Name       string `json:"name" doc:"Name of the document. A newer one of the same name replaces it." example:"https://acme.example/vex/payments"`
	Format     string `json:"format" enum:"OpenVEX,CycloneDX" doc:"Format of the document." example:"OpenVEX"`
	Outcome    string `json:"outcome" enum:"held,same,older,withdrawn,proposed,refused,dropped" doc:"proposed: no effect until a user with the triager role accepts it, because the token cannot triage. refused: not stored, because a user with the triager role refused it. dropped: not stored, because the upload exceeded the limit of proposals per project or proposed another of its name. held: in effect. same: identical to the stored one. older: than the stored one, no change. withdrawn: it has no statements any more."`
	Statements int    `json:"statements" doc:"Valid statements." example:"12"`
	Triaged    int    `json:"triaged" doc:"Findings whose triage changed, counted once for all refs." example:"4"`
}

// ImportItem is a finding that an upload changed.
type ImportItem struct {
	FindingID int64  `json:"finding_id" doc:"Id of the finding." example:"1234"`
	Rule      string `json:"rule" doc:"Name of the rule."`
	Path      string `json:"path" doc:"Path of the file." example:"src/app.py"`
	Line      int    `json:"line" doc:"Line; 0: unknown." example:"10"`
	Change    string `json:"change" enum:"new,changed,returned,moved,closed,removed,unchanged" doc:"Change; unchanged only if the finding blocks."`
	Muted     bool   `json:"muted" doc:"Whether a comment in the code suppresses it."`
	Condition string `json:"condition,omitempty" doc:"In a gate: matching condition of a policy." example:"condition 1 of supply-chain: high or worse, with a fix"`
	Mode      string `json:"mode,omitempty" enum:"monitor,comment,block" doc:"In a gate: mode of the condition." example:"block"`
	Text      string `json:"text,omitempty" doc:"In a gate: dependency, fix and condition, as text."`
}

// RefusedItem is an item of a report that was rejected.
type RefusedItem struct {
	Item   string `json:"item" doc:"Location in the report." example:"results[17]"`
	Reason string `json:"reason" doc:"Reason."`
}

// InventoryChange counts the changes of an upload to the inventory.
type InventoryChange struct {
	Lockfiles        int      `json:"lockfiles" doc:"Lockfiles in the report."`
	Added            int      `json:"added" doc:"Added dependencies."`
	Removed          int      `json:"removed" doc:"Removed dependencies, including those of removed lockfiles."`
	LockfilesDropped []string `json:"lockfiles_dropped" doc:"Removed lockfiles."`
}
