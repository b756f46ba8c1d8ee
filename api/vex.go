package api

// VEXDocument is a VEX document: its statements define whether vulnerabilities affect a product.
type VEXDocument struct {
	Name       string `json:"name" doc:"Name of the document. A newer one of the same name replaces it." example:"https://acme.example/vex/payments"`
	Format     string `json:"format" doc:"Format of the document." example:"OpenVEX"`
	Author     string `json:"author" doc:"Author according to the document; often empty." example:"Acme Security"`
	File       string `json:"file" doc:"Name of the file." example:"pay.openvex.json"`
	Version    int64  `json:"version" doc:"Version according to the document; 0 if there is none." example:"2"`
	IssuedAt   *Time  `json:"issued_at" nullable:"true" doc:"Time of issue according to the document; null if there is none."`
	Ref        string `json:"ref" doc:"Full name of the ref; empty: all refs." example:""`
	Statements int64  `json:"statements" doc:"Number of current or last statements." example:"12"`
	Changes    *int64 `json:"would_change" nullable:"true" doc:"For a requested document: findings whose triage would change on approval of the whole document, each counted once for all its refs; else null." example:"4"`
	Ends       *int64 `json:"would_end" nullable:"true" doc:"For a requested document: statements of the active document of its name that approval of the whole document would end; else null." example:"0"`
}

// VEXStatement is a statement about one vulnerability in some packages.
type VEXStatement struct {
	ID              string   `json:"id" pattern:"^[0-9a-f]{64}$" doc:"Hash of the statement without its time. Different statements have different ids."`
	Vulnerabilities []string `json:"vulnerabilities" doc:"Names of the vulnerability."`
	About           string   `json:"about" doc:"Packages and product; empty: everything in the document's scope." example:"npm/lodash 4.17.20"`
	Status          string   `json:"status" enum:"false_positive,not_affected,fixed,under_investigation,affected,unclaimed" doc:"Status of the statement; unclaimed: only a triage from another Redoubt server."`
	Justification   string   `json:"justification" doc:"Justification code of OpenVEX or CycloneDX; often empty." example:"component_not_present"`
	Detail          string   `json:"detail" doc:"Reason, as text."`
	TriageState     string   `json:"triage_state" enum:"ignored,reviewing,fixing,reopened,untriaged" doc:"Triage state of the findings."`
	TriageReason    string   `json:"triage_reason" doc:"Triage reason of the findings; empty if they are not ignored." example:"false_positive"`
	Counts          bool     `json:"counts" doc:"Whether the statement is in effect, in this document or the active one of its name."`
	Changes         *int64   `json:"would_change" nullable:"true" doc:"For a proposal: findings whose triage would change on approval of only this statement; null if in effect."`
}
