package model

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"
)

// VEXDocument is a VEX document: statements about whether vulnerabilities affect products. It is
// stored until a newer one with its name replaces it, so it also applies to later findings.
type VEXDocument struct {
	ID       int64
	Name     string // ID of the document, such as a serial number or IRI; a newer one replaces it
	Format   string // such as OpenVEX or CycloneDX
	Author   string // as stated in the document; usually empty
	File     string // name of the uploaded file
	Version  int64  // as stated in the document; 0 if unknown
	IssuedAt time.Time

	// ProjectID and Ref define where the document applies: to one project, and to all its refs if
	// Ref is empty. ProjectID 0 means all projects that match Projects.
	ProjectID int64
	Ref       string
	Projects  ProjectGlobs

	Statements []VEXStatement
	ReceivedAt time.Time
	ReceivedBy Actor
	// Proposed means that the document was uploaded without the triager role. It is stored
	// separately from the active one and has no effect until it is accepted.
	Proposed bool
}

// MaxVEXDocuments is the maximum number of active documents per deployment.
const MaxVEXDocuments = 20_000

// VEXStatement is a statement about a vulnerability in a product.
type VEXStatement struct {
	Names []string `json:"names"` // all names of the vulnerability, in upper case
	// Product identifies what contains the packages, by URLs or IRIs. Empty means everywhere the
	// document applies. Sole means that it is the only product in the document, which is then where
	// the document applies.
	Product []string `json:"product,omitempty"`
	Sole    bool     `json:"sole,omitempty"`
	// Packages are the vulnerable packages; empty for any in the product.
	Packages      []VEXPackage `json:"packages,omitempty"`
	Status        VEXStatus    `json:"status"`
	Justification string       `json:"justification,omitempty"` // value of OpenVEX or CycloneDX
	Detail        string       `json:"detail,omitempty"`
	Own           *VEXTriage   `json:"own,omitempty"` // exact triage, in documents written by Redoubt
	At            time.Time    `json:"at,omitzero"`   // zero for the document's issue date
}

// VEXPackage is a package with a version.
type VEXPackage struct {
	Key     string `json:"key"`               // in the format of purl.VEXKey
	Version string `json:"version,omitempty"` // in the format of purl.Version; empty for all
}

// VEXTriage is a triage decision in documents of Redoubt.
type VEXTriage struct {
	State   TriageState  `json:"state"`
	Reason  TriageReason `json:"reason,omitempty"`
	Comment string       `json:"comment,omitempty"`
}

// VEXStatus is the status of a vulnerability.
type VEXStatus uint8

// Statuses in ascending order of caution.
const (
	VEXFalsePositive VEXStatus = iota + 1 // CycloneDX only
	VEXNotAffected
	VEXFixed
	VEXUnderInvestigation
	VEXAffected
	VEXUnclaimed // no status except in Own
)

var vexStatuses = enumNames[VEXStatus]{
	"", "false_positive", "not_affected", "fixed", "under_investigation", "affected", "unclaimed",
}

// String returns the value of OpenVEX, or of CycloneDX if OpenVEX has none.
func (s VEXStatus) String() string { return vexStatuses.name(s) }

// ParseVEXStatus parses a status in the format of String.
func ParseVEXStatus(s string) (VEXStatus, bool) { return vexStatuses.parse(s) }

// vexJustification is a reason for which a vulnerability has no effect.
type vexJustification struct {
	openVEX, cycloneDX string
	reason             TriageReason
}

// vexJustifications is in order of preference: the first entry with a value of one format
// determines that of the other. Absent or unexecuted code is a false positive. Code that is
// protected is an acceptable risk.
var vexJustifications = []vexJustification{
	{"vulnerable_code_not_present", "code_not_present", FalsePositive},
	{"component_not_present", "code_not_present", FalsePositive},
	{"vulnerable_code_not_in_execute_path", "code_not_reachable", FalsePositive},
	{"vulnerable_code_cannot_be_controlled_by_adversary", "requires_environment", AcceptableRisk},
	{"vulnerable_code_cannot_be_controlled_by_adversary", "requires_configuration", AcceptableRisk},
	{"vulnerable_code_cannot_be_controlled_by_adversary", "requires_dependency", AcceptableRisk},
	{"inline_mitigations_already_exist", "protected_by_mitigating_control", AcceptableRisk},
	{"inline_mitigations_already_exist", "protected_by_compiler", AcceptableRisk},
	{"inline_mitigations_already_exist", "protected_at_runtime", AcceptableRisk},
	{"inline_mitigations_already_exist", "protected_at_perimeter", AcceptableRisk},
}

