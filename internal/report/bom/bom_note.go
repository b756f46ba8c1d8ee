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

// LookupsPerItem bounds how often places are looked at for edges, and as often for
// vulnerabilities, of which a document names many with few words: so often for each
// item that it may have.
const LookupsPerItem = 4

// spend counts lookups, and reports whether there may be as many.
func (b *bom) spend(count *int, n int) bool {
	*count += n
	return *count <= LookupsPerItem*b.limit
}

// noted is what a bill of materials that Redoubt wrote tells of a component
// (docs/reference/sbom.md). Others may hold the same: what it says is no more than whoever
// sends a document can say anyway, and it is cleaned and bounded as that is.
type noted struct {
	ecosystems   []string
	transitivity model.Transitivity // 0 when not told
	places       []notedPlace
}

type notedPlace struct {
	lockfile string
	line     int
}

// note takes a property of a component, or a part of its sourceInfo; names that
// are none of ours are passed over.
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
			n.places = append(n.places, notedPlace{path, line})
		}
	}
}

var lineBehindPath = regexp.MustCompile(`^(.*)#L([0-9]{1,9})$`)

// cutLine parts web/yarn.lock#L12 into path and line.
func cutLine(s string) (file string, line int) {
	match := lineBehindPath.FindStringSubmatch(s)
	if match == nil {
		return s, 0
	}
	line, _ = strconv.Atoi(match[2])
	return match[1], line
}

// outOfSourceInfo undoes what the writer escapes.
var outOfSourceInfo = strings.NewReplacer("%25", "%", "%2C", ",", "%3B", ";")

// noteSourceInfo reads what Redoubt writes into SPDX's sourceInfo, as
// "ecosystem: npm; transitivity: direct; lockfile: a, b"; other texts hold none of it.
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

// isNoted reports whether a document of Redoubt's tells of the part.
func (p *part) isNoted() bool {
	return len(p.noted.places) > 0 || p.noted.transitivity != 0
}

// partPlace is where a part stands.
type partPlace struct {
	lockfile     string
	line         int
	transitivity model.Transitivity
}

// settlePlaces tells the places of a part: those that a document of Redoubt's notes,
// else the one lockfile that was found for it. Each lockfile counts once. A document that
// Redoubt wrote (ours) names no lockfile of a package that only a finding knows.
func (p *part) settlePlaces(ours bool) {
	p.transitivity = cmp.Or(p.noted.transitivity, p.transitivity)
	for _, at := range p.noted.places {
		p.places = append(p.places, partPlace{at.lockfile, at.line, p.transitivity})
	}
	if len(p.places) == 0 {
		p.places, p.unheld = []partPlace{{lockfile: p.lockfile, transitivity: p.transitivity}}, ours
	}
	slices.SortStableFunc(p.places, func(a, b partPlace) int { return strings.Compare(a.lockfile, b.lockfile) })
	p.places = slices.CompactFunc(p.places, func(a, b partPlace) bool { return a.lockfile == b.lockfile })
}

// holds reports whether the part is in the inventory of a lockfile.
func (p *part) holds(lockfile string) bool {
	_, found := slices.BinarySearchFunc(p.places, lockfile, func(at partPlace, name string) int {
		return strings.Compare(at.lockfile, name)
	})
	return found && !p.unheld && !p.skip && !p.listsOwn
}

// notedPackage is the package as Redoubt had it, where the notes and the package URL
// agree on it: URLs lose case, and ecosystems that their specification does not know.
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
