package api

// ImportQuery describes an uploaded report. The same names may be sent as fields of a multipart
// form, before its files.
type ImportQuery struct {
	Project  string `query:"project" maxLength:"512" doc:"Project, made if need be, as acme/payments. Needed here or as a field."`
	Ref      string `query:"ref" maxLength:"512" doc:"Branch or other ref, full or short; HEAD when absent."`
	Full     bool   `query:"full" doc:"The report is of everything: findings of its source that it does not hold are fixed, even where it does not tell what it looked at."`
	Diff     bool   `query:"diff" doc:"The report is of a change only: it fixes nothing that full scans saw."`
	Whole    bool   `query:"whole" doc:"The lockfiles are all that the checkout of the commit has: any other is gone, whoever told of it. Implies full for them; there may be no file at all."`
	Category string `query:"category" maxLength:"200" doc:"Makes a source of its own of the same tool."`
	At       string `query:"at" format:"date-time" doc:"Back-dates the scan and what it finds (RFC 3339)."`
	Commit   string `query:"commit" maxLength:"200" doc:"Commit that was scanned."`
	RepoURL  string `query:"repo_url" maxLength:"2048" doc:"Address of the repository, for links."`
	Strict   bool   `query:"strict" doc:"Refuse everything when one item, or one lockfile among several files, cannot be taken."`
	Format   string `query:"format" enum:"semgrep-json,sarif,gitleaks-json,gitlab-json,trivy-json,grype-json,govulncheck-json,trufflehog-json,osv-scanner-json,pip-audit-json,npm-audit-json,brakeman-json,cyclonedx-json,cyclonedx-xml,spdx-json,openvex-json,lockfile" doc:"What the report is; detected when absent."`
	Root     string `query:"root" maxLength:"1024" doc:"Folder of the checkout on the machine that scanned, for reports with absolute paths."`
	Filename string `query:"filename" maxLength:"1024" doc:"Name of a raw body: its path in the repository, for lockfiles."`
}

// ImportResponse contains the results of an upload.
type ImportResponse struct {
	Imports []Import     `json:"imports" doc:"One for each source in the files."`
	Files   int          `json:"files" doc:"Files that were read." example:"137"`
	Given   int          `json:"files_given" doc:"Files that were given: those that were read, and those in unread." example:"137"`
	Unread  []UnreadFile `json:"unread" doc:"Lockfiles that could not be read. Nothing was taken from them, and what was known of them stays."`
	Gate    ImportGate   `json:"gate" doc:"Whether a build may pass."`
}

// UnreadFile is a file of an upload that could not be read.
type UnreadFile struct {
	Name   string `json:"name" doc:"Its path in the repository." example:"web/package-lock.json"`
	Reason string `json:"reason" doc:"Why, for people."`
}

// ImportGate is the result of the policies for the findings of an upload. A finding blocks only if
// it is new against the primary branch and not ignored. Scanners that report directly get the same
// result.
type ImportGate struct {
	Blocked  bool         `json:"blocked" doc:"Whether a finding of a blocking rule is new, so that the build should fail."`
	Reason   string       `json:"reason" doc:"Why, for people; empty when nothing blocks." example:""`
	Blocking []ImportItem `json:"blocking" doc:"The findings that block, each source's worst first."`
	Noted    []ImportItem `json:"noted" doc:"The findings that conditions of policies hold for which fail no build: those in mode comment are to be shown, those in mode monitor are only recorded."`
	// BlockingScans may be absent from stored responses of older versions.
	BlockingScans []string `json:"blocking_scans" doc:"Scans with findings that block. The page /orgs/{deployment}/scans/{scan}/blocking says of each why, what to do, and whether a re-run would pass."`
}