func justificationOf(word string) *vexJustification {
	for i := range vexJustifications {
		if j := &vexJustifications[i]; word != "" && (j.openVEX == word || j.cycloneDX == word) {
			return j
		}
	}
	return nil
}

// VEXJustification returns the OpenVEX and CycloneDX values of a justification, and whether it is
// one.
func VEXJustification(word string) (openVEX, cycloneDX string, ok bool) {
	j := justificationOf(word)
	if j == nil {
		return "", "", false
	}
	return j.openVEX, j.cycloneDX, true
}

// Triage returns the triage decision of a statement. Its comment contains the justification, or the
// status if there is none, followed by a colon and the text. VEXOf parses this format.
func (s *VEXStatement) Triage() VEXTriage {
	if s.Own != nil {
		t := *s.Own
		t.Comment = Shorten(t.Comment, MaxNote) // the redaction mark may be longer than the secret
		return t
	}
	t := VEXTriage{State: TriageIgnored, Reason: FalsePositive, Comment: s.Detail}
	word := s.Status.String()
	switch s.Status {
	case VEXFalsePositive:
		word = ""
	case VEXNotAffected:
		t.Reason = NoTriageReason
		if j := justificationOf(s.Justification); j != nil {
			t.Reason, word = j.reason, s.Justification
		}
	case VEXUnderInvestigation:
		t.State, t.Reason, word = TriageReviewing, 0, ""
	case VEXAffected, VEXUnclaimed:
		t.State, t.Reason = TriageReopened, 0
	}
	if word != "" && t.Comment != "" {
		word += ": "
	}
	if word+t.Comment != s.Detail {
		t.Comment = word + t.Comment
	}
	t.Comment = Shorten(t.Comment, MaxNote)
	return t
}

// VEXOf returns a statement that expresses a triage decision, without names and packages. It
// returns false if there is no decision. A comment that starts with a justification or a status,
// followed by a colon or nothing, sets these. Importing the statement in Redoubt yields the same
// decision.
func VEXOf(t Triage) (VEXStatement, bool) {
	s := VEXStatement{
		Own: &VEXTriage{State: t.State, Reason: t.Reason, Comment: t.Comment}, Detail: t.Comment, Status: VEXUnclaimed,
	}
	word, detail, _ := strings.Cut(t.Comment, ":")
	word, detail = strings.TrimSpace(word), strings.TrimSpace(detail)
	claimed, _ := ParseVEXStatus(word)
	switch {
	case t.State == TriageReviewing:
		s.Status = VEXUnderInvestigation
	case t.State == TriageFixing:
		s.Status = VEXAffected
	case t.State == TriageReopened && claimed == VEXAffected:
		s.Status, s.Detail = VEXAffected, detail
	case t.State != TriageIgnored:
		return s, false
	case justificationOf(word) != nil:
		s.Status, s.Justification, s.Detail = VEXNotAffected, word, detail
	case claimed == VEXNotAffected || claimed == VEXFixed:
		s.Status, s.Detail = claimed, detail
	case t.Reason == FalsePositive:
		s.Status = VEXFalsePositive
	}
	return s, true
}

// Actor returns the actor of the document's triage decisions.
func (d *VEXDocument) Actor() Actor {
	return Actor{Kind: ActorVEX, ID: strconv.FormatInt(d.ID, 10)}
}

// IsCalled reports whether a product name refers to the project. It may be the project's name, its
// URL, or a package URL of its repository in any version.
func (p Project) IsCalled(product string) bool {
	bare := func(s string) string {
		s, _, _ = strings.Cut(strings.ToLower(s), "?")
		s, _, _ = strings.Cut(s, "#")
		if _, rest, ok := strings.Cut(s, "://"); ok {
			s = rest
		}
		return strings.TrimSuffix(strings.TrimSuffix(s, "/"), ".git")
	}
	product = bare(product)
	if rest, ok := strings.CutPrefix(product, "pkg:"); ok {
		rest, _, _ = strings.Cut(rest, "@")
		kind, name, _ := strings.Cut(rest, "/")
		name, err := url.PathUnescape(name)
		if kind == "golang" {
			return err == nil && p.URL != "" && name == bare(p.URL)
		}
		return err == nil && name == bare(p.Name) &&
			slices.Contains([]string{"github", "gitlab", "bitbucket", "generic"}, kind)
	}
	return product == bare(p.Name) || p.URL != "" && product == bare(p.URL)
}

