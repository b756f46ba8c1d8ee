package sbom

import (
	"cmp"
	"maps"
	"slices"
	"strings"

	"github.com/redoubt/redoubt"
	"github.com/redoubt/redoubt/internal/purl"
)

// document is a Content without doubles, sorted, and with every text fit for
// JSON and XML: what the formats have in common.
type document struct {
	root            part
	parts           []part // the projects of a deployment; none in an export of one project
	components      []*component
	vulnerabilities []*vulnerability
}

// part is a piece of software that components belong to.
type part struct {
	ref     string
	name    string
	version string // commit, or else branch; empty of a deployment
	branch  string
	url     string
	uses    []string // refs of components, or of the parts of a deployment
}

// component is one package version, wherever it was found.
type component struct {
	ref       string // unique in the document
	purl      string // empty for a package without a name
	group     string
	name      string
	version   string
	licenses  []license
	hashes    []hash
	direct    redoubt.Transitivity // the closest of all places
	ecosystem []string
	lockfiles []string // as acme/payments:go.sum where there are several projects
}

// rootRef names what the document is about.
const rootRef = "root"

// builder gathers a document.
type builder struct {
	components      map[string]*component
	vulnerabilities map[string]*vulnerability
	deployment      bool
}

// scope is the project that a builder is at.
type scope struct {
	ref  string
	name string
	uses map[string]bool     // refs of its components
	held map[string][]string // refs of those that lockfiles hold, by purl.Bare
}

// build turns a content into a document; of one project unless deployment is set.
func build(c Content, deployment bool) document {
	b := builder{components: map[string]*component{}, vulnerabilities: map[string]*vulnerability{}, deployment: deployment}
	projects := slices.SortedFunc(slices.Values(c.Projects), func(a, b Project) int { return cmp.Compare(a.Name, b.Name) })
	doc := document{root: part{ref: rootRef, name: orUnnamed(singleLine(c.Deployment))}}
	for _, p := range projects {
		part := b.project(p)
		if !deployment {
			doc.root = part
			continue
		}
		doc.root.uses = append(doc.root.uses, part.ref)
		doc.parts = append(doc.parts, part)
	}
	doc.components = b.sortedComponents()
	doc.vulnerabilities = b.sortedVulnerabilities()
	return doc
}

func orUnnamed(name string) string {
	if name == "" {
		return "unnamed"
	}
	return name
}

// project gathers a project's dependencies first, so that its findings see
// them all.
func (b *builder) project(p Project) part {
	at := scope{ref: rootRef, name: orUnnamed(singleLine(p.Name)), uses: map[string]bool{}, held: map[string][]string{}}
	if b.deployment {
		at.ref = "project:" + at.name
	}
	for _, d := range p.Dependencies {
		ref := b.dependency(at, d)
		at.held[purl.Bare(ref)] = append(at.held[purl.Bare(ref)], ref)
	}
	for _, v := range p.Vulnerabilities {
		b.vulnerability(at, v)
	}
	branch := singleLine(strings.TrimPrefix(p.Ref, "refs/heads/"))
	return part{
		ref: at.ref, name: at.name, branch: branch, url: webAddress(p.URL),
		version: versionText(cmp.Or(p.Commit, branch)), uses: slices.Sorted(maps.Keys(at.uses)),
	}
}

// dependency adds a package version, or another place of a known one.
func (b *builder) dependency(at scope, d redoubt.Dependency) (ref string) {
	name, version := singleLine(d.Name), singleLine(d.Version)
	address := cmp.Or(purl.Canonical(singleLine(d.PURL)), purl.Make(singleLine(d.Ecosystem), name, version))
	ref = cmp.Or(address, "component:"+singleLine(d.Ecosystem)+"/"+name+"@"+version)
	c := b.components[ref]
	if c == nil {
		c = &component{ref: ref, purl: address, direct: redoubt.TransitivityUnknown}
		b.components[ref] = c
	}
	at.uses[ref] = true
	c.addName(d.Ecosystem, name, versionText(version))
	c.addOccurrence(d, b.place(at, d.Lockfile))
	return ref
}

// addName names the component. Where one package URL came under several names,
// the first in order stands, whatever came first.
func (c *component) addName(ecosystem, name, version string) {
	group, name := purl.Group(singleLine(ecosystem), name)
	name = orUnnamed(name)
	mine := []string{group, name, version}
	if c.name == "" || slices.Compare(mine, []string{c.group, c.name, c.version}) < 0 {
		c.group, c.name, c.version = group, name, version
	}
}

// addOccurrence adds what one place tells.
func (c *component) addOccurrence(d redoubt.Dependency, place string) {
	for _, text := range d.Licenses {
		if l, ok := readLicense(text); ok {
			c.licenses = append(c.licenses, l)
		}
	}
	for _, sum := range d.Hashes {
		if h, ok := validHash(sum); ok {
			c.hashes = append(c.hashes, h)
		}
	}
	if d.Transitivity != 0 {
		c.direct = min(c.direct, d.Transitivity)
	}
	if e := singleLine(d.Ecosystem); e != "" {
		c.ecosystem = append(c.ecosystem, e)
	}
	if place != "" {
		c.lockfiles = append(c.lockfiles, place)
	}
}

// place is a lockfile's path, which among several projects begins with its own.
func (b *builder) place(at scope, lockfile string) string {
	lockfile = singleLine(lockfile)
	if lockfile == "" || !b.deployment {
		return lockfile
	}
	return at.name + ":" + lockfile
}

func (b *builder) sortedComponents() []*component {
	list := slices.SortedFunc(maps.Values(b.components), func(x, y *component) int { return cmp.Compare(x.ref, y.ref) })
	for _, c := range list {
		c.licenses, c.hashes = sortLicenses(c.licenses), sortHashes(c.hashes)
		c.ecosystem, c.lockfiles = sortTexts(c.ecosystem), sortTexts(c.lockfiles)
	}
	return list
}

func sortTexts(list []string) []string {
	slices.Sort(list)
	return slices.Compact(list)
}
