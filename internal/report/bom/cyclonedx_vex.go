package bom

import (
	"cmp"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"time"

	cdx "github.com/CycloneDX/cyclonedx-go"

	"github.com/redoubt/redoubt/internal/model"
	"github.com/redoubt/redoubt/internal/purl"
	"github.com/redoubt/redoubt/internal/report/format"
	"github.com/redoubt/redoubt/internal/report/read"
	"github.com/redoubt/redoubt/internal/report/vex"
)

// cycloneDXVEX contains the data of a BOM that a VEX document requires.
type cycloneDXVEX struct {
	options       format.Options
	serial        read.Text
	version       read.Number
	author        string
	product       []string // names of the subject of the BOM
	affectedCount int      // number of affected parts
}

func (x *cycloneDXVEX) metadata(m *cdx.Metadata) {
	for _, who := range []*cdx.OrganizationalEntity{m.Supplier, m.Manufacturer, m.Manufacture} {
		if who != nil && x.author == "" {
			x.author = read.Text(who.Name).Name()
		}
	}
	for _, who := range list(m.Authors) {
		if x.author == "" {
			x.author = cmp.Or(read.Text(who.Name).Name(), read.Text(who.Email).Name())
		}
	}
	if c := m.Component; c != nil {
		name := c.Name
		if c.Group != "" {
			name = c.Group + "/" + c.Name
		}
		x.product = read.Texts{c.PackageURL, name}.Names()
	}
}

// packagesByRef maps references to packages of a BOM. The BOMs of an upload are stored by serial
// number without scheme, because documents may refer to those in other files.
type packagesByRef map[string]*part

// isVEXDocument reports whether the BOM is a VEX document. It has analyses, and lists no packages
// except those that vulnerabilities affect. A document is an SBOM if it contains dependencies,
// other packages, or vulnerabilities without analysis. So is a document with packages that Redoubt
// wrote (docs/reference/sbom.md).
func (c *cycloneDX) isVEXDocument() bool {
	if c.isOurs() && len(c.parts) > 0 {
		return false
	}
	analysed := 0
	spokenOf := map[*part]bool{}
	for i := range c.vulnerabilities {
		v := &c.vulnerabilities[i]
		if v.Analysis != nil {
			analysed++
		}
		for _, a := range list(v.Affects) {
			if ref, byRef, _, _ := c.resolve(a.Ref); byRef[ref] != nil {
				spokenOf[byRef[ref]] = true
			}
		}
	}
	if analysed == 0 || len(c.rep.Inventories) == 0 {
		return analysed > 0
	}
	if analysed < len(c.vulnerabilities) || c.related {
		return false
	}
	return !slices.ContainsFunc(c.parts, func(p *part) bool {
		return p.isNoted() || !p.skip && !p.software && !spokenOf[p]
	})
}

// document returns the report of a VEX document. Its references are resolved after all files of the
// upload are read.
func (c *cycloneDX) document() *model.Report {
	rep := vex.VexReport(c.vex.options, model.VEXDocument{
		Name: c.vex.serial.Name(), Format: "CycloneDX", Author: c.vex.author,
		Version: int64(c.vex.version), IssuedAt: c.rep.StartedAt.Truncate(time.Microsecond),
	}, c.rep.Refusals)
	secrets := c.vex.options.Secrets
	secrets.Last = append(secrets.Last, func() {
		var err error
		c.rep = rep
		if rep.VEX[0].Statements, err = c.statements(); err != nil {
			rep.VEX = nil // the stored document is retained
			c.refuse("vulnerabilities", "%s", err)
		}
	})
	return rep
}

// offer makes the components of an SBOM available to other documents of the upload.
func (c *cycloneDX) offer() {
	if serial := bomLink(c.vex.serial.Name()); serial != "" {
		c.vex.options.Secrets.Boms[serial] = packagesByRef(c.byRef)
	}
}

// analyses adds the analyses of an SBOM's vulnerabilities.
func (c *cycloneDX) analyses() error {
	statements, err := c.statements()
	if len(statements) > 0 {
		c.rep.VEX = []model.VEXDocument{{
			Format: "CycloneDX", Author: c.vex.author, File: c.file,
			IssuedAt: c.rep.StartedAt.Truncate(time.Microsecond), Statements: statements,
		}}
	}
	return err
}

// statements converts the analyses of the vulnerabilities. It returns an error if a limit is
// exceeded.
func (c *cycloneDX) statements() ([]model.VEXStatement, error) {
	open := c.open()
	var statements vex.Statements
	for i := range c.vulnerabilities {
		v, item := &c.vulnerabilities[i], c.items[i]
		if v.Analysis == nil {
			continue
		}
		ids := []string{v.ID}
		for _, r := range list(v.References) {
			ids = append(ids, r.ID)
		}
		s := model.VEXStatement{Names: vex.VexNames(ids...), At: vex.VexTime(v.Analysis.LastUpdated, v.Analysis.FirstIssued)}
		if misfit := c.analysis(&s, v); misfit != "" {
			c.refuse(item, "%s", misfit)
			continue
		}
		seen := map[string]bool{} // duplicates are ignored
		for j, a := range list(v.Affects) {
			location := fmt.Sprintf("%s.affects[%d]", item, j)
			one, misfit := c.affected(s, a)
			hides := one.Triage().State == model.TriageIgnored
			if misfit == "" && hides && open[[2]string{strings.ToUpper(v.ID), a.Ref}] {
				misfit = "it is ignored: the document also has the same pair without an analysis"
			}
			if misfit != "" {
				c.refuse(location, "%s", misfit)
				continue
			}
			if c.vex.affectedCount += 1 + len(one.Packages); c.vex.affectedCount > c.limit {
				return nil, format.TooMany("affected components of vulnerabilities", c.limit)
			}
			if what := vex.About(&one); !seen[what] {
				seen[what] = true
				if err := statements.Add(one); err != nil {
					return nil, err
				}
			}
		}
	}
	vex.Sole(statements.List)
	return statements.List, nil
}

