package bom

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/redoubt/redoubt/internal/model"
	"github.com/redoubt/redoubt/internal/purl"
	"github.com/redoubt/redoubt/internal/report/format"
	"github.com/redoubt/redoubt/internal/report/lockfile"
	"github.com/redoubt/redoubt/internal/report/read"
)

// bom is a bill of materials in any format: packages and their dependencies.
type bom struct {
	rep      *model.Report
	budget   *format.Budget
	built    func(bytes int) error // see format.Options
	limit    int
	file     string          // the BOM file, for packages without a lockfile
	checkout format.Checkout // for cleaning paths
	parts    []*part
	byRef    map[string]*part
	needs    map[string][]string // dependencies, by reference
	needed   map[string]bool     // references that another part requires
	lookups  int                 // lookups for edges
	found    int                 // lookups for vulnerabilities
	root     string              // reference to the subject of the BOM; empty if unknown
}

// part is an entry of a bill of materials.
type part struct {
	ref      string
	name     string // as in the document, with its group
	version  string
	purl     string
	location string // file in which the tool found it; empty if unknown
	listsOwn bool   // represents a lockfile, as in Trivy's documents
	software bool   // an application, which may be the subject of the BOM
	image    bool   // a container image
	skip     bool   // a file, an operating system, or the subject itself
	licenses []string
	hashes   []model.Hash
	supplier string
	noted    noted
	unheld   bool // in a document of Redoubt: known only from a finding, so it is in no inventory

	lockfile     string // lockfile of its inventory, unless locations are noted
	transitivity model.Transitivity
	locations    []partLocation // by lockfile; at least one after finish
}

func newBOM(o format.Options, tool string) *bom {
	return &bom{
		rep: &model.Report{
			Tool: tool, Category: read.Text(o.Category).Name(), Products: model.Products(0).With(model.SCA),
		},
		budget: o.Budget, built: o.Built, limit: o.Limits.Items, file: format.FileInRepository(o), byRef: map[string]*part{},
		needs: map[string][]string{}, needed: map[string]bool{},
	}
}

// tool sets the tool that created the BOM. If name is unknown, the name of the format is retained.
func (b *bom) tool(name, version string) {
	if name = strings.ToLower(strings.Join(strings.Fields(read.Text(name).Name()), "-")); name != "" && name != "unknown" {
		b.rep.Tool, b.rep.ToolVersion = name, read.Text(version).Name()
	}
}

func (b *bom) Add(p *part) {
	b.budget.Build(format.PartSize, b.built)
	b.parts = append(b.parts, p)
	if p.ref != "" && b.byRef[p.ref] == nil {
		b.byRef[p.ref] = p
	}
}

func (b *bom) link(from, to string) {
	if from != to {
		b.needs[from] = append(b.needs[from], to)
		b.needed[to] = true
	}
}

func (b *bom) refuse(item, format string, args ...any) {
	b.rep.Refuse(model.Refusal{Item: item, Reason: model.CutBytes(fmt.Sprintf(format, args...), read.MaxName)})
}

// finish builds an inventory for each lockfile, in the order of the parts.
func (b *bom) finish() error {
	if b.budget.Err != nil {
		return b.budget.Err
	}
	if b.rep.Image != "" {
		b.file = b.rep.Image
	}
	b.classify()
	for _, p := range b.parts {
		p.lockfile = b.lockfileOf(p)
	}
	b.inheritLockfiles()
	locks := map[string]*lockfile.Packages{}
	var order []string
	total := 0
	for _, p := range b.parts {
		p.setLocations(b.isOurs())
		for _, at := range p.locations {
			if !p.isIn(at.lockfile) {
				continue
			}
			l := locks[at.lockfile]
			if l == nil {
				l = lockfile.NewPackages(b.limit)
				locks[at.lockfile] = l
				order = append(order, at.lockfile)
			}
			l.Node(p.dependency(at), p.ref)
			if total++; l.Full() || total > b.limit {
				return format.TooMany("components", b.limit)
			}
		}
	}
	b.addEdges(locks)
	for _, file := range order {
		inventory := locks[file].Inventory(file)
		for _, d := range locks[file].Unversioned() {
			b.refuse(read.Text(d.Name).Name(), "it has no version")
		}
		if inventory.UnknownPackages = lockfile.UnknownPackages(file); len(inventory.Dependencies) > 0 {
			b.rep.Inventories = append(b.rep.Inventories, inventory)
		}
	}
	return nil
}

// addEdges adds the edges between parts to each lockfile that contains both ends. Edges beyond the limit
// of lookups are omitted.
func (b *bom) addEdges(locks map[string]*lockfile.Packages) {
	for _, p := range b.parts {
		for _, to := range b.needs[p.ref] {
			other := b.byRef[to]
			if other == nil {
				continue
			}
			if !b.spend(&b.lookups, len(p.locations)) {
				return
			}
			for _, at := range p.locations {
				if p.isIn(at.lockfile) && other.isIn(at.lockfile) {
					locks[at.lockfile].AddEdge(p.ref, to)
				}
			}
		}
	}
}

// dependency returns the dependency of a part in the spelling of its ecosystem. Without a package
// URL the ecosystem is that of the lockfile, else generic.
func (p *part) dependency(at partLocation) model.Dependency {
	d := model.Dependency{
		Name: p.name, Version: p.version, PURL: read.Text(p.purl).Name(), Transitivity: at.transitivity, Line: at.line,
		Licenses: p.licenses, Hashes: p.hashes, Supplier: p.supplier,
	}
	if own, ok := p.notedPackage(); ok {
		d.Ecosystem, d.Name, d.Version = own.Ecosystem, own.Name, own.Version
		return d
	}
	ecosystem, name, version, ok := purl.Parse(p.purl)
	switch kind := lockfile.Ecosystem(at.lockfile); {
	case ok:
		d.Ecosystem, d.Name, d.Version = ecosystem, p.spelling(ecosystem, name), cmp.Or(version, d.Version)
	case kind != "":
		d.Ecosystem, d.PURL = kind, ""
	default:
		d.Ecosystem, d.PURL = "generic", ""
	}
	return d
}

