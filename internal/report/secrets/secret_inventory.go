package secrets

import (
	"strings"

	"github.com/package-url/packageurl-go"

	"github.com/redoubt/redoubt/internal/model"
	"github.com/redoubt/redoubt/internal/redact"
	"github.com/redoubt/redoubt/internal/report/read"
)

// minShape is the length, in bytes, below which no text has the shape of a
// credential: most names and versions are shorter.
const minShape = 15

// ByShape takes out of strings what has the shape of a credential, whatever they are:
// lockfiles and bills of materials hold the addresses that packages came from, and
// rules those that explain them, with what signs in there. Strings often come again.
func ByShape(finder redact.Finder) func(limit int, s *string) {
	known := map[string]string{}
	return func(_ int, s *string) {
		if len(*s) < minShape && !strings.Contains(*s, ":/") {
			return
		}
		if !redact.MayHold(*s) && !strings.Contains(*s, "%") { // which is told as fast as whether it came before
			*s = redact.Joined(*s)
			return
		}
		if len(*s) > maxKnown {
			*s = finder.Name(*s)
			return
		}
		blanked, ok := known[*s]
		if !ok {
			if len(known) >= maxKnownStrings {
				clear(known)
			}
			blanked = finder.Name(*s)
			known[*s] = blanked
		}
		*s = blanked
	}
}

// maxKnown is the length, in bytes, above which a string is not expected again.
const maxKnown = 512

// maxKnownStrings bounds how many strings are remembered at once: those that come
// again stand near each other.
const maxKnownStrings = 100_000

// cleanDependency has all texts of a dependency that come from outside cleaned.
func cleanDependency(d *model.Dependency, clean func(string) string) {
	name, version := d.Name, d.Version
	// which PyPI respells
	if spelled := strings.ReplaceAll(name, "-", "_"); d.Ecosystem == "pypi" && clean(spelled) != spelled {
		d.Name = spelled
	}
	for _, s := range []*string{&d.Name, &d.Version, &d.Supplier, &d.Via.Name, &d.Via.Version} {
		*s = clean(*s)
	}
	for i := range d.Licenses {
		d.Licenses[i] = clean(d.Licenses[i])
	}
	if d.Name != name || d.Version != version || strings.ContainsAny(d.PURL, "?#") ||
		strings.Contains(d.Name+d.Version, "REDACTED") {
		d.PURL = cleanPURL(d.PURL, clean)
	}
}

// cleanPURL cleans the parts of a package URL, which escapes them. One that cannot be
// read and needs it is dropped.
func cleanPURL(s string, clean func(string) string) string {
	p, err := packageurl.FromString(s)
	if err != nil {
		if clean(s) != s || strings.Contains(s, "%") {
			return ""
		}
		return s
	}
	changed := false
	part := func(s *string) {
		if cleaned := clean(*s); cleaned != *s {
			*s, changed = cleaned, true
		}
	}
	for _, s := range []*string{&p.Namespace, &p.Name, &p.Version, &p.Subpath} {
		part(s)
	}
	for i := range p.Qualifiers {
		part(&p.Qualifiers[i].Value)
	}
	if !changed {
		return s
	}
	return read.Text(p.ToString()).Name()
}
