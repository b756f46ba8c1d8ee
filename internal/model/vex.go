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

// VEXDocument says of vulnerabilities whether they matter where a package is
// used. It is held until a newer one of its name takes its place, so that it
// covers findings that come after it.
type VEXDocument struct {
	ID       int64
	Name     string // its own id, by which a newer one replaces it; as serial number or IRI
	Format   string // as OpenVEX or CycloneDX
	Author   string // as it says; mostly empty
	File     string // that it was read from
	Version  int64  // as it says; 0 where it does not
	IssuedAt time.Time

	// ProjectID and Ref are what it was sent for: one project, one ref of it or
	// all where Ref is empty. ProjectID 0 is all projects that the globs allow.
	ProjectID int64
	Ref       string
	Projects  ProjectGlobs

	Statements []VEXStatement
	ReceivedAt time.Time
	ReceivedBy Actor
	// Proposed is of one that came by a token that may not triage: it is held
	// beside the one that counts, and decides nothing until it is accepted.
	Proposed bool
}

// MaxVEXDocuments is how many documents that count a deployment may hold.
const MaxVEXDocuments = 20_000

// VEXStatement says one thing of one vulnerability in one product.
type VEXStatement struct {
	Names []string `json:"names"` // of the vulnerability, in upper case
	// Product names what contains the packages, by URLs or IRIs. Empty is
	// whatever the document is for; Sole says that it is the only product that
	// the document speaks of, which is then what it is for.
	Product []string `json:"product,omitempty"`
	Sole    bool     `json:"sole,omitempty"`
	// Packages are where the vulnerability is; empty is anywhere in the product.
	Packages      []VEXPackage `json:"packages,omitempty"`
	Status        VEXStatus    `json:"status"`
	Justification string       `json:"justification,omitempty"` // a word of OpenVEX or CycloneDX
	Detail        string       `json:"detail,omitempty"`
	Own           *VEXTriage   `json:"own,omitempty"` // exactly, where a Redoubt wrote it
	At            time.Time    `json:"at,omitzero"`   // zero is when the document was issued
}

// VEXPackage is a package, and a version of it.
type VEXPackage struct {
	Key     string `json:"key"`               // as purl.VEXKey names it
	Version string `json:"version,omitempty"` // as purl.Version spells it; empty is every version
}

// VEXTriage is a triage as documents of Redoubt tell it.
type VEXTriage struct {
	State   TriageState  `json:"state"`
	Reason  TriageReason `json:"reason,omitempty"`
	Comment string       `json:"comment,omitempty"`
}

// VEXStatus is what is said of a vulnerability.
type VEXStatus uint8

// Statuses, the more cautious ones last.
const (
	VEXFalsePositive VEXStatus = iota + 1 // CycloneDX only
	VEXNotAffected
	VEXFixed
	VEXUnderInvestigation
	VEXAffected
	VEXUnclaimed // nothing but what Own says
)

var vexStatuses = enumNames[VEXStatus]{
	"", "false_positive", "not_affected", "fixed", "under_investigation", "affected", "unclaimed",
}

// String returns the word of OpenVEX, or of CycloneDX where that has none.
func (s VEXStatus) String() string { return vexStatuses.name(s) }

// ParseVEXStatus reads a status as String writes it.
func ParseVEXStatus(s string) (VEXStatus, bool) { return vexStatuses.parse(s) }

// vexJustification is a reason why a vulnerability does not matter.
type vexJustification struct {
	openVEX, cycloneDX string
	reason             TriageReason
}

// vexJustifications are in the order of preference: the first one that has a
// word of one format gives that of the other. What is not there, or never runs,
// was found falsely; what something stands in front of is a risk that is taken.
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

// VEXJustification tells whether a word is a justification, and how OpenVEX and
// CycloneDX call it.
func VEXJustification(word string) (openVEX, cycloneDX string, ok bool) {
	j := justificationOf(word)
	if j == nil {
		return "", "", false
	}
	return j.openVEX, j.cycloneDX, true
}

