package sbom

import (
	"cmp"
	"maps"
	"net/url"
	"slices"
	"strings"

	"github.com/redoubt/redoubt/internal/model"
	"github.com/redoubt/redoubt/internal/purl"
)

// document is a Content without duplicates, sorted, and with texts that are valid in JSON and XML.
// All formats are written from it.
type document struct {
	root            part
	parts           []part // projects of a deployment; none in an export of one project
	components      []*component
	vulnerabilities []*vulnerability
}

// part is a project or deployment, which contains components.
type part struct {
	ref     string
	name    string
	version string // commit, or else branch; empty for a deployment
	branch  string
	url     string
	uses    []string // refs of its direct components, or of the parts of a deployment
	open    bool     // whether it may have more direct components
}

// component is one package version in all lockfiles.
type component struct {
	ref         string // unique in the document
	purl        string // empty for a package without a name
	group       string
	name        string
	version     string
	licenses    []license
	hashes      []hash
	supplier    string
	direct      model.Transitivity // the most direct of all occurrences
	ecosystem   []string
	occurrences []occurrence // lockfiles that contain it
	needs       []string     // refs of the components that it requires
	known       bool         // whether its requirements are known
	order       int          // index among the components
}

// rootRef is the ref of the subject of the document.
const rootRef = "root"

// builder builds a document.
type builder struct {
	components      map[string]*component
	vulnerabilities map[string]*vulnerability
	deployment      bool
	edges           []edge
	withEdges       map[string]bool // lockfiles that contain edges
}

// scope is the project that a builder processes.
type scope struct {
	ref  string
	name string
	uses map[string]bool     // refs of its direct components
	refs map[string][]string // refs of the components in lockfiles, by purl.Bare
	open bool                // whether a component may be direct or transitive
}

// build converts a content of one project, or of a whole deployment, to a document.
func build(c Content, deployment bool) document {
	b := builder{
		components:      map[string]*component{},
		vulnerabilities: map[string]*vulnerability{},
		deployment:      deployment,
		withEdges:       map[string]bool{},
	}
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
	b.connect(doc.components)
	doc.vulnerabilities = b.sortedVulnerabilities()
	return doc
}

func orUnnamed(name string) string {
	if name == "" {
		return "unnamed"
	}
	return name
}

// project adds a project. Dependencies are added before findings, which refer to them.
func (b *builder) project(p Project) part {
	at := &scope{ref: rootRef, name: orUnnamed(singleLine(p.Name)), uses: map[string]bool{}, refs: map[string][]string{}}
	if b.deployment {
		at.ref = "project:" + at.name
	}
	by := make(map[int64]*component, len(p.Dependencies))
	for _, d := range p.Dependencies {
		c := b.component(d)
		c.addOccurrence(d, b.lockfilePath(at, d.Lockfile))
		by[d.ID] = c
		bare := purl.Bare(c.ref)
		at.refs[bare] = append(at.refs[bare], c.ref)
		at.use(c, d.Transitivity)
	}
	b.relate(at, p, by)
	for _, v := range p.Vulnerabilities {
		b.vulnerability(at, v)
	}
	branch := singleLine(strings.TrimPrefix(p.Ref, "refs/heads/"))
	return part{
		ref: at.ref, name: at.name, branch: branch, url: webAddress(p.URL),
		version: versionText(cmp.Or(p.Commit, branch)), uses: slices.Sorted(maps.Keys(at.uses)), open: at.open,
	}
}

// use records that the project contains a component: a direct component becomes an edge, a
// transitive one does not.
func (at *scope) use(c *component, t model.Transitivity) {
	switch t {
	case model.Direct:
		at.uses[c.ref] = true
	case model.Transitive:
	default:
		at.open = true
	}
}

// component returns the component of a package version, and adds it if it is new.
func (b *builder) component(d model.Dependency) *component {
	name, version := singleLine(d.Name), singleLine(d.Version)
	address := cmp.Or(purl.Canonical(singleLine(d.PURL)), purl.Make(singleLine(d.Ecosystem), name, version))
	ref := cmp.Or(address, "component:"+url.PathEscape(singleLine(d.Ecosystem)+"/"+name+"@"+version))
	c := b.components[ref]
	if c == nil {
		c = &component{ref: ref, purl: address, direct: model.TransitivityUnknown}
		b.components[ref] = c
	}
	c.addName(d.Ecosystem, name, versionText(version))
	if e := singleLine(d.Ecosystem); e != "" {
		c.ecosystem = append(c.ecosystem, e)
	}
	return c
}

// addName sets the name of the component. If a package URL has several names, the smallest is used,
// independent of their order.
func (c *component) addName(ecosystem, name, version string) {
	group, name := purl.Group(singleLine(ecosystem), name)
	name = orUnnamed(name)
	mine := []string{group, name, version}
	if c.name == "" || slices.Compare(mine, []string{c.group, c.name, c.version}) < 0 {
		c.group, c.name, c.version = group, name, version
	}
}

// addOccurrence merges an occurrence into the component.
func (c *component) addOccurrence(d model.Dependency, lockfile string) {
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
	if s := strings.TrimPrefix(singleLine(d.Supplier), "Organization: "); s != "" && s+" " != personal &&
		(c.supplier == "" || s < c.supplier) {
		c.supplier = s
	}
	c.direct = min(c.direct, cmp.Or(d.Transitivity, model.TransitivityUnknown))
	if lockfile != "" {
		c.occurrences = append(c.occurrences, occurrence{lockfile, max(d.Line, 0)})
	}
}

// lockfilePath returns the path of a lockfile. In an export of several projects it begins with the
// project's name.
func (b *builder) lockfilePath(at *scope, lockfile string) string {
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
		c.ecosystem = sortTexts(c.ecosystem)
		c.sortOccurrences()
	}
	return list
}

func sortTexts(list []string) []string {
	slices.Sort(list)
	return slices.Compact(list)
}