// spelling returns the name of a part, given the name in its package URL. Package URLs of Go
// modules are in lower case although case is significant. If the part's own name differs only in
// case, it is used.
func (p *part) spelling(ecosystem, name string) string {
	if own := read.Text(p.name).Name(); ecosystem == "gomod" && name == strings.ToLower(name) &&
		strings.EqualFold(own, name) {
		return own
	}
	return name
}

// lockfileOf returns the file of a part if it is a lockfile, else the BOM file.
func (b *bom) lockfileOf(p *part) string {
	location := p.location
	if p.listsOwn {
		location = p.name
	}
	if lockfile.Is(location) {
		if file, err := b.checkout.Path(strings.TrimLeft(location, "/")); err == nil {
			if b.rep.Image != "" {
				return format.InImage(b.rep.Image, file)
			}
			return file
		}
	}
	return b.file
}

// inheritLockfiles sets the lockfile of the parts that a lockfile part requires, unless they have
// their own.
func (b *bom) inheritLockfiles() {
	seen := map[string]bool{} // shared by all owners: the first owner takes precedence
	for _, owner := range b.parts {
		if !owner.listsOwn {
			continue
		}
		b.walk([]string{owner.ref}, seen, func(p *part, _ int) {
			if p.lockfile == b.file {
				p.lockfile = owner.lockfile
			}
		})
	}
}

// classify sets the transitivity of parts that the project's own parts reach. The own parts are the
// subject of the BOM, parts that represent lockfiles, and modules of the project. A module is not
// required by other parts and has no package URL with a version.
func (b *bom) classify() {
	var own []string
	ofRoot := map[string]bool{}
	for _, ref := range b.needs[b.root] {
		ofRoot[ref] = true
	}
	for _, p := range b.parts {
		if b.isOwn(p, ofRoot[p.ref]) {
			own = append(own, p.ref)
			p.skip = p.skip || !p.listsOwn
		}
	}
	if b.root != "" && len(b.needs[b.root]) > 0 && len(own) == 0 {
		own = []string{b.root}
	}
	b.walk(own, map[string]bool{}, func(p *part, depth int) {
		p.transitivity = lockfile.TransitivityOf(true, depth == 1)
	})
}

func (b *bom) isOwn(p *part, ofRoot bool) bool {
	if p.listsOwn || b.isProject(p) {
		return true
	}
	if p.ref == "" || p.isNoted() || len(b.needs[p.ref]) == 0 || b.needed[p.ref] && !ofRoot {
		return false
	}
	_, _, version, ok := purl.Parse(p.purl)
	return !ok || version == ""
}

// isProject reports whether a part is a project in a document of Redoubt. Such a document contains
// the projects of a deployment, and notes on all packages.
func (b *bom) isProject(p *part) bool {
	return b.isOurs() && p.software && p.purl == "" && !p.isNoted()
}

// isOurs reports whether Redoubt created the document.
func (b *bom) isOurs() bool { return b.rep.Tool == model.SBOMTool }

// walk visits each unseen part reachable from the given references, nearest first, with its
// distance.
func (b *bom) walk(from []string, seen map[string]bool, visit func(p *part, depth int)) {
	for _, ref := range from {
		seen[ref] = true
	}
	for depth := 1; len(from) > 0; depth++ {
		var next []string
		for _, ref := range from {
			for _, to := range b.needs[ref] {
				if seen[to] {
					continue
				}
				seen[to] = true
				next = append(next, to)
				if p := b.byRef[to]; p != nil {
					visit(p, depth)
				}
			}
		}
		from = next
	}
}

// nothing lists the values for an absent or unknown license or supplier.
var nothing = []string{"", "NOASSERTION", "NONE", "UNKNOWN"}

// licensesOf removes values that are not licenses.
func licensesOf(list ...string) []string {
	return slices.DeleteFunc(read.Texts(list).Names(), func(s string) bool {
		return slices.Contains(nothing, strings.ToUpper(s))
	})
}

// supplierOf returns "" for an unknown supplier.
func supplierOf(s string) string {
	if s = read.Text(s).Name(); slices.Contains(nothing, strings.ToUpper(s)) {
		return ""
	}
	return s
}

// RealVersion returns "" for the values that tools use for an unknown version.
func RealVersion(s string) string {
	switch strings.ToUpper(strings.TrimSpace(s)) {
	case "UNKNOWN", "NOASSERTION", "UNSPECIFIED":
		return ""
	}
	return s
}

// archiveHash normalizes the name of an algorithm: SHA-256 for SHA256 and sha-256.
func archiveHash(algorithm, sum string) (model.Hash, bool) {
	algorithm = strings.ToUpper(read.Text(algorithm).Name())
	if rest, ok := strings.CutPrefix(algorithm, "SHA"); ok && !strings.HasPrefix(rest, "-") &&
		!strings.HasPrefix(rest, "3") {
		algorithm = "SHA-" + rest
	}
	if algorithm == "SHA384" {
		algorithm = "SHA-384"
	}
	return model.Hash{Algorithm: algorithm, Hex: strings.ToLower(sum)}, algorithm != "" && read.IsHex(sum)
}
