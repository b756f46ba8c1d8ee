package secrets

import (
	"strings"

	"github.com/package-url/packageurl-go"

	"github.com/redoubt/redoubt/internal/model"
	"github.com/redoubt/redoubt/internal/redact"
	"github.com/redoubt/redoubt/internal/report/read"
)

// minShape is the minimum length of text in the format of a credential, in bytes. Most names and
// versions are shorter.
const minShape = 15

// ByShape returns a function that redacts text in the format of a credential in any string.
// Lockfiles, bills of materials and rules contain addresses with credentials. Results are cached,
// because strings are often repeated.
func ByShape(finder redact.Finder) func(limit int, s *string) {
	known := map[string]string{}
	return func(_ int, s *string) {
		if len(*s) < minShape && !strings.Contains(*s, ":/") {
			return
		}
		if !redact.MayContain(*s) && !strings.Contains(*s, "%") { // as fast as a lookup in the cache
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

// maxKnown is the maximum length of cached strings, in bytes.
const maxKnown = 512

// maxKnownStrings is the maximum number of cached strings. Repetitions are usually close together.
const maxKnownStrings = 100_000

// cleanDependency cleans all external texts of a dependency.
func cleanDependency(d *model.Dependency, clean func(string) string) {
	name, version := d.Name, d.Version
	// PyPI normalizes names
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

// cleanPURL cleans the decoded parts of a package URL. It returns "" for an invalid package URL
// that contains a credential or escapes.
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
