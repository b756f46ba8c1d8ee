package sbom

import (
	"regexp"
	"strconv"
	"strings"

	"github.com/redoubt/redoubt/internal/model"
)

// note is what a component carries for another Redoubt that reads it, and for
// whoever looks: a property in CycloneDX, a part of sourceInfo in SPDX.
type note struct{ name, value string }

// notes tell of a component what the formats have no place for.
func (c *component) notes() []note {
	var list []note
	add := func(name, value string) { list = append(list, note{name, value}) }
	for _, e := range c.ecosystem {
		add(model.SBOMEcosystem, e)
	}
	add(model.SBOMTransitivity, c.direct.String())
	for _, p := range c.places {
		add(model.SBOMLockfile, p.address())
	}
	return list
}

// lineInAddress is what a path must not end with, lest it is taken for a line.
var lineInAddress = regexp.MustCompile(`#L[0-9]+$`)

// address is the lockfile, with the line behind it where that is known.
func (p place) address() string {
	if p.line == 0 && !lineInAddress.MatchString(p.lockfile) {
		return p.lockfile
	}
	return p.lockfile + "#L" + strconv.Itoa(p.line)
}

// inSourceInfo escapes what parts the notes of SPDX.
var inSourceInfo = strings.NewReplacer("%", "%25", ",", "%2C", ";", "%3B")

// sourceInfo writes notes as one line: "transitivity: direct; lockfile: a, b".
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
