package api

// VEXDocument says of vulnerabilities whether they matter where a package is
// used. It counts, or is proposed.
type VEXDocument struct {
	ID         string   `json:"id" pattern:"^[0-9]+$" doc:"Id under which it is held. A proposal that says another thing has another one." example:"3"`
	Name       string   `json:"name" doc:"Its own name, by which a newer one replaces it." example:"https://acme.example/vex/payments"`
	Format     string   `json:"format" doc:"What it was read as." example:"OpenVEX"`
	Author     string   `json:"author" doc:"Who made it, as it says; mostly empty." example:"Acme Security"`
	File       string   `json:"file" doc:"File that it was read from." example:"pay.openvex.json"`
	Version    int64    `json:"version" doc:"Its version, as it says; 0 where it does not." example:"2"`
	IssuedAt   *Time    `json:"issued_at" nullable:"true" doc:"When it was issued, as it says; null where it does not."`
	Project    string   `json:"project" doc:"Project that it is for; empty for one that is for many." example:"acme/payments"`
	Ref        string   `json:"ref" doc:"Ref that it is for, in full; empty is every one." example:""`
	Projects   []string `json:"projects" doc:"Globs of the projects that it is for, where it is for many; none is every one."`
	Status     string   `json:"status" enum:"proposed,held" doc:"held: it counts; proposed: a token sent it that may not triage, and it decides nothing until somebody accepts it."`
	Statements int64    `json:"statements" doc:"Statements that it makes." example:"12"`
	Decides    int64    `json:"decides" doc:"Findings that it decided about last, each once whatever its refs; 0 of a proposal." example:"4"`
	Changes    *int64   `json:"would_change" nullable:"true" doc:"Of a proposal: findings whose triage would change, each once whatever its refs, were it accepted as a whole now; null of what counts." example:"4"`
	Ends       *int64   `json:"would_end" nullable:"true" doc:"Of a proposal: statements of the document of its name that counts which it does not make any more, and would end as a whole; null of what counts." example:"0"`
	ReceivedAt Time     `json:"received_at" doc:"When it came."`
	ReceivedBy string   `json:"received_by" doc:"Who sent it." example:"token:ci"`
}

// VEXStatement says one thing of one vulnerability in some packages.
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

// VEXDocumentsQuery are the parameters of the list of VEX documents.
type VEXDocumentsQuery struct {
	Status string `query:"status" enum:"proposed,held" doc:"Only those that are proposed, or that count; both when absent."`
	Cursor string `query:"cursor" doc:"Cursor of the previous answer."`
	Limit  int64  `query:"limit" minimum:"0" maximum:"100" default:"50" doc:"Documents in one answer; 0 takes the default."`
}

// ListVEXDocumentsResponse is one page of VEX documents.
type ListVEXDocumentsResponse struct {
	Documents []VEXDocument `json:"documents" doc:"Documents, by id."`
	Cursor    string        `json:"cursor,omitempty" doc:"Pass it to get the next page; absent on the last one."`
}

// VEXStatementsQuery are the parameters of one VEX document.
type VEXStatementsQuery struct {
	Cursor string `query:"cursor" doc:"Cursor of the previous answer."`
	Limit  int64  `query:"limit" minimum:"0" maximum:"500" default:"100" doc:"Statements in one answer; 0 takes the default."`
}

// VEXDocumentResponse is a VEX document with one page of its statements.
type VEXDocumentResponse struct {
	Document   VEXDocument    `json:"document" doc:"The document."`
	Statements []VEXStatement `json:"statements" doc:"What it says, in its own order."`
	Cursor     string         `json:"cursor,omitempty" doc:"Pass it to get the next page; absent on the last one."`
}

// DecideVEXRequest accepts or refuses what is proposed. Unknown members are
// refused: a misspelt one must not decide about all.
type DecideVEXRequest struct {
	_          struct{} `additionalProperties:"false"`
	Statements []string `json:"statements,omitempty" maxItems:"500" doc:"Ids of the statements that this is about; the whole document when absent or empty."`
}

// VEXDecisionResponse says what a decision did.
type VEXDecisionResponse struct {
	ID      string `json:"id,omitempty" pattern:"^[0-9]+$" doc:"Id of the document that counts by it; absent where none does." example:"4"`
	Changed int64  `json:"changed" doc:"Findings whose triage changed with it, each once whatever its refs." example:"4"`
	Refused int64  `json:"refused" doc:"Statements that were refused, which uploads of the project do not propose again."`
	Waits   bool   `json:"waits" doc:"Whether something of the proposal is still to be decided."`
}
