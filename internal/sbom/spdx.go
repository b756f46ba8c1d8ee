package sbom

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"maps"
	"regexp"
	"slices"
	"strings"
	"time"

	spdxjson "github.com/spdx/tools-golang/json"
	"github.com/spdx/tools-golang/spdx/v2/common"
	"github.com/spdx/tools-golang/spdx/v2/v2_3"

	"github.com/redoubt/redoubt/internal/model"
)

const noAssertion = "NOASSERTION"

// spdxPurposes maps component types to purposes; other types are OTHER. The JSON schema requires
// the underscore.
var spdxPurposes = map[string]string{
	"application": "APPLICATION", "framework": "FRAMEWORK", "library": "LIBRARY", "container": "CONTAINER",
	"operating-system": "OPERATING_SYSTEM", "device": "DEVICE", "device-driver": "FIRMWARE", "firmware": "FIRMWARE",
	"file": "FILE",
}

func writeSPDX(w io.Writer, r model.SBOMRequest, c Content, doc document) (mediaType string, err error) {
	if err := spdxjson.Write(spdxDocument(r, c, doc), w, spdxjson.EscapeHTML(false)); err != nil {
		return "", fmt.Errorf("write SPDX: %w", err)
	}
	return "application/spdx+json", nil
}

func spdxDocument(r model.SBOMRequest, c Content, doc document) *v2_3.Document {
	advisories := spdxAdvisories(doc.vulnerabilities)
	others := extractedLicenses{}
	root := spdxPart(doc.root, advisories)
	root.PrimaryPackagePurpose = orOther(spdxPurposes[r.ComponentType])
	root.PackageSupplier = spdxSupplier(r.Supplier)
	packages := []*v2_3.Package{root}
	for _, p := range doc.parts {
		packages = append(packages, spdxPart(p, advisories))
	}
	for _, library := range doc.components {
		packages = append(packages, spdxPackage(library, advisories, others))
	}
	return &v2_3.Document{
		SPDXVersion: v2_3.Version, DataLicense: v2_3.DataLicense, SPDXIdentifier: "DOCUMENT",
		DocumentName: doc.root.name, DocumentNamespace: c.Serial,
		CreationInfo:  spdxCreation(c),
		Packages:      packages,
		OtherLicenses: others.sorted(),
		Relationships: spdxRelationships(doc),
	}
}

func orOther(purpose string) string {
	if purpose == "" {
		return "OTHER"
	}
	return purpose
}

func spdxCreation(c Content) *v2_3.CreationInfo {
	tool := model.SBOMTool
	if v := versionText(c.Tool); v != "" {
		tool += "-" + v
	}
	creators := []common.Creator{{CreatorType: "Tool", Creator: tool}}
	if name := singleLine(c.Deployment); name != "" {
		creators = append(creators, common.Creator{CreatorType: "Organization", Creator: name})
	}
	return &v2_3.CreationInfo{
		Creators: creators,
		Created:  c.Created.UTC().Format(time.RFC3339),
	}
}

// spdxSupplier returns the organization, or else the contact person.
func spdxSupplier(s model.SBOMSupplier) *common.Supplier {
	kind, name := "Organization", singleLine(s.Name)
	if name == "" {
		kind, name = "Person", singleLine(s.Contact.Name)
	}
	if name == "" {
		return nil
	}
	if s.Contact.Email != "" {
		name += " (" + s.Contact.Email + ")"
	}
	return &common.Supplier{SupplierType: kind, Supplier: name}
}

var notInSPDXID = regexp.MustCompile(`[^A-Za-z0-9.-]+`)

// spdxID returns an identifier for a ref: a readable part, and a digest that makes it unique.
func spdxID(ref string) common.ElementID {
	sum := sha256.Sum256([]byte(ref))
	text := strings.Trim(notInSPDXID.ReplaceAllString(ref, "-"), "-")
	return common.ElementID("Package-" + text[:min(len(text), 60)] + "-" + hex.EncodeToString(sum[:8]))
}

func spdxPart(p part, advisories map[string][]*v2_3.PackageExternalReference) *v2_3.Package {
	return &v2_3.Package{
		PackageName: p.name, PackageSPDXIdentifier: spdxID(p.ref), PackageVersion: p.version,
		PackageDownloadLocation: noAssertion, PackageHomePage: p.url, PackageLicenseConcluded: noAssertion,
		PackageLicenseDeclared: noAssertion, PackageCopyrightText: noAssertion, PrimaryPackagePurpose: "APPLICATION",
		PackageExternalReferences: advisories[p.ref],
	}
}

func spdxPackage(
	c *component, advisories map[string][]*v2_3.PackageExternalReference, others extractedLicenses,
) *v2_3.Package {
	name := c.name
	if c.group != "" {
		name = c.group + "/" + c.name
	}
	p := &v2_3.Package{
		PackageName: name, PackageSPDXIdentifier: spdxID(c.ref), PackageVersion: c.version,
		PackageDownloadLocation: noAssertion, PackageLicenseConcluded: noAssertion,
		PackageLicenseDeclared: others.declared(c.licenses), PackageCopyrightText: noAssertion,
		PrimaryPackagePurpose: "LIBRARY", PackageSourceInfo: sourceInfo(c.notes()), PackageSupplier: spdxSupplierOf(c),
	}
	for _, h := range c.hashes {
		p.PackageChecksums = append(p.PackageChecksums, common.Checksum{
			Algorithm: common.ChecksumAlgorithm(h.spdx),
			Value:     h.hex,
		})
	}
	if c.purl != "" {
		p.PackageExternalReferences = []*v2_3.PackageExternalReference{{
			Category: common.CategoryPackageManager, RefType: common.TypePackageManagerPURL, Locator: c.purl,
		}}
	}
	p.PackageExternalReferences = append(p.PackageExternalReferences, advisories[c.ref]...)
	return p
}

