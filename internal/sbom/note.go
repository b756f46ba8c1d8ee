package sbom

import (
	"regexp"
	"strconv"
	"strings"

	"github.com/redoubt/redoubt/internal/model"
)

// note is a property of a component in CycloneDX, or a part of sourceInfo in SPDX. Imports by
// Redoubt read it.
type note struct{ name, value string }

// notes returns the data of a component that the formats have no member for.
func (c *component) notes() []note {
	var list []note
	add := func(name, value string) { list = append(list, note{name, value}) }
	for _, e := range c.ecosystem {
		add(model.SBOMEcosystem, e)
	}
	add(model.SBOMTransitivity, c.direct.String())
	for _, p := range c.occurrences {
		add(model.SBOMLockfile, p.address())
	}
	return list
}

// lineInAddress matches the end of a path that could be mistaken for a line number.
var lineInAddress = regexp.MustCompile(`#L[0-9]+$`)

// address returns the lockfile, followed by the line number if that is known.
func (p occurrence) address() string {
	if p.line == 0 && !lineInAddress.MatchString(p.lockfile) {
		return p.lockfile
	}
	return p.lockfile + "#L" + strconv.Itoa(p.line)
}

// inSourceInfo escapes the separators of notes in SPDX.
var inSourceInfo = strings.NewReplacer("%", "%25", ",", "%2C", ";", "%3B")

// sourceInfo joins notes into one line: "transitivity: direct; lockfile: a, b".
func sourceInfo(notes []note) string {
	var b strings.Builder
	for i, n := range notes {
		switch {
		case i > 0 && notes[i-1].name == n.name:
			b.WriteString(", ")
		default:
			if i > 0 {
				b.WriteString("; ")
			}
			b.WriteString(strings.TrimPrefix(n.name, model.SBOMNote) + ": ")
		}
		b.WriteString(inSourceInfo.Replace(n.value))
	}
	return b.String()
}
