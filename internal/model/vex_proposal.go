package model

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"slices"
	"strings"
	"time"
)

// How much uploads alone may propose. What comes past it is taken: the oldest
// proposals of the project go, and of a deployment those of the project that has
// most (semantics §12).
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
