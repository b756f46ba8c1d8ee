package advisory

import (
	"time"

	"github.com/redoubt/redoubt/internal/model"
)

// Record is what is kept of an OSV record: Facts to match by, Text for people.
type Record struct {
	Facts
	Text
}

// Facts are what of a record decides.
type Facts struct {
	ID        string     `json:"id"`
	Aliases   []string   `json:"aliases,omitempty"`
	Withdrawn bool       `json:"withdrawn,omitempty"`
	Malicious bool       `json:"malicious,omitempty"`
	Rating    Rating     `json:"rating,omitzero"`
	Affected  []Affected `json:"affected,omitempty"`
}

// Text is what of a record people read.
type Text struct {
	Summary     string    `json:"summary,omitempty"`
	Details     string    `json:"details,omitempty"` // Markdown
	CWEs        []string  `json:"cwes,omitempty"`    // as CWE-502
	References  []string  `json:"references,omitempty"`
	Vector      string    `json:"vector,omitempty"` // CVSS
	Score       float64   `json:"score,omitempty"`
	Published   time.Time `json:"published,omitzero"`
	Modified    time.Time `json:"modified,omitzero"`
	WithdrawnAt time.Time `json:"withdrawn_at,omitzero"`
}

// Affected is what a record says of one package.
type Affected struct {
	Package  string   `json:"package"` // see purl.Key
	Name     string   `json:"name"`    // as the record spells it
	Versions []string `json:"versions,omitempty"`
	Ranges   []Range  `json:"ranges,omitempty"`
	Rating   Rating   `json:"rating,omitzero"` // where it differs from the record's
}

// Range is a history of affected versions, in the order of the ecosystem.
type Range struct {
	Events []Event `json:"events"`
}

// Event is a point of a range: one member is set.
type Event struct {
	Introduced   string `json:"introduced,omitempty"`
	Fixed        string `json:"fixed,omitempty"`
	LastAffected string `json:"last_affected,omitempty"`
	Limit        string `json:"limit,omitempty"`
}

// Evidence says what a severity stands on, weakest first.
type Evidence uint8

// Kinds of evidence (docs/reference/advisories.md).
const (
	NoEvidence Evidence = iota
	DatabaseWord
	CVSS3
	CVSS4
)

// Rating is a severity and what it stands on. The zero Rating is none.
type Rating struct {
	Evidence Evidence       `json:"evidence,omitempty"`
	Severity model.Severity `json:"severity,omitempty"`
}

// better returns the rating on better evidence, of equal ones the worse news.
func (r Rating) better(other Rating) Rating {
	if other.Evidence > r.Evidence || other.Evidence == r.Evidence && other.Severity > r.Severity {
		return other
	}
	return r
}

// Or returns the severity, medium where nothing is known.
func (r Rating) Or() model.Severity {
	if r.Severity == 0 {
		return model.SeverityMedium
	}
	return r.Severity
}
