package advisory

import (
	"time"

	"github.com/redoubt/redoubt/internal/model"
)

// Record is the stored part of an OSV record: Facts for matching and Text for users.
type Record struct {
	Facts
	Text
}

// Facts contains the fields of a record that matching uses.
type Facts struct {
	ID        string     `json:"id"`
	Aliases   []string   `json:"aliases,omitempty"`
	Withdrawn bool       `json:"withdrawn,omitempty"`
	Malicious bool       `json:"malicious,omitempty"`
	Rating    Rating     `json:"rating,omitzero"`
	Affected  []Affected `json:"affected,omitempty"`
}

// Text contains the fields of a record that users read.
type Text struct {
	Summary     string    `json:"summary,omitempty"`
	Details     string    `json:"details,omitempty"` // Markdown
	CWEs        []string  `json:"cwes,omitempty"`    // for example CWE-502
	References  []string  `json:"references,omitempty"`
	Vector      string    `json:"vector,omitempty"` // CVSS
	Score       float64   `json:"score,omitempty"`
	Published   time.Time `json:"published,omitzero"`
	Modified    time.Time `json:"modified,omitzero"`
	WithdrawnAt time.Time `json:"withdrawn_at,omitzero"`
}

// Affected is the data of a record about one package.
type Affected struct {
	Package  string   `json:"package"` // see purl.Key
	Name     string   `json:"name"`    // as the record spells it
	Versions []string `json:"versions,omitempty"`
	Ranges   []Range  `json:"ranges,omitempty"`
	Rating   Rating   `json:"rating,omitzero"` // if it differs from the record's
}

// Range is a history of affected versions, in the order of the ecosystem.
type Range struct {
	Events []Event `json:"events"`
}

// Event is a point of a range. Exactly one field is set.
type Event struct {
	Introduced   string `json:"introduced,omitempty"`
	Fixed        string `json:"fixed,omitempty"`
	LastAffected string `json:"last_affected,omitempty"`
	Limit        string `json:"limit,omitempty"`
}

// Evidence is the source of a severity, weakest first.
type Evidence uint8

// Kinds of evidence (docs/reference/advisories.md).
const (
	NoEvidence Evidence = iota
	DatabaseWord
	CVSS3
	CVSS4
)

// Rating is a severity and its evidence. The zero value means no rating.
type Rating struct {
	Evidence Evidence       `json:"evidence,omitempty"`
	Severity model.Severity `json:"severity,omitempty"`
}

// better returns the rating with better evidence, or the higher severity if the evidence is equal.
func (r Rating) better(other Rating) Rating {
	if other.Evidence > r.Evidence || other.Evidence == r.Evidence && other.Severity > r.Severity {
		return other
	}
	return r
}

// Or returns the severity, or medium if there is none.
func (r Rating) Or() model.Severity {
	if r.Severity == 0 {
		return model.SeverityMedium
	}
	return r.Severity
}