// VEXOutcome is the result of importing a document.
type VEXOutcome string

// Outcomes of an import.
const (
	VEXActive    VEXOutcome = "held"      // active
	VEXSame      VEXOutcome = "same"      // equal to the active document
	VEXOlder     VEXOutcome = "older"     // older than the active document: no effect
	VEXWithdrawn VEXOutcome = "withdrawn" // contains no statements any more
	VEXProposed  VEXOutcome = "proposed"  // has no effect until a user with the triager role accepts it
	VEXRefused   VEXOutcome = "refused"   // its proposal was refused by a user with the triager role; not stored
	VEXDropped   VEXOutcome = "dropped"   // replaced by a later proposal of the same upload
)

// VEXUpload is a report with VEX documents and where they apply.
type VEXUpload struct {
	Project  Project
	Scan     Scan
	Report   *Report
	Proposed bool // see VEXDocument
}

// VEXReceipt describes the effect of a document.
type VEXReceipt struct {
	Document   VEXDocument // without its statements
	Outcome    VEXOutcome
	Statements int
	Changed    int // number of lineages whose triage changed
	// Dropped contains the IDs of older proposals of the project that were deleted due to limits.
	Dropped []int64
}

// Limits of proposals. When a limit of a project is exceeded, its oldest proposals are deleted.
// When a limit of a deployment is exceeded, those of the project with the most proposals are
// deleted (docs/reference/uploads.md).
const (
	MaxVEXProposals          = 100    // documents per project
	MaxVEXProposedStatements = 20_000 // in all proposals of a project
	MaxAllVEXProposals       = 2000   // documents per deployment

	MaxVEXProposedBytes    = 16 << 20  // size of the statements in a project's proposals
	MaxAllVEXProposedBytes = 128 << 20 // size of the statements in a deployment's proposals
)

// MaxVEXRefusals is the maximum number of stored refusals per project. The oldest are deleted
// first.
const MaxVEXRefusals = 50_000

// ID returns an identifier of the statement's content except for its time: 64 lower-case
// hexadecimal digits. Equal statements of different documents have equal IDs, and a changed
// statement has another one. So a decision by ID applies exactly to the content that was reviewed.
func (s *VEXStatement) ID() string {
	content := *s
	content.At = time.Time{}
	text, err := json.Marshal(content)
	if err != nil {
		text = []byte(err.Error()) // unreachable: statements can always be encoded
	}
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:])
}

// Size returns the size of the document's statements as JSON, in bytes.
func (d *VEXDocument) Size() (n int64) {
	for i := range d.Statements {
		text, err := json.Marshal(&d.Statements[i])
		if err == nil { // statements can always be encoded
			n += int64(len(text))
		}
	}
	return n
}

// About returns the packages and the product of a statement for display. It is empty if the
// statement applies to everything.
func (s *VEXStatement) About() string {
	about := make([]string, 0, len(s.Packages))
	for _, p := range s.Packages {
		about = append(about, strings.TrimSuffix(p.Key+" "+p.Version, " "))
	}
	text := strings.Join(about, ", ")
	if len(s.Product) > 0 && text != "" {
		text += " in "
	}
	if len(s.Product) > 0 {
		text += s.Product[0]
	}
	return text
}

// StatusText returns the status and the justification of a statement for display.
func (s *VEXStatement) StatusText() string {
	return strings.TrimSpace(s.Status.String() + " " + s.Justification)
}

// IsAboutSame reports whether two statements concern the same vulnerability in the same packages of
// a product. Then one replaces the other.
func (s *VEXStatement) IsAboutSame(other *VEXStatement) bool {
	return slices.Equal(s.Product, other.Product) && slices.Equal(s.Packages, other.Packages) &&
		slices.ContainsFunc(s.Names, func(name string) bool { return slices.Contains(other.Names, name) })
}
