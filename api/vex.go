package api

// VEXDocument is a VEX document: its statements define whether vulnerabilities affect a product.
type VEXDocument struct {
	Name       string `json:"name" doc:"Its own name, by which a newer one replaces it." example:"https://acme.example/vex/payments"`
	Format     string `json:"format" doc:"What it was read as." example:"OpenVEX"`
	Author     string `json:"author" doc:"Who made it, as it says; mostly empty." example:"Acme Security"`
	File       string `json:"file" doc:"File that it was read from." example:"pay.openvex.json"`
	Version    int64  `json:"version" doc:"Its version, as it says; 0 where it does not." example:"2"`
	IssuedAt   *Time  `json:"issued_at" nullable:"true" doc:"When it was issued, as it says; null where it does not."`
	Ref        string `json:"ref" doc:"Ref that it is for, in full; empty is every one." example:""`
	Statements int64  `json:"statements" doc:"Statements that it makes, or made." example:"12"`
	Changes    *int64 `json:"would_change" nullable:"true" doc:"Of a requested one: findings whose triage would change, each once whatever its refs, were it approved as a whole now; else null." example:"4"`
	Ends       *int64 `json:"would_end" nullable:"true" doc:"Of a requested one: statements of the active document of its name which it does not make any more, and would end as a whole; else null." example:"0"`
}

// VEXStatement is a statement about one vulnerability in some packages.
type VEXStatement struct {
	ID              string   `json:"id" pattern:"^[0-9a-f]{64}$" doc:"Hash over what it says, but for when: another text has another id."`
	Vulnerabilities []string `json:"vulnerabilities" doc:"Names of the vulnerability."`
	About           string   `json:"about" doc:"Packages and product that it is about; empty is anywhere in what the document is for." example:"npm/lodash 4.17.20"`
	Status          string   `json:"status" enum:"false_positive,not_affected,fixed,under_investigation,affected,unclaimed" doc:"What it says; unclaimed: nothing but a triage of another Redoubt."`
	Justification   string   `json:"justification" doc:"Why, in a word of OpenVEX or CycloneDX; mostly empty." example:"component_not_present"`
	Detail          string   `json:"detail" doc:"Why, for people."`
	TriageState     string   `json:"triage_state" enum:"ignored,reviewing,fixing,reopened,untriaged" doc:"The triage that findings get by it."`
	TriageReason    string   `json:"triage_reason" doc:"The reason that these show; empty where they are not ignored." example:"false_positive"`
	Counts          bool     `json:"counts" doc:"Whether it counts, in this document or the one of its name that does."`
	Changes         *int64   `json:"would_change" nullable:"true" doc:"Of a proposal: findings whose triage would change, were this statement alone accepted now; null where it counts."`
}
