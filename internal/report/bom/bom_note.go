package bom

import (
	"cmp"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/redoubt/redoubt/internal/model"
	"github.com/redoubt/redoubt/internal/purl"
	"github.com/redoubt/redoubt/internal/report/read"
)

// LookupsPerItem is the maximum number of lookups for edges, and for vulnerabilities, per item of
// the limit. A short document can name many of them.
const LookupsPerItem = 4

// spend counts lookups and reports whether they are within the limit.
func (b *bom) spend(count *int, n int) bool {
	*count += n
	return *count <= LookupsPerItem*b.limit
}

// noted contains the notes that Redoubt writes to components (docs/reference/sbom.md). Documents
// from other sources may contain notes, so they are cleaned and limited like all other data.
type noted struct {
	ecosystems   []string
	transitivity model.Transitivity // 0 if unknown
	locations    []notedLocation
}

type notedLocation struct {
	lockfile string
	line     int
}

// note adds a property of a component, or a part of its sourceInfo. Unknown names are ignored.
func (b *bom) note(p *part, name, value string) {
	n := &p.noted
	switch name {
	case model.SBOMEcosystem:
		if e := read.Text(value).Name(); e != "" && len(n.ecosystems) < read.MaxList {
			n.ecosystems = append(n.ecosystems, e)
		}
	case model.SBOMTransitivity:
		n.transitivity, _ = model.ParseTransitivity(value)
	case model.SBOMLockfile:
		file, line := cutLine(value)
		if path, err := b.checkout.Path(file); err == nil {
			n.locations = append(n.locations, notedLocation{path, line})
		}
	}
}

var lineBehindPath = regexp.MustCompile(`^(.*)#L([0-9]{1,9})$`)

// cutLine splits a text such as web/yarn.lock#L12 into path and line.
func cutLine(s string) (file string, line int) {
	match := lineBehindPath.FindStringSubmatch(s)
	if match == nil {
		return s, 0
	}
	line, _ = strconv.Atoi(match[2])
	return match[1], line
}

// outOfSourceInfo reverses the escaping of the export.
var outOfSourceInfo = strings.NewReplacer("%25", "%", "%2C", ",", "%3B", ";")

// noteSourceInfo parses the notes in SPDX's sourceInfo, such as "ecosystem: npm; transitivity:
// direct; lockfile: a, b". It ignores other texts.
func (b *bom) noteSourceInfo(p *part, info string) {
	if !strings.HasPrefix(info, "ecosystem: ") && !strings.HasPrefix(info, "transitivity: ") {
		return
	}
	for member := range strings.SplitSeq(info, "; ") {
		name, values, _ := strings.Cut(member, ": ")
		for value := range strings.SplitSeq(values, ", ") {
			b.note(p, model.SBOMNote+name, outOfSourceInfo.Replace(value))
		}
	}
}

// isNoted reports whether the part has notes of Redoubt.
func (p *part) isNoted() bool {
	return len(p.noted.locations) > 0 || p.noted.transitivity != 0
}

// partLocation is an occurrence of a part.
type partLocation struct {
	lockfile     string
	line         int
	transitivity model.Transitivity
}

// setLocations sets the locations of a part: those in notes, or else its lockfile, without duplicates.
// If ours is set, a part without noted locations is known only from a finding.
func (p *part) setLocations(ours bool) {
	p.transitivity = cmp.Or(p.noted.transitivity, p.transitivity)
	for _, at := range p.noted.locations {
		p.locations = append(p.locations, partLocation{at.lockfile, at.line, p.transitivity})
	}
	if len(p.locations) == 0 {
		p.locations, p.unheld = []partLocation{{lockfile: p.lockfile, transitivity: p.transitivity}}, ours
	}
	slices.SortStableFunc(p.locations, func(a, b partLocation) int { return strings.Compare(a.lockfile, b.lockfile) })
	p.locations = slices.CompactFunc(p.locations, func(a, b partLocation) bool { return a.lockfile == b.lockfile })
}

// isIn reports whether the part is in the inventory of a lockfile.
func (p *part) isIn(lockfile string) bool {
	_, found := slices.BinarySearchFunc(p.locations, lockfile, func(at partLocation, name string) int {
		return strings.Compare(at.lockfile, name)
	})
	return found && !p.unheld && !p.skip && !p.listsOwn
}

// notedPackage returns the package in the notes if it matches the package URL. Package URLs do not
// preserve case, or ecosystems unknown to their specification.
func (p *part) notedPackage() (d model.Dependency, ok bool) {
	address := purl.Bare(purl.Canonical(p.purl))
	for _, ecosystem := range p.noted.ecosystems {
		name := read.Text(p.name).Name()
		if i := strings.LastIndexByte(name, '/'); i > 0 {
			if own := name[:i] + purl.Separator(ecosystem) + name[i+1:]; own != name {
				if group, _ := purl.Group(ecosystem, own); group == name[:i] {
					name = own
				}
			}
		}
		version := read.Text(p.version).Name()
		for _, made := range []string{
			purl.Make(ecosystem, name, version), purl.Canonical(purl.Of(ecosystem, name, version)),
		} {
			if made != "" && made == address {
				return model.Dependency{Ecosystem: ecosystem, Name: name, Version: version}, true
			}
		}
	}
	return d, false
}