// personal is the prefix of a supplier that is a person.
const personal = "Person: "

// spdxSupplierOf returns the supplier of a package, or NOASSERTION.
func spdxSupplierOf(c *component) *common.Supplier {
	person, isPerson := strings.CutPrefix(c.supplier, personal)
	switch {
	case c.supplier == "":
		return &common.Supplier{Supplier: noAssertion}
	case isPerson:
		return &common.Supplier{SupplierType: "Person", Supplier: person}
	}
	return &common.Supplier{SupplierType: "Organization", Supplier: c.supplier}
}

// spdxAdvisories returns the pages of vulnerabilities by the ref of the affected component. A
// vulnerability without pages is omitted.
func spdxAdvisories(vulnerabilities []*vulnerability) map[string][]*v2_3.PackageExternalReference {
	type page struct{ ref, address string }
	seen, refs := map[page]bool{}, map[string][]*v2_3.PackageExternalReference{}
	for _, v := range vulnerabilities {
		if v.verdict.suppressed() {
			continue // SPDX 2.3 has no member for the reason
		}
		comment := v.id
		if s := v.severity.String(); s != "" {
			comment += ", " + s
		}
		for _, target := range v.targets() {
			for _, address := range v.pages() {
				if seen[page{target.ref, address}] {
					continue
				}
				seen[page{target.ref, address}] = true
				refs[target.ref] = append(refs[target.ref], &v2_3.PackageExternalReference{
					Category: common.CategorySecurity, RefType: common.TypeSecurityAdvisory,
					Locator: address, ExternalRefComment: comment,
				})
			}
		}
	}
	return refs
}

// spdxRelationships returns the known edges. A package that requires nothing depends on NONE, and
// one with unknown requirements on NOASSERTION.
func spdxRelationships(doc document) []*v2_3.Relationship {
	var list []*v2_3.Relationship
	relate := func(from common.DocElementID, kind string, to common.DocElementID, comment string) {
		list = append(list, &v2_3.Relationship{RefA: from, Relationship: kind, RefB: to, RelationshipComment: comment})
	}
	ids := map[string]common.ElementID{} // cached, since each id is used in many edges
	element := func(ref string) common.DocElementID {
		id, made := ids[ref]
		if !made {
			id = spdxID(ref)
			ids[ref] = id
		}
		return common.DocElementID{ElementRefID: id}
	}
	special := func(word string) common.DocElementID { return common.DocElementID{SpecialID: word} }
	relate(common.DocElementID{ElementRefID: "DOCUMENT"}, common.TypeRelationshipDescribe, element(rootRef), "")
	for _, p := range append([]part{doc.root}, doc.parts...) {
		for _, used := range p.uses {
			relate(element(p.ref), common.TypeRelationshipDependsOn, element(used), "")
		}
		if p.open {
			relate(element(p.ref), common.TypeRelationshipDependsOn, special(noAssertion),
				"it may have direct dependencies that the lockfile does not identify")
		}
	}
	for _, c := range doc.components {
		for _, needed := range c.needs {
			relate(element(c.ref), common.TypeRelationshipDependsOn, element(needed), "")
		}
		switch {
		case !c.known:
			relate(element(c.ref), common.TypeRelationshipDependsOn, special(noAssertion), "")
		case len(c.needs) == 0:
			relate(element(c.ref), common.TypeRelationshipDependsOn, special("NONE"), "")
		}
	}
	return list
}

// extractedLicenses maps references in expressions to the licenses that SPDX does not list.
type extractedLicenses map[string]string

// declared returns the licenses of a package as one expression.
func (x extractedLicenses) declared(licenses []license) string {
	terms := make([]string, 0, len(licenses))
	for _, l := range licenses {
		terms = append(terms, x.term(l))
	}
	if len(terms) == 0 {
		return noAssertion
	}
	return allOf(terms)
}

var refInExpression = regexp.MustCompile(`LicenseRef-[A-Za-z0-9.-]+`)

func (x extractedLicenses) term(l license) string {
	if l.name != "" {
		sum := sha256.Sum256([]byte(l.name))
		ref := "LicenseRef-" + hex.EncodeToString(sum[:8])
		x[ref] = l.name
		return ref
	}
	for _, ref := range refInExpression.FindAllString(l.expression, -1) {
		x[ref] = ref
	}
	return l.id + l.expression
}

func (x extractedLicenses) sorted() []*v2_3.OtherLicense {
	list := make([]*v2_3.OtherLicense, 0, len(x))
	for _, ref := range slices.Sorted(maps.Keys(x)) {
		list = append(list, &v2_3.OtherLicense{LicenseIdentifier: ref, LicenseName: x[ref], ExtractedText: x[ref]})
	}
	return list
}
