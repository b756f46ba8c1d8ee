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
	uses    []string // refs of the components that it asks for itself, or of the parts of a deployment
	open    bool     // it may ask for more of them: of some that is not told
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
	supplier  string
	direct    model.Transitivity // the closest of all places
	ecosystem []string
	places    []place  // the lockfiles that hold it
	needs     []string // refs of what it asks for
	known     bool     // what it asks for is told
	order     int      // among the components
}

// rootRef names what the document is about.
const rootRef = "root"

// builder gathers a document.
type builder struct {
	components      map[string]*component
	vulnerabilities map[string]*vulnerability
	deployment      bool
	edges           []edge
	told            map[string]bool // lockfiles that tell of edges
}

// scope is the project that a builder is at.
type scope struct {
	ref  string
	name string
	uses map[string]bool     // refs of the components that it asks for itself
	held map[string][]string // refs of those that lockfiles hold, by purl.Bare
	open bool                // of some it is not told whether it asks for them itself
}

// build turns a content into a document; of one project unless deployment is set.
func build(c Content, deployment bool) document {
	b := builder{
		components:      map[string]*component{},
		vulnerabilities: map[string]*vulnerability{},
		deployment:      deployment,
		told:            map[string]bool{},
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

// project gathers a project's dependencies first, so that its findings see
// them all.
func (b *builder) project(p Project) part {
	at := &scope{ref: rootRef, name: orUnnamed(singleLine(p.Name)), uses: map[string]bool{}, held: map[string][]string{}}
	if b.deployment {
		at.ref = "project:" + at.name
	}
	by := make(map[int64]*component, len(p.Dependencies))
	for _, d := range p.Dependencies {
		c := b.component(d)
		c.addOccurrence(d, b.place(at, d.Lockfile))
		by[d.ID] = c
		bare := purl.Bare(c.ref)
		at.held[bare] = append(at.held[bare], c.ref)
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

// use notes that the project holds a component: what it asks for itself is an edge,
// what others ask for is none of its own.
func (at *scope) use(c *component, t model.Transitivity) {
	switch t {
	case model.Direct:
		at.uses[c.ref] = true
	case model.Transitive:
	default:
		at.open = true
	}
}

// component finds the component of a package version, or adds it.
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
		c.places = append(c.places, place{lockfile, max(d.Line, 0)})
	}
}

// place is a lockfile's path, which among several projects begins with its own.
func (b *builder) place(at *scope, lockfile string) string {
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
		c.sortPlaces()
	}
	return list
}

func sortTexts(list []string) []string {
	slices.Sort(list)
	return slices.Compact(list)
}