// Import contains the results for the reports of one source.
type Import struct {
	Project   string `json:"project" doc:"Project that has it now." example:"acme/payments"`
	ProjectID int64  `json:"project_id" doc:"Id of the project." example:"17"`
	Ref       string `json:"ref" doc:"Ref, in full." example:"refs/heads/main"`
	Source    string `json:"source" doc:"Tool and category." example:"semgrep"`
	ScanID    string `json:"scan_id" pattern:"^[0-9]+$" doc:"Scan that holds it." example:"42"`
	Outcome   string `json:"outcome" enum:"applied,repeat,late,superseded" doc:"applied; repeat: the file of the latest scan again, byte for byte, by which no finding changes; late: started before a newer full scan, recorded only; superseded: a re-run of a commit that others followed, recorded only."`

	New       int `json:"new" doc:"Findings that were not there." example:"3"`
	Changed   int `json:"changed" doc:"Findings with another line, text or severity."`
	Returned  int `json:"returned" doc:"Findings that were fixed or removed and are back."`
	Moved     int `json:"moved" doc:"Findings whose file or rule changed."`
	Closed    int `json:"closed" doc:"Findings that are fixed."`
	Removed   int `json:"removed" doc:"Findings that are no longer looked for."`
	Unchanged int `json:"unchanged" doc:"Findings that are as they were."`

	ProposedMutes int    `json:"proposed_mutes" doc:"Findings that the report mutes, not by a comment in the code, and that stay open, as the token may not triage."`
	Note          string `json:"note,omitempty" doc:"What did not count of what the report says, and why, for people."`

	MorePlaces int `json:"more_places" doc:"Further places of secrets that stand in a file more than once: a secret is one finding of a file."`

	Items   []ImportItem  `json:"items" doc:"Every finding that changed."`
	Advised []ImportItem  `json:"advisory_items" doc:"Every finding of the advisories that changed with the inventory."`
	Refused []RefusedItem `json:"refused" doc:"The first 100 items that could not be taken, and why."`
	// RefusedCount is 0 if the server lists every item.
	RefusedCount int             `json:"refused_count" doc:"How many items could not be taken, listed or not."`
	Counts       FindingsCounts  `json:"findings_counts" doc:"Findings that the report holds."`
	Changes      InventoryChange `json:"dependencies" doc:"What happened to the inventory."`
	VEX          []ImportVEX     `json:"vex" doc:"What became of the VEX documents in it, and of what an SBOM says beside its components."`
}

// ImportVEX is a VEX document of an upload.
type ImportVEX struct {
	ID         string `json:"id,omitempty" pattern:"^[0-9]+$" doc:"Id under which it is held; absent where nothing is." example:"3"`
	Name       string `json:"name" doc:"Its own name, by which a newer one replaces it." example:"https://acme.example/vex/payments"`
	Format     string `json:"format" enum:"OpenVEX,CycloneDX" doc:"Format of the document." example:"OpenVEX"`
	Outcome    string `json:"outcome" enum:"held,same,older,withdrawn,proposed,refused,dropped" doc:"proposed: it decides nothing until somebody accepts it who may triage, as the token may not; refused: somebody who may triage refused what it proposes, so it is not held; dropped: it was proposed, and the upload proposed more after it than a project may have, or another under its name, so it is not held; held: it counts now; same: as the one that is held; older: than that, changed nothing; withdrawn: it says nothing any more."`
	Statements int    `json:"statements" doc:"Statements that were understood." example:"12"`
	Triaged    int    `json:"triaged" doc:"Findings, through all refs, whose triage changed." example:"4"`
}

// ImportItem is a finding that an upload changed.
type ImportItem struct {
	FindingID int64  `json:"finding_id" doc:"Id of the finding." example:"1234"`
	Rule      string `json:"rule" doc:"Its rule."`
	Path      string `json:"path" doc:"Its file." example:"src/app.py"`
	Line      int    `json:"line" doc:"Its line; 0 when not known." example:"10"`
	Change    string `json:"change" enum:"new,changed,returned,moved,closed,removed,unchanged" doc:"What happened; unchanged only where a finding blocks."`
	Muted     bool   `json:"muted" doc:"Whether a comment in the code silences it."`
	Condition string `json:"condition,omitempty" doc:"In a gate: the condition of a policy that holds for it." example:"condition 1 of supply-chain: high or worse, with a fix"`
	Mode      string `json:"mode,omitempty" enum:"monitor,comment,block" doc:"In a gate: the mode of that condition." example:"block"`
	Text      string `json:"text,omitempty" doc:"In a gate: the dependency, its fix and the condition, for people."`
}

// RefusedItem is an item of a report that was rejected.
type RefusedItem struct {
	Item   string `json:"item" doc:"Where in the report." example:"results[17]"`
	Reason string `json:"reason" doc:"Why."`
}

// InventoryChange counts the changes of an upload to the inventory.
type InventoryChange struct {
	Lockfiles        int      `json:"lockfiles" doc:"Lockfiles that the report states."`
	Added            int      `json:"added" doc:"Dependencies that came."`
	Removed          int      `json:"removed" doc:"Dependencies that went, those of lockfiles that are gone among them."`
	LockfilesDropped []string `json:"lockfiles_dropped" doc:"Lockfiles that are gone."`
}