// Triage is what a statement makes of a finding. What it says stands in the
// comment, where VEXOf finds it again: its justification or else its status, a
// colon, and the text.
func (s *VEXStatement) Triage() VEXTriage {
	if s.Own != nil {
		t := *s.Own
		t.Comment = Shorten(t.Comment, MaxNote) // a mark may be longer than the secret that was there
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

// VEXOf says of a triage what VEX can say, in a statement without names and
// packages. It is false where nothing was decided. A comment that begins with a
// justification or a status, alone or before a colon, makes it that statement's;
// documents that Redoubt reads give the same triage again, whatever it is.
func VEXOf(t Triage) (VEXStatement, bool) {
	s := VEXStatement{
		Own: &VEXTriage{State: t.State, Reason: t.Reason, Comment: t.Comment}, Detail: t.Comment, Status: VEXUnclaimed,
	}
	word, detail, _ := strings.Cut(t.Comment, ":")
	word, detail = strings.TrimSpace(word), strings.TrimSpace(detail)
	said, _ := ParseVEXStatus(word)
	switch {
	case t.State == TriageReviewing:
		s.Status = VEXUnderInvestigation
	case t.State == TriageFixing:
		s.Status = VEXAffected
	case t.State == TriageReopened && said == VEXAffected:
		s.Status, s.Detail = VEXAffected, detail
	case t.State != TriageIgnored:
		return s, false
	case justificationOf(word) != nil:
		s.Status, s.Justification, s.Detail = VEXNotAffected, word, detail
	case said == VEXNotAffected || said == VEXFixed:
		s.Status, s.Detail = said, detail
	case t.Reason == FalsePositive:
		s.Status = VEXFalsePositive
	}
	return s, true
}

// Actor is the document as the one who decides about findings.
func (d *VEXDocument) Actor() Actor {
	return Actor{Kind: ActorVEX, ID: strconv.FormatInt(d.ID, 10)}
}

// IsCalled reports whether a product's name is the project's: its name, its
// address, or a package URL of its repository, whatever the version.
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

// VEXOutcome is what became of a document that came.
type VEXOutcome string

// Outcomes.
const (
	VEXHeld      VEXOutcome = "held"      // it counts now
	VEXSame      VEXOutcome = "same"      // as the one that is held
	VEXOlder     VEXOutcome = "older"     // than the one that is held: changed nothing
	VEXWithdrawn VEXOutcome = "withdrawn" // it says nothing any more
	VEXProposed  VEXOutcome = "proposed"  // it decides nothing until somebody accepts it who may triage
	VEXRefused   VEXOutcome = "refused"   // somebody who may triage refused what it proposes: it is not held
	VEXDropped   VEXOutcome = "dropped"   // it was proposed, and went for what the same upload proposed after it
)

// VEXUpload is a report with VEX documents and what they were sent for.
type VEXUpload struct {
	Project  Project
	Scan     Scan
	Report   *Report
	Proposed bool // see VEXDocument
}

// VEXReceipt tells what a document did.
type VEXReceipt struct {
	Document   VEXDocument // without its statements
	Outcome    VEXOutcome
	Statements int
	Changed    int // lineages whose triage changed
	// Dropped are the ids of older proposals of the project that made room for this one.
	Dropped []int64
}

// How much uploads alone may propose. What comes past it is taken: the oldest
// proposals of the project go, and of a deployment those of the project that has
// most (docs/reference/uploads.md).
const (
	MaxVEXProposals          = 100    // documents of a project
	MaxVEXProposedStatements = 20_000 // in all proposals of a project together
	MaxAllVEXProposals       = 2000   // documents of a deployment

	MaxVEXProposedBytes    = 16 << 20  // of the statements of a project's proposals
	MaxAllVEXProposedBytes = 128 << 20 // of those of a deployment
)

// MaxVEXRefusals is how many refusals of a project are remembered; the oldest
// are forgotten first.
const MaxVEXRefusals = 50_000

// ID tells statements apart by what they say, but for when: those of one text
// have one id, in whatever document, and a text that changed has another. So what
// is decided by id is what was read. It is lower-case hexadecimal, 64 digits.
func (s *VEXStatement) ID() string {
	said := *s
	said.At = time.Time{}
	text, err := json.Marshal(said)
	if err != nil {
		text = []byte(err.Error()) // no statement holds what JSON cannot
	}
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:])
}

// Size is how many bytes the statements of a document take as JSON.
func (d *VEXDocument) Size() (n int64) {
	for i := range d.Statements {
		text, err := json.Marshal(&d.Statements[i])
		if err == nil { // no statement holds what JSON cannot
			n += int64(len(text))
		}
	}
	return n
}

// About says in which packages and product the vulnerability of a statement is,
// for people; empty is anywhere in what the document is for.
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

// Says is the status of a statement and its justification, for people.
func (s *VEXStatement) Says() string {
	return strings.TrimSpace(s.Status.String() + " " + s.Justification)
}

// IsAboutSame reports whether two statements are about the same vulnerability in
// the same packages of the same product, so that one takes the other's place.
func (s *VEXStatement) IsAboutSame(other *VEXStatement) bool {
	return slices.Equal(s.Product, other.Product) && slices.Equal(s.Packages, other.Packages) &&
		slices.ContainsFunc(s.Names, func(name string) bool { return slices.Contains(other.Names, name) })
}
