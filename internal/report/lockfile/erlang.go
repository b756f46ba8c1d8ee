package lockfile

import (
	"regexp"
	"strings"

	"github.com/redoubt/redoubt/internal/model"
	"github.com/redoubt/redoubt/internal/report/read"
)

var (
	rebarPackage = regexp.MustCompile(`\{<<"([^"]+)">>,\s*\{pkg,\s*<<"([^"]+)">>,\s*<<"([^"]+)">>[^}]*\},\s*(\d+)\}`)
	rebarOther   = regexp.MustCompile(`\{<<"([^"]+)">>,\s*\{(git|hg|raw|path)\b`)
	rebarSum     = regexp.MustCompile(`\{<<"([^"]+)">>,\s*<<"([0-9A-Fa-f]{64})">>\}`)
)

// readRebarLock reads rebar.lock, an Erlang term with the depth of each package. Packages at depth
// 0 are direct. The second list of checksums contains those of the archives.
func readRebarLock(l *lock) error {
	source := strings.TrimSpace(string(l.Data))
	list, rest, versioned := strings.Cut(source, "}.")
	switch {
	case source == "[].":
		return nil
	case versioned && strings.HasPrefix(source, `{"`):
	case strings.HasPrefix(source, "[{<<") && strings.HasSuffix(source, "]."): // the first format
		list, rest = source, ""
	default:
		return read.NotA("rebar.lock", "it is not a list of packages")
	}
	if !strings.HasSuffix(source, "].") && (rest != "" || !strings.HasSuffix(source, "}.")) {
		return read.CutOff("its last term is incomplete")
	}
	sumOf := map[string]string{}
	_, outer, _ := strings.Cut(rest, "pkg_hash_ext")
	for _, m := range rebarSum.FindAllStringSubmatch(outer, -1) {
		sumOf[m[1]] = m[2]
	}
	start := strings.Index(string(l.Data), source)
	for _, m := range rebarPackage.FindAllStringSubmatchIndex(list, -1) {
		part := func(i int) string { return list[m[2*i]:m[2*i+1]] }
		l.Add(model.Dependency{
			Name: part(2), Version: part(3), Line: l.lineAt(start + m[0]), Transitivity: TransitivityOf(true, part(4) == "0"),
			Hashes: sums(map[string]string{"SHA-256": sumOf[part(1)]}),
		})
	}
	for _, m := range rebarOther.FindAllStringSubmatch(list, -1) {
		l.refuse(m[1], "its version is unknown: its source is %s, not Hex", m[2])
	}
	return nil
}

// readGleamManifest reads Gleam's manifest.toml. Its requirements are the direct packages.
func readGleamManifest(l *lock) error {
	var manifest struct {
		Packages []struct {
			Name, Version, Source string
			Sum                   string `toml:"outer_checksum"`
		}
		Requirements map[string]any
	}
	if err := l.toml(&manifest); err != nil {
		return err
	}
	if manifest.Packages == nil && manifest.Requirements == nil {
		return read.Namesake("manifest.toml of Gleam", "it has neither packages nor requirements")
	}
	if manifest.Packages == nil || manifest.Requirements == nil {
		return read.NotA("manifest.toml", "it lacks packages or requirements")
	}
	lines := l.inlineNames()
	for i, p := range manifest.Packages {
		switch {
		case p.Name == "" || p.Source == "":
			return read.CutOff("package %d lacks its name or source", i+1)
		case p.Source == "local": // a folder of the repository
			continue
		case p.Source != "hex":
			l.refuse(p.Name, "its version is unknown: its source is %s, not Hex", p.Source)
			continue
		}
		_, direct := manifest.Requirements[p.Name]
		l.Add(model.Dependency{
			Name: p.Name, Version: p.Version, Line: lineOf(lines, i), Transitivity: TransitivityOf(true, direct),
			Hashes: sums(map[string]string{"SHA-256": p.Sum}),
		})
	}
	return nil
}

var inlineName = regexp.MustCompile(`^\s*\{\s*name\s*=`)

// inlineNames returns the lines of inline tables that begin with name.
func (l *lock) inlineNames() []int {
	var lines []int
	for number, line := range l.numbered {
		if inlineName.MatchString(line) {
			lines = append(lines, number)
		}
	}
	return lines
}