// open returns the vulnerabilities and components without an analysis.
func (c *cycloneDX) open() map[[2]string]bool {
	open := map[[2]string]bool{}
	for i := range c.vulnerabilities {
		if v := &c.vulnerabilities[i]; v.Analysis == nil {
			for _, a := range list(v.Affects) {
				open[[2]string{strings.ToUpper(v.ID), a.Ref}] = true
			}
		}
	}
	return open
}

// cycloneDXStates maps the states of an analysis to statuses.
var cycloneDXStates = map[cdx.ImpactAnalysisState]model.VEXStatus{
	cdx.IASResolved: model.VEXFixed, cdx.IASResolvedWithPedigree: model.VEXFixed, cdx.IASExploitable: model.VEXAffected,
	cdx.IASInTriage:      model.VEXUnderInvestigation,
	cdx.IASFalsePositive: model.VEXFalsePositive, cdx.IASNotAffected: model.VEXNotAffected,
}

// analysis sets the status of a statement from an analysis, or returns why it is invalid.
func (c *cycloneDX) analysis(s *model.VEXStatement, v *cdx.Vulnerability) (misfit string) {
	a := v.Analysis
	s.Status, s.Detail = cycloneDXStates[a.State], strings.TrimSpace(read.Text(a.Detail).Block())
	if _, word, ok := model.VEXJustification(string(a.Justification)); ok && word == string(a.Justification) &&
		s.Status == model.VEXNotAffected {
		s.Justification = word
	}
	switch {
	case len(s.Names) == 0:
		return "it has no id"
	case a.State == "":
		return "its analysis has no state"
	case s.Status == 0:
		return fmt.Sprintf("its analysis has the state %q, which is not a CycloneDX state", read.Text(a.State).Name())
	}
	return ""
}

// affected adds the affected component to a statement, or returns why it is invalid.
func (c *cycloneDX) affected(s model.VEXStatement, a cdx.Affects) (_ model.VEXStatement, misfit string) {
	ref, byRef, pkg, found := c.resolve(a.Ref)
	switch p := byRef[ref]; {
	case found:
	case p != nil && p.skip: // software that contains packages
		s.Product = append(read.Texts{p.purl, p.name}.Names(), read.Text(ref).Name())
	case p != nil:
		d := p.dependency(p.locations[0])
		pkg, found = vex.VexPackageOf(d.Ecosystem, d.Name, d.Version), true
	case ref != "" && ref == c.root:
		s.Product = append(slices.Clone(c.vex.product), read.Text(ref).Name())
	default:
		return s, fmt.Sprintf("unknown component %q; send its BOM in the same upload, or refer to "+
			"components by package URL", read.Text(a.Ref).Name())
	}
	versions := list(a.Range)
	exact := read.Texts{}
	for _, v := range versions {
		exact = append(exact, v.Version)
	}
	switch exact := exact.Names(); {
	case found && pkg.Version != "":
		s.Packages = []model.VEXPackage{pkg}
	case found && len(versions) == 0:
		s.Packages = []model.VEXPackage{pkg}
	case found && len(exact) == len(versions):
		for _, v := range exact {
			s.Packages = append(s.Packages, model.VEXPackage{Key: pkg.Key, Version: purl.Version(pkg.Key, v)})
		}
	case found:
		return s, "its version range is not supported; list the versions"
	case len(versions) > 0:
		return s, "it refers to versions of the product, which are not supported; refer to a component"
	}
	return s, ""
}

// resolve resolves a reference. It refers to the document itself, to another document of the upload
// (BOM-Link), or is a package URL.
func (c *cycloneDX) resolve(ref string) (name string, byRef map[string]*part, pkg model.VEXPackage, isPURL bool) {
	byRef = c.byRef
	if rest, ok := strings.CutPrefix(ref, "urn:cdx:"); ok {
		link, target, _ := strings.Cut(rest, "#")
		serial, _, _ := strings.Cut(link, "/")
		if decoded, err := url.PathUnescape(target); err == nil && !strings.HasPrefix(target, "pkg:") {
			target = decoded
		}
		if ref = target; bomLink(c.vex.serial.Name()) != strings.ToLower(serial) {
			byRef, _ = c.vex.options.Secrets.Boms[strings.ToLower(serial)].(packagesByRef)
		}
	}
	if byRef[ref] == nil {
		pkg, isPURL = vex.VexPackage(ref)
	}
	return ref, byRef, pkg, isPURL
}

// bomLink returns the serial number in the form of BOM-Links.
func bomLink(serial string) string {
	rest, ok := strings.CutPrefix(strings.ToLower(serial), "urn:uuid:")
	if !ok {
		return ""
	}
	return rest
}
